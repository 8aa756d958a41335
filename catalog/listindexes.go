package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/index"
)

// IndexState is an index of a table, or of some of its shards.
type IndexState struct {
	// Name is what it is dropped by; Spec has all arguments of AddIndex.
	Name string `json:"name"`
	Spec string `json:"spec"`
	// Default: new shards get it.
	Default bool `json:"default"`
	// Stripes have it, of StripesTotal; one of which no value has a term has none. Bytes are those of its objects.
	Stripes      int    `json:"stripes"`
	StripesTotal int    `json:"stripes_total"`
	Bytes        uint64 `json:"bytes"`
	// Levels are the files of a key index, which are the table's own; Problem is why it, or a part of it, is not used.
	Levels  int    `json:"levels,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// IndexStates reports the table's indexes and those of its live shards that a scan may use. Every live shard is opened: one
// GET each.
func (t *Table) IndexStates(ctx context.Context) ([]IndexState, error) {
	specs, err := t.Indexes()
	if err != nil {
		return nil, err
	}
	l := indexList{table: t, states: map[string]*IndexState{}}
	for _, s := range specs {
		l.states[s.String()] = &IndexState{Name: s.Name(), Spec: s.String(), Default: true}
	}
	for e, err := range t.Entries(ctx, At{}) {
		if err == nil && e.IsShard() {
			err = l.shard(ctx, e)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := l.keyIndexes(ctx); err != nil {
		return nil, err
	}
	out := []IndexState{}
	for _, s := range l.states {
		s.StripesTotal = l.stripes
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b IndexState) int { return cmp.Compare(a.Spec, b.Spec) })
	return out, nil
}

// indexList counts indexes by what they were requested by.
type indexList struct {
	table   *Table
	stripes int
	states  map[string]*IndexState
}

func (l *indexList) shard(ctx context.Context, e *manifest.Entry) error {
	shard, err := l.table.openShard(ctx, l.table.cat.client, e.Path, e.RootBytes)
	if err != nil {
		return err
	}
	defer shard.Close()
	ids, err := l.table.schema.MapShard(ctx, shard)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	l.stripes += len(shard.Stripes())
	for i := range shard.Stripes() {
		has, err := shard.Indexes(ctx, i)
		if err != nil {
			return err
		}
		l.add(has, ids, 1)
	}
	has, err := shard.Indexes(ctx, -1)
	if err == nil {
		l.add(has, ids, len(shard.Stripes()))
	}
	return err
}

// add counts some indexes, each of so many stripes.
func (l *indexList) add(has []index.Descriptor, ids []int, stripes int) {
	for _, d := range has {
		s, ok := l.table.indexNow(d, ids)
		if !ok {
			continue
		}
		if l.states[s.String()] == nil {
			l.states[s.String()] = &IndexState{Name: s.Name(), Spec: s.String()}
		}
		if !d.IsTermFilter() {
			l.states[s.String()].Stripes += stripes
		}
		l.states[s.String()].Bytes += d.Size()
	}
}

// keyIndexes adds the table's key indexes, and what of the live shards they cover.
func (l *indexList) keyIndexes(ctx context.Context) error {
	t := l.table
	for _, def := range t.keyIndexDefs() {
		name := t.keyIndexName(&def)
		state := &IndexState{Name: name, Spec: name, Default: true}
		l.states[name] = state
		x, err := t.keyIndexFolder(t.cat.client).Open(ctx, t.schema, def)
		if err == nil {
			err = x.Open(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if def.Object != "" {
				state.Problem = err.Error()
			}
			continue
		}
		for i, level := range x.State.Levels {
			state.Levels, state.Bytes = state.Levels+1, state.Bytes+uint64(level.Size)
			if x.Bad(i) != nil {
				state.Problem = x.Bad(i).Error()
			}
		}
		for e, err := range t.Entries(ctx, At{}) {
			if err != nil {
				return err
			}
			if units, ok := x.Covers(e); ok {
				state.Stripes += len(units)
			}
		}
	}
	return nil
}

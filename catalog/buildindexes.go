package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// jobIndex is the kind of jobs that give shards indexes or take them away.
const jobIndex = "index"

// IndexOptions of AddIndex, DropIndex and BuildIndexes. The zero value is valid.
type IndexOptions struct {
	// NewShardsOnly leaves the shards that are there as they are.
	NewShardsOnly bool
	// Progress, if not nil, is called with the number of shards looked at.
	Progress func(shards int)
}

// IndexResult is what AddIndex, DropIndex or BuildIndexes did to the shards that were there.
type IndexResult struct {
	// Shards got a new root, by which Built indexes of stripes, and of shards as wholes, came and Dropped ones went.
	Shards  int `json:"shards"`
	Built   int `json:"built"`
	Dropped int `json:"dropped"`
	// BytesRead of columns are not counted; BytesWritten are those of indexes and roots.
	BytesWritten int64 `json:"bytes_written"`
	// Keys is what was done to key indexes, nil if the table has none.
	Keys *KeyIndexResult `json:"keys,omitempty"`
}

// AddIndex makes an index one of the table's: every new shard gets it, and every stripe that is there. An index of the same
// columns with another tokenizer is replaced.
func (t *Table) AddIndex(ctx context.Context, s shardfmt.IndexSpec, o IndexOptions) (*IndexResult, error) {
	if err := (shardfmt.IndexSpecs{s}).Check(t.schema.Shard); err != nil {
		return nil, fmt.Errorf("%w: table %s: %w", ErrInvalid, t.name, err)
	}
	specs, err := t.Indexes()
	if err != nil {
		return nil, err
	}
	specs = append(slices.DeleteFunc(specs, indexNamed(s.Name())), s)
	if err := t.setIndexes(ctx, specs); err != nil || o.NewShardsOnly {
		return &IndexResult{}, err
	}
	return t.BuildIndexes(ctx, o)
}

// DropIndex takes an index away by its name, text:COL or hash:COL: from the table's, and from every shard. keys:COL is the table's alone.
// ErrNotFound: neither has it.
func (t *Table) DropIndex(ctx context.Context, name string, o IndexOptions) (*IndexResult, error) {
	if IsKeyIndex(name) {
		return &IndexResult{}, t.DropKeyIndex(ctx, name)
	}
	specs, err := t.Indexes()
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(specs), indexNamed(name))
	if len(left) < len(specs) {
		if err := t.setIndexes(ctx, left); err != nil {
			return nil, err
		}
	}
	done := &IndexResult{}
	if !o.NewShardsOnly {
		if done, err = t.applyIndexes(ctx, name, o); err != nil {
			return nil, err
		}
	}
	if len(left) == len(specs) && done.Dropped == 0 {
		return nil, fmt.Errorf("%w: table %s has no index %s", ErrNotFound, t.name, name)
	}
	return done, nil
}

// BuildIndexes gives every stripe the indexes of the table that it lacks. The data stays where it is: a shard gets a new root.
// Shards are done in groups, each in one snapshot; those that another writer replaces meanwhile are done again. After an error the
// result, which is never nil, reports what was done before it. Key indexes are brought to all shards, too.
func (t *Table) BuildIndexes(ctx context.Context, o IndexOptions) (*IndexResult, error) {
	done, err := t.applyIndexes(ctx, "", o)
	if err == nil && t.HasKeyIndexes() {
		done.Keys, err = t.UpdateKeyIndexes(ctx)
	}
	return done, err
}

func indexNamed(name string) func(shardfmt.IndexSpec) bool {
	return func(s shardfmt.IndexSpec) bool { return s.Name() == name }
}

// setIndexes sets the table's indexes.
func (t *Table) setIndexes(ctx context.Context, specs shardfmt.IndexSpecs) error {
	if len(specs) == 0 {
		return t.SetProperties(ctx, nil, []string{IndexesProperty})
	}
	return t.SetProperties(ctx, map[string]string{IndexesProperty: specs.String()}, nil)
}

const (
	// indexedTogether is how many shards get their indexes in one snapshot: few snapshots, and little lost in a race.
	indexedTogether = 64
	// maxIndexRaces bounds how often in a row a lost race is tried again.
	maxIndexRaces = 3
)

// applyIndexes brings all live shards to the table's indexes, and takes the one named drop from them.
func (t *Table) applyIndexes(ctx context.Context, drop string, o IndexOptions) (*IndexResult, error) {
	specs, err := t.Indexes()
	if err != nil {
		return &IndexResult{}, err
	}
	x := &indexing{table: t, specs: specs, drop: drop, o: o, seen: map[string]bool{}, done: &IndexResult{}}
	for races := 0; ; races++ {
		committed, err := x.pass(ctx)
		if committed {
			races = 0
		}
		if !errors.Is(err, ErrConflict) || races == maxIndexRaces {
			return x.done, err
		}
		if err := t.Refresh(ctx); err != nil {
			return x.done, err
		}
	}
}

// indexing brings shards to the indexes that a table has.
type indexing struct {
	table *Table
	specs shardfmt.IndexSpecs
	drop  string
	o     IndexOptions
	// seen are shards that are as they ought to be: shards that were looked at, and what was made of them.
	seen   map[string]bool
	shards int
	done   *IndexResult
}

// pass goes over the shards of the snapshot that is current when it begins, and commits what it did after each group of
// them; committed reports whether it did so at all.
func (x *indexing) pass(ctx context.Context) (committed bool, err error) {
	var looked []*manifest.Entry
	var works []*indexWork
	for e, err := range x.table.Entries(ctx, At{}) {
		if err != nil {
			return committed, err
		}
		if x.seen[e.Path] || !e.IsShard() {
			continue
		}
		if looked = append(looked, e); len(looked) < indexedTogether {
			continue
		}
		if works, err = x.plans(ctx, works, looked); err != nil {
			return committed, err
		}
		looked = looked[:0]
		for len(works) >= indexedTogether {
			if err := x.commit(ctx, works[:indexedTogether]); err != nil {
				return committed, err
			}
			works, committed = works[indexedTogether:], true
		}
	}
	works, err = x.plans(ctx, works, looked)
	if err != nil || len(works) == 0 {
		return committed, err
	}
	err = x.commit(ctx, works)
	return committed || err == nil, err
}

// plans appends to works what is to be done to some shards.
func (x *indexing) plans(ctx context.Context, works []*indexWork, entries []*manifest.Entry) ([]*indexWork, error) {
	found := make([]*indexWork, len(entries))
	err := x.table.cat.client.Each(ctx, len(entries), func(ctx context.Context, branch *blobio.Client, i int) (err error) {
		if found[i], err = x.plan(ctx, branch, entries[i]); err != nil {
			return fmt.Errorf("%s: %w", entries[i].Path, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, w := range found {
		if w == nil {
			x.see(entries[i].Path)
		} else {
			works = append(works, w)
		}
	}
	return works, nil
}

func (x *indexing) see(shard string) {
	x.seen[shard] = true
	if x.shards++; x.o.Progress != nil {
		x.o.Progress(x.shards)
	}
}

// commit builds and commits the indexes of some shards.
func (x *indexing) commit(ctx context.Context, works []*indexWork) error {
	var inputs, objects []string
	for _, w := range works {
		inputs = append(inputs, w.entry.Path)
	}
	j, _, err := x.table.BeginJob(ctx, jobIndex, "", inputs, x.table.Outputs)
	if err != nil {
		return err
	}
	done, entries, changed := *x.done, []*manifest.Entry{}, []string{}
	for i, w := range works {
		e, err := w.build(ctx, fmt.Sprintf("%s-%04d", j.Attempt(), i+1), &done)
		objects = append(objects, w.objects...)
		if err != nil {
			j.Fail(ctx, objects)
			return fmt.Errorf("%s: %w", w.entry.Path, err)
		}
		if e != nil {
			entries, changed = append(entries, e), append(changed, w.entry.Path)
		}
	}
	if len(entries) == 0 {
		err = j.end(ctx, jobrecord.Committed, x.table.Head())
	} else if _, err = j.Replace(ctx, changed, entries); err != nil {
		j.Fail(ctx, objects)
	}
	if err != nil {
		return err
	}
	*x.done = done
	for _, w := range works {
		x.see(w.entry.Path)
	}
	for _, e := range entries {
		x.seen[e.Path] = true
	}
	return nil
}

// indexWork is what is to be done to one shard.
type indexWork struct {
	*indexing
	entry *manifest.Entry
	shard *shardfmt.Shard
	ids   []int
	// lacking are the indexes to build, by the number of the stripe and the names that the shard has for their columns.
	lacking map[int]shardfmt.IndexSpecs
	// whole are those of the shard as a whole, whose names in the table are renewed: term filters that an earlier one left go.
	whole   shardfmt.IndexSpecs
	renewed []string
	// drops: some stripe has an index that is to go.
	drops   bool
	objects []string
}

// plan finds what is to be done to a shard, nil for nothing.
func (x *indexing) plan(ctx context.Context, client *blobio.Client, e *manifest.Entry) (*indexWork, error) {
	shard, err := x.table.openShard(ctx, client, e.Path, e.RootBytes)
	if err != nil {
		return nil, err
	}
	w := &indexWork{indexing: x, entry: e, shard: shard, lacking: map[int]shardfmt.IndexSpecs{}}
	if w.ids, err = x.table.schema.MapShard(ctx, shard); err != nil {
		return nil, err
	}
	types, err := shard.Schema(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.planWhole(ctx, types); err != nil {
		return nil, err
	}
	for i := range shard.Stripes() {
		has, err := shard.Indexes(ctx, i)
		if err != nil {
			return nil, err
		}
		for _, d := range has {
			w.drops = w.drops || w.goes(d)
		}
		for _, s := range x.specs {
			if s.Scope.Whole() {
				continue
			}
			there := slices.ContainsFunc(has, func(d index.Descriptor) bool {
				now, ok := x.table.indexNow(d, w.ids)
				return ok && now.String() == s.String() && !d.IsTermFilter()
			})
			if own, ok := x.table.indexOf(s, types, w.ids); ok && !there {
				w.lacking[i] = append(w.lacking[i], own)
			}
		}
	}
	if len(w.lacking) == 0 && len(w.whole) == 0 && !w.drops {
		return nil, nil
	}
	return w, nil
}

// planWhole finds the indexes of the shard as a whole that are to be built, or to go.
func (w *indexWork) planWhole(ctx context.Context, types *schema.Schema) error {
	has, err := w.shard.Indexes(ctx, -1)
	if err != nil || len(w.shard.Stripes()) == 0 {
		return err
	}
	for _, d := range has {
		w.drops = w.drops || w.goes(d)
	}
	for _, s := range w.specs {
		there := slices.ContainsFunc(has, func(d index.Descriptor) bool {
			now, ok := w.table.indexNow(d, w.ids)
			return ok && now.String() == s.String() && d.CoversShard(w.shard.Records())
		})
		if own, ok := w.table.indexOf(s, types, w.ids); ok && !there && s.Scope.Whole() {
			w.whole, w.renewed = append(w.whole, own), append(w.renewed, s.Name())
		}
	}
	return nil
}

// goes reports whether an index of the shard is dropped, or replaced by one with another tokenizer.
func (w *indexWork) goes(d index.Descriptor) bool {
	s, ok := w.table.indexNow(d, w.ids)
	if !ok {
		return false
	}
	i := slices.IndexFunc(w.specs, indexNamed(s.Name()))
	return s.Name() == w.drop || i >= 0 && w.specs[i].String() != s.String() || slices.Contains(w.renewed, s.Name())
}

// build writes the indexes of a shard and its new root, both under a name, and gives its entry; nil if nothing came of it.
func (w *indexWork) build(ctx context.Context, name string, done *IndexResult) (*manifest.Entry, error) {
	t := w.table
	root := t.VaultFolder() + name + ".amudai.shard"
	change := merge.IndexChange{Drop: w.goes, Add: map[int][]index.Descriptor{}}
	built := 0
	for i, specs := range w.lacking {
		prefix := fmt.Sprintf("%sdata/%s/%d.", t.VaultFolder(), name, i)
		made, written, err := w.shard.BuildIndexes(ctx, t.cat.client, i, specs,
			shardfmt.IndexBuild{Root: root, Prefix: prefix, MaxMemory: t.cat.opts.MaxMemory})
		for _, o := range written {
			w.objects = append(w.objects, o.URL)
			done.BytesWritten += o.Size
		}
		if err != nil {
			return nil, err
		}
		change.Add[i] = made
		for _, d := range made {
			if !d.IsTermFilter() {
				built++
			}
		}
	}
	if len(w.whole) > 0 {
		whole, stripes, written, err := w.shard.BuildShardIndexes(ctx, t.cat.client, w.whole,
			shardfmt.IndexBuild{Root: root, Prefix: fmt.Sprintf("%sdata/%s/", t.VaultFolder(), name), MaxMemory: t.cat.opts.MaxMemory})
		for _, o := range written {
			w.objects = append(w.objects, o.URL)
			done.BytesWritten += o.Size
		}
		if err != nil {
			return nil, err
		}
		for i, made := range stripes {
			change.Add[i] = append(change.Add[i], made...)
		}
		change.AddShard = whole
		built += len(whole)
	}
	if built == 0 && !w.drops {
		return nil, nil
	}
	input, o, err := t.succession(ctx, w.entry)
	if err != nil {
		return nil, err
	}
	w.objects, change.Options = append(w.objects, root), o
	merged, err := merge.ReplaceIndexes(ctx, t.cat.client, root, input, change)
	if err != nil {
		return nil, err
	}
	e, err := t.successor(ctx, w.entry, merged)
	if err != nil {
		return nil, err
	}
	if e.Records != w.entry.Records {
		return nil, fmt.Errorf("%d records became %d", w.entry.Records, e.Records)
	}
	done.Shards++
	done.Built += built
	done.Dropped += merged.DroppedIndexes
	done.BytesWritten += merged.Size
	return e, nil
}

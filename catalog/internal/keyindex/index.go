package keyindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Folder is the vault folder of a table, which has its key indexes, and where to read it.
type Folder struct {
	Client *blobio.Client
	// Table is the UUID of the table, URL its vault folder with a trailing slash.
	Table, URL string
	// Log takes levels that can't be used.
	Log *slog.Logger
}

// ReadState reads the state of a key index, of any table or key: one request.
func (f *Folder) ReadState(ctx context.Context, def Def) (*State, error) {
	url := f.URL + def.Object
	text, _, err := f.Client.ReadAll(ctx, url, MaxState)
	if err != nil {
		return nil, err
	}
	state, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return state, nil
}

// Index is a key index of which keys are looked up. Not for concurrent use.
type Index struct {
	Key   *rowkey.Key
	Def   Def
	State *State
	in    *Folder
	// files are the levels that are open; bad are those that can't be used.
	files []*File
	bad   []error
}

// Empty is an index that covers nothing yet.
func (f *Folder) Empty(key *rowkey.Key, def Def) *Index {
	return &Index{Key: key, Def: def, State: &State{}, in: f}
}

// KeyText is what a key index was made of: columns by id, type, name and other names. Where any of it is another now, the index is left alone.
func KeyText(ids []int, key *rowkey.Key) string {
	var parts []string
	for i, n := range key.Columns {
		parts = append(parts, fmt.Sprintf("%d %s %q %q", ids[i], n.TypeName(), n.Name, n.Aliases))
	}
	return strings.Join(parts, ", ")
}

// Open reads what a key index covers: one request. ts is the schema that its key is of.
func (f *Folder) Open(ctx context.Context, ts *manifest.TableSchema, def Def) (*Index, error) {
	key, ok := rowkey.OfIDs(ts, def.IDs)
	if !ok {
		return nil, fmt.Errorf("%w: the key columns were dropped or can't be a key any more", manifest.ErrSchema)
	}
	x := &Index{Key: key, Def: def, in: f}
	if def.Object == "" {
		return nil, fmt.Errorf("the index is empty: %w", caterr.ErrNotFound)
	}
	var err error
	if x.State, err = f.ReadState(ctx, def); err != nil {
		return nil, err
	}
	switch want := KeyText(def.IDs, key); {
	case x.State.Table != f.Table:
		return nil, corrupt.Locate(corrupt.At(-1, "a key index of table %s", x.State.Table), f.URL+def.Object, 0)
	case x.State.Key != want:
		return nil, fmt.Errorf("%w: the index covers columns %s, which are now %s", manifest.ErrSchema, x.State.Key, want)
	}
	x.files, x.bad = make([]*File, len(x.State.Levels)), make([]error, len(x.State.Levels))
	return x, nil
}

// RowsName is the name by which a key index knows the rows of a shard: that of its entry, or of its root where that states none.
func RowsName(e *manifest.Entry) ID {
	if id, ok := e.RowsID(); ok {
		return id
	}
	return xxh3.HashString128("root " + e.Path).Bytes()
}

// Covers gives the stripes of a shard by their numbers; ok is false if the index does not cover it, or a level of it is not to be used.
func (x *Index) Covers(e *manifest.Entry) (units []uint32, ok bool) {
	if !e.IsShard() {
		return nil, false
	}
	units, ok = x.State.Covers(RowsName(e))
	if !ok || e.Stripes != int64(len(units)) {
		return nil, false
	}
	for _, u := range units {
		if x.bad[x.State.LevelOf(u)] != nil {
			return nil, false
		}
	}
	return units, true
}

// CoversAny reports whether the index covers any of some shards.
func (x *Index) CoversAny(shards []*manifest.Entry) bool {
	return slices.ContainsFunc(shards, func(e *manifest.Entry) bool { _, ok := x.Covers(e); return ok })
}

// Open opens the levels that are not open yet, one request each, side by side. One that can't be used is noted.
func (x *Index) Open(ctx context.Context) error {
	return x.in.Client.Each(ctx, len(x.files), func(ctx context.Context, client *blobio.Client, i int) (err error) {
		if x.files[i] == nil && x.bad[i] == nil {
			l := &x.State.Levels[i]
			if x.files[i], err = x.State.OpenLevel(ctx, client, x.in.URL+l.Object, l); err != nil {
				x.Spoil(i, err)
			}
		}
		return ctx.Err()
	})
}

// Bad reports why a level can't be used, nil if it can or is not known to be bad.
func (x *Index) Bad(level int) error { return x.bad[level] }

// Spoil notes that a level can't be used, so that what it covers is searched otherwise.
func (x *Index) Spoil(level int, err error) {
	x.bad[level] = err
	x.in.Log.Warn("a level of a key index is not used", "object", x.in.URL+x.State.Levels[level].Object, "error", err)
}

// keysAhead is how many bytes of a level are read at a time for a list of keys.
const keysAhead = 8 << 20

// errEnough ends a search that finds too much.
var errEnough = errors.New("enough")

// find gives the records that have keys of spans, which ascend and are disjoint, in the levels that can be read; those of others are not covered
// afterwards. enough is whether there are more than most, if that is not negative. About ahead bytes are read of a level at a time.
func (x *Index) find(ctx context.Context, spans []Span, most int, ahead int64, do func(span int, r Row)) (enough bool, err error) {
	if err := x.Open(ctx); err != nil {
		return false, err
	}
	var mu sync.Mutex
	found := 0
	err = x.in.Client.Each(ctx, len(x.files), func(ctx context.Context, _ *blobio.Client, i int) error {
		if x.bad[i] != nil {
			return nil
		}
		err := x.files[i].Find(ctx, spans, ahead, func(span int, r Row) error {
			mu.Lock()
			defer mu.Unlock()
			if found++; most >= 0 && found > most {
				return errEnough
			}
			do(span, r)
			return nil
		})
		switch {
		case errors.Is(err, errEnough):
			return err
		case err != nil && ctx.Err() == nil:
			x.Spoil(i, err)
		}
		return ctx.Err()
	})
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}

// Hits are the records of a shard that a key index names, by its stripes: their places, which ascend once, and the keys of a set that they have.
type Hits struct {
	Rows map[int][]uint32
	Keys []int
}

// Lookup looks up keys: what the index holds about each of some shards, nil for those that it does not cover.
func (x *Index) Lookup(ctx context.Context, shards []*manifest.Entry, keys [][]byte) ([]*Hits, error) {
	out := make([]*Hits, len(shards))
	if !x.CoversAny(shards) {
		return out, nil
	}
	type hit struct {
		Row
		key int
	}
	byUnit := map[uint32][]hit{}
	order := make([]int, len(keys))
	spans := make([]Span, len(keys))
	for i, key := range keys {
		order[i], spans[i] = i, SpanOf(key)
	}
	low := func(i int) []byte { return spans[i].Low.Bytes }
	if ascend := func(a, b int) int { return bytes.Compare(low(a), low(b)) }; !slices.IsSortedFunc(order, ascend) { // keys that are cut
		slices.SortStableFunc(order, ascend)
		sorted := make([]Span, len(spans))
		for i, at := range order {
			sorted[i] = spans[at]
		}
		spans = sorted
	}
	if _, err := x.find(ctx, spans, -1, keysAhead, func(span int, r Row) {
		byUnit[r.Unit] = append(byUnit[r.Unit], hit{r, order[span]})
	}); err != nil {
		return nil, err
	}
	for i, e := range shards {
		units, ok := x.Covers(e)
		if !ok {
			continue
		}
		out[i] = &Hits{Rows: map[int][]uint32{}}
		for stripe, u := range units {
			for _, h := range byUnit[u] {
				out[i].Rows[stripe] = append(out[i].Rows[stripe], h.Row.Row)
				out[i].Keys = append(out[i].Keys, h.key)
			}
			slices.Sort(out[i].Rows[stripe])
		}
		slices.Sort(out[i].Keys)
		out[i].Keys = slices.Compact(out[i].Keys)
	}
	return out, nil
}

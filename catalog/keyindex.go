package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// keyIndexesProperty is the table property that names the table's key indexes, separated by spaces: the field ids of the columns of a key, "=", and
// the object, relative to the vault folder, that reports which rows the index is of; nothing as long as it is of none. AddKeyIndex and the like
// change it.
const keyIndexesProperty = "shardcat.key-indexes"

// keyIndexPrefix is what the specifications of key indexes begin with.
const keyIndexPrefix = "keys:"

// keyIndexDef is what the property states about a key index.
type keyIndexDef struct {
	ids    []int
	object string
}

func (d keyIndexDef) same(o keyIndexDef) bool { return slices.Equal(d.ids, o.ids) }

func parseKeyIndexes(text string) (out []keyIndexDef, err error) {
	for _, part := range strings.Fields(text) {
		columns, object, ok := strings.Cut(part, "=")
		d := keyIndexDef{object: object}
		for _, column := range strings.Split(columns, ",") {
			id, err := strconv.Atoi(column)
			ok = ok && err == nil && id > 0
			d.ids = append(d.ids, id)
		}
		if !ok || object != "" && (!strings.HasPrefix(object, "data/") || path.Clean(object) != object) {
			return nil, fmt.Errorf("%w: property %s: %q", ErrInvalid, keyIndexesProperty, part)
		}
		out = append(out, d)
	}
	return out, nil
}

func formatKeyIndexes(all []keyIndexDef) string {
	var parts []string
	for _, d := range all {
		var ids []string
		for _, id := range d.ids {
			ids = append(ids, strconv.Itoa(id))
		}
		parts = append(parts, strings.Join(ids, ",")+"="+d.object)
	}
	return strings.Join(parts, " ")
}

// keyIndexDefs are the table's key indexes. A property that can't be read has none: nothing rests on them.
func (t *Table) keyIndexDefs() []keyIndexDef {
	text := t.Properties()[keyIndexesProperty]
	if text == "" {
		return nil
	}
	all, err := parseKeyIndexes(text)
	if err != nil {
		t.cat.opts.Log.Warn("the table's key indexes are not used", "table", t.name.String(), "error", err)
	}
	return all
}

// keyIndexText is what a key index was made of: columns by id, type, name and other names. Where any of it is another now, the index is left alone.
func keyIndexText(ids []int, key *rowkey.Key) string {
	var parts []string
	for i, n := range key.Columns {
		parts = append(parts, fmt.Sprintf("%d %s %q %q", ids[i], n.TypeName(), n.Name, n.Aliases))
	}
	return strings.Join(parts, ", ")
}

// keyIndex is a key index of which keys are looked up. Not for concurrent use.
type keyIndex struct {
	table *Table
	key   *rowkey.Key
	def   keyIndexDef
	state *keyindex.State
	// files are the levels that are open; bad are those that can't be used.
	files []*keyindex.File
	bad   []error
}

// readKeyState reads the state of a key index, of any table or key: one request.
func (t *Table) readKeyState(ctx context.Context, client *blobio.Client, def keyIndexDef) (*keyindex.State, error) {
	url := t.VaultFolder() + def.object
	text, _, err := client.ReadAll(ctx, url, keyindex.MaxState)
	if err != nil {
		return nil, err
	}
	state, err := keyindex.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return state, nil
}

// openKeyIndex reads what a key index covers: one request. ts is the schema that its key is of.
func (t *Table) openKeyIndex(ctx context.Context, client *blobio.Client, ts *manifest.TableSchema, def keyIndexDef) (*keyIndex, error) {
	key, ok := rowkey.OfIDs(ts, def.ids)
	if !ok {
		return nil, fmt.Errorf("%w: the key columns were dropped or can't be a key any more", manifest.ErrSchema)
	}
	x := &keyIndex{table: t, key: key, def: def}
	if def.object == "" {
		return nil, fmt.Errorf("the index is empty: %w", ErrNotFound)
	}
	var err error
	if x.state, err = t.readKeyState(ctx, client, def); err != nil {
		return nil, err
	}
	switch want := keyIndexText(def.ids, key); {
	case x.state.Table != t.UUID():
		return nil, corrupt.Locate(corrupt.At(-1, "a key index of table %s", x.state.Table), t.VaultFolder()+def.object, 0)
	case x.state.Key != want:
		return nil, fmt.Errorf("%w: the index covers columns %s, which are now %s", manifest.ErrSchema, x.state.Key, want)
	}
	x.files, x.bad = make([]*keyindex.File, len(x.state.Levels)), make([]error, len(x.state.Levels))
	return x, nil
}

// keyIndexFor opens the key index that can tell most of a key's columns, or none.
func (t *Table) keyIndexFor(ctx context.Context, ts *manifest.TableSchema, columns []int) (*keyIndex, error) {
	for _, def := range t.keyIndexDefs() {
		if !slices.Equal(def.ids, columns) {
			continue
		}
		x, err := t.openKeyIndex(ctx, t.cat.client, ts, def)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && def.object != "" {
			t.cat.opts.Log.Warn("a key index is not used", "table", t.name.String(), "index", t.keyIndexName(&def), "error", err)
		}
		return x, nil
	}
	return nil, nil
}

// keyIndexName is the specification of a key index.
func (t *Table) keyIndexName(d *keyIndexDef) string {
	var names []string
	for _, id := range d.ids {
		name := strconv.Itoa(id)
		if n := t.schema.Node(id); n != nil {
			name = quotedPath(schema.JoinPath(n.Name))
		}
		names = append(names, name)
	}
	return keyIndexPrefix + strings.Join(names, ",")
}

// rowsName is the name by which a key index knows the rows of a shard: that of its entry, or of its root where that states none.
func rowsName(e *manifest.Entry) keyindex.ID {
	if id, ok := e.RowsID(); ok {
		return id
	}
	return xxh3.HashString128("root " + e.Path).Bytes()
}

// covers gives the stripes of a shard by their numbers; ok is false if the index does not cover it, or a level of it is not to be used.
func (x *keyIndex) covers(e *manifest.Entry) (units []uint32, ok bool) {
	if !e.IsShard() {
		return nil, false
	}
	units, ok = x.state.Covers(rowsName(e))
	if !ok || e.Stripes != int64(len(units)) {
		return nil, false
	}
	for _, u := range units {
		if x.bad[x.state.LevelOf(u)] != nil {
			return nil, false
		}
	}
	return units, true
}

// coversAny reports whether the index covers any of some shards.
func (x *keyIndex) coversAny(shards []*manifest.Entry) bool {
	return slices.ContainsFunc(shards, func(e *manifest.Entry) bool { _, ok := x.covers(e); return ok })
}

// open opens the levels that are not open yet, one request each, side by side. One that can't be used is noted.
func (x *keyIndex) open(ctx context.Context) error {
	return x.table.cat.client.Each(ctx, len(x.files), func(ctx context.Context, client *blobio.Client, i int) (err error) {
		if x.files[i] == nil && x.bad[i] == nil {
			l := &x.state.Levels[i]
			if x.files[i], err = x.state.OpenLevel(ctx, client, x.table.VaultFolder()+l.Object, l); err != nil {
				x.spoil(i, err)
			}
		}
		return ctx.Err()
	})
}

// spoil notes that a level can't be used, so that what it covers is searched otherwise.
func (x *keyIndex) spoil(level int, err error) {
	x.bad[level] = err
	x.table.cat.opts.Log.Warn("a level of a key index is not used", "object", x.table.VaultFolder()+x.state.Levels[level].Object, "error", err)
}

// keysAhead is how many bytes of a level are read at a time for a list of keys.
const keysAhead = 8 << 20

// errEnough ends a search that finds too much.
var errEnough = errors.New("enough")

// find gives the records that have keys of spans, which ascend and are disjoint, in the levels that can be read; those of others are not covered
// afterwards. enough is whether there are more than most, if that is not negative. About ahead bytes are read of a level at a time.
func (x *keyIndex) find(ctx context.Context, spans []keyindex.Span, most int, ahead int64, do func(span int, r keyindex.Row)) (enough bool, err error) {
	if err := x.open(ctx); err != nil {
		return false, err
	}
	var mu sync.Mutex
	found := 0
	err = x.table.cat.client.Each(ctx, len(x.files), func(ctx context.Context, _ *blobio.Client, i int) error {
		if x.bad[i] != nil {
			return nil
		}
		err := x.files[i].Find(ctx, spans, ahead, func(span int, r keyindex.Row) error {
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
			x.spoil(i, err)
		}
		return ctx.Err()
	})
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}

// keyHits are the records of a shard that a key index names, by its stripes: their places, which ascend once, and the keys of a set that they have.
type keyHits struct {
	rows map[int][]uint32
	keys []int
}

// ask asks a key index for the keys of a set: what it holds about each of some shards, nil for those that it does not cover.
func (x *keyIndex) ask(ctx context.Context, shards []*manifest.Entry, keys [][]byte) ([]*keyHits, error) {
	out := make([]*keyHits, len(shards))
	if !x.coversAny(shards) {
		return out, nil
	}
	type hit struct {
		keyindex.Row
		key int
	}
	byUnit := map[uint32][]hit{}
	order := make([]int, len(keys))
	spans := make([]keyindex.Span, len(keys))
	for i, key := range keys {
		order[i], spans[i] = i, keyindex.SpanOf(key)
	}
	low := func(i int) []byte { return spans[i].Low.Bytes }
	if ascend := func(a, b int) int { return bytes.Compare(low(a), low(b)) }; !slices.IsSortedFunc(order, ascend) { // keys that are cut
		slices.SortStableFunc(order, ascend)
		sorted := make([]keyindex.Span, len(spans))
		for i, at := range order {
			sorted[i] = spans[at]
		}
		spans = sorted
	}
	if _, err := x.find(ctx, spans, -1, keysAhead, func(span int, r keyindex.Row) {
		byUnit[r.Unit] = append(byUnit[r.Unit], hit{r, order[span]})
	}); err != nil {
		return nil, err
	}
	for i, e := range shards {
		units, ok := x.covers(e)
		if !ok {
			continue
		}
		out[i] = &keyHits{rows: map[int][]uint32{}}
		for stripe, u := range units {
			for _, h := range byUnit[u] {
				out[i].rows[stripe] = append(out[i].rows[stripe], h.Row.Row)
				out[i].keys = append(out[i].keys, h.key)
			}
			slices.Sort(out[i].rows[stripe])
		}
		slices.Sort(out[i].keys)
		out[i].keys = slices.Compact(out[i].keys)
	}
	return out, nil
}

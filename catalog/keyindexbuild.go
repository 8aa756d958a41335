package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// KeyIndexResult is what was done to the key indexes of a table.
type KeyIndexResult struct {
	// Indexes were rewritten. Shards came to be covered, StripesRead of them by reading their keys, the others by what was known of
	// their stripes.
	Indexes     int `json:"indexes"`
	Shards      int `json:"shards"`
	StripesRead int `json:"stripes_read"`
	// LevelsMerged went into new ones. BytesWritten are those of levels and of what reports what they cover.
	LevelsMerged int   `json:"levels_merged"`
	BytesWritten int64 `json:"bytes_written"`
}

// IsKeyIndex reports whether a specification or a name is that of a key index, keys:COL[,COL].
func IsKeyIndex(spec string) bool { return strings.HasPrefix(spec, keyIndexPrefix) }

// AddKeyIndex gives the table an index of the values of some columns together, keys:COL[,COL], and brings it to the shards that are there unless
// NewShardsOnly is set.
func (t *Table) AddKeyIndex(ctx context.Context, spec string, o IndexOptions) (*KeyIndexResult, error) {
	def, err := t.parseKeyIndex(spec)
	if err != nil {
		return nil, err
	}
	err = t.changeKeyIndexes(ctx, func(all []keyindex.Def) ([]keyindex.Def, error) {
		if slices.ContainsFunc(all, def.Same) {
			return all, nil
		}
		return append(slices.Clone(all), *def), nil
	})
	if err != nil || o.NewShardsOnly {
		return &KeyIndexResult{}, err
	}
	return t.UpdateKeyIndexes(ctx)
}

// HasKeyIndexes reports whether the table has any.
func (t *Table) HasKeyIndexes() bool { return len(t.keyIndexDefs()) > 0 }

// DropKeyIndex takes a key index away. Its objects go with a later collection. ErrNotFound: there is none of these columns.
func (t *Table) DropKeyIndex(ctx context.Context, name string) error {
	return t.changeKeyIndexes(ctx, func(all []keyindex.Def) ([]keyindex.Def, error) {
		left := slices.DeleteFunc(slices.Clone(all), func(d keyindex.Def) bool { return t.keyIndexName(&d) == name })
		if len(left) == len(all) {
			return nil, fmt.Errorf("%w: table %s has no index %s", ErrNotFound, t.name, name)
		}
		return left, nil
	})
}

func (t *Table) parseKeyIndex(spec string) (*keyindex.Def, error) {
	key, err := t.newRowKey(schema.ParsePaths(strings.TrimPrefix(spec, keyIndexPrefix)))
	if err != nil {
		return nil, err
	}
	return &keyindex.Def{IDs: t.idsOfKey(key)}, nil
}

// changeKeyIndexes commits a change of what the table's property states about its key indexes.
func (t *Table) changeKeyIndexes(ctx context.Context, change func([]keyindex.Def) ([]keyindex.Def, error)) error {
	return t.update(ctx, func() (*metaUpdate, error) {
		all, err := change(t.keyIndexDefs())
		if err != nil {
			return nil, err
		}
		want := keyindex.FormatDefs(all)
		updates := propertyUpdates(t.Properties(), keyindex.Property, want)
		if len(updates) == 0 {
			return nil, nil
		}
		return &metaUpdate{updates: updates, done: func(meta table.Metadata) bool { return meta.Properties()[keyindex.Property] == want }}, nil
	})
}

// UpdateKeyIndexes brings the table's key indexes to the shards of all branches and tags: what is not covered is read, what a merge has put
// together is known by its stripes, and levels that have become too many are merged. What is as it should be costs one request for each index
// and level. Where another process does the same, the one that ends last counts; neither makes an answer wrong.
func (t *Table) UpdateKeyIndexes(ctx context.Context) (*KeyIndexResult, error) {
	done := &KeyIndexResult{}
	for _, def := range t.keyIndexDefs() {
		if err := t.updateKeyIndex(ctx, def, done); err != nil {
			return done, fmt.Errorf("index %s: %w", t.keyIndexName(&def), err)
		}
	}
	return done, nil
}

func (t *Table) updateKeyIndex(ctx context.Context, def keyindex.Def, done *KeyIndexResult) error {
	key, ok := rowkey.OfIDs(t.schema, def.IDs)
	if !ok {
		return nil // a column of it was dropped
	}
	old, err := t.keyIndexFolder(t.cat.client).Open(ctx, t.schema, def)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // begun again
		old = t.keyIndexFolder(t.cat.client).Empty(key, def)
	}
	if err := old.Open(ctx); err != nil {
		return err
	}
	b := &keyIndexBuild{table: t, key: key, def: def, old: old, done: done,
		state: &keyindex.State{Table: t.UUID(), Key: keyindex.KeyText(def.IDs, key)}, unitOf: map[keyindex.ID]uint32{}, live: map[uint32]bool{}}
	for {
		err := b.run(ctx)
		if !errors.Is(err, errSpoilt) {
			return err
		}
		b.state.Shards, b.state.Units, b.state.Levels = nil, nil, nil // a level turned out to be damaged: without it
		clear(b.unitOf)
		clear(b.live)
		b.read, b.writes = nil, nil
	}
}

// errSpoilt is a level that turned out to be damaged when it was read.
var errSpoilt = errors.New("a level can't be read")

// keyIndexBuild makes the next state of a key index.
type keyIndexBuild struct {
	table *Table
	key   *rowkey.Key
	def   keyindex.Def
	old   *keyindex.Index
	done  *KeyIndexResult

	state  *keyindex.State
	unitOf map[keyindex.ID]uint32
	live   map[uint32]bool
	// read are the stripes whose keys are to be read, by the shards in which they are read.
	read []stripesToRead
	next uint32
	// fresh is how many shards came to be covered.
	fresh int

	mu     sync.Mutex
	writes []string
}

// stripesToRead are stripes of a shard, by their places there, with the numbers that they get.
type stripesToRead struct {
	entry   *manifest.Entry
	stripes map[int]uint32
}

// maxUnits bounds the stripes that an index covers; shards beyond are searched as without it.
const maxUnits = 1 << 20

func (b *keyIndexBuild) run(ctx context.Context) (err error) {
	b.next, b.fresh = 0, 0
	for i := range b.old.State.Units {
		b.next = max(b.next, b.old.State.Units[i].Number+1)
	}
	fresh, err := b.covered(ctx)
	if err != nil {
		return err
	}
	if b.next > math.MaxUint32/2 {
		return fmt.Errorf("%w: stripe numbers are exhausted; drop the index and add it again", ErrInvalid)
	}
	if len(fresh) == 0 && len(b.state.Shards) == len(b.old.State.Shards) && b.old.Def.Object != "" && b.old.State.Key == b.state.Key {
		return nil
	}
	if err := b.names(ctx, fresh); err != nil {
		return err
	}
	j, _, err := b.table.BeginJob(ctx, jobIndex, "", nil, b.table.Outputs)
	if err != nil {
		return err
	}
	if err = b.write(ctx, j); err == nil {
		j.committing = true // its objects may be the table's from here on
		err = b.commit(ctx)
	}
	if err != nil {
		j.committing = j.committing && mayBeCommitted(err)
		j.Fail(ctx, b.writes)
		return err
	}
	b.done.Indexes++
	b.done.Shards += b.fresh
	return j.end(ctx, jobrecord.Committed, b.table.Head())
}

// covered keeps the shards of all refs that the index covers as it is, and gives the others.
func (b *keyIndexBuild) covered(ctx context.Context) (fresh []*manifest.Entry, err error) {
	seen := map[keyindex.ID]bool{}
	for _, ref := range b.table.Refs() {
		for e, err := range b.table.Entries(ctx, At{Ref: ref.Name}) {
			if err != nil {
				return nil, err
			}
			name := keyindex.RowsName(e)
			if !e.IsShard() || e.Stripes == 0 || seen[name] {
				continue
			}
			seen[name] = true
			units, ok := b.old.Covers(e)
			if !ok {
				fresh = append(fresh, e)
				continue
			}
			for _, u := range units {
				b.live[u] = true
			}
			b.state.Shards = append(b.state.Shards, keyindex.Shard{ID: name[:], Units: units})
		}
	}
	return fresh, nil
}

// names opens the roots of shards that the index does not cover, and finds what it knows of their stripes.
func (b *keyIndexBuild) names(ctx context.Context, fresh []*manifest.Entry) error {
	type named struct {
		stripes [][16]byte
		rows    []uint64
	}
	all := make([]named, len(fresh))
	err := b.table.cat.client.Each(ctx, len(fresh), func(ctx context.Context, client *blobio.Client, i int) error {
		e := fresh[i]
		shard, err := b.table.openShard(ctx, client, e.Path, e.RootBytes)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
		defer shard.Close()
		if _, err := b.table.schema.MapShard(ctx, shard); err != nil {
			return err
		}
		for _, s := range shard.Stripes() {
			all[i].rows = append(all[i].rows, s.Records)
		}
		stripes, err := shard.StripeRows(ctx)
		unnamed := len(stripes) == 0
		for k := range shard.Stripes() {
			if unnamed { // of values that lie in the root: known by its name alone, until it has another
				stripes = append(stripes[:k], xxh3.HashString128(fmt.Sprintf("stripe %d of %s", k, e.Path)).Bytes())
			}
		}
		all[i].stripes = stripes
		return err
	})
	if err != nil {
		return err
	}
	for i, e := range fresh {
		x := all[i]
		if len(x.stripes) != len(x.rows) || int64(len(x.rows)) != e.Stripes || slices.Max(x.rows) > math.MaxUint32 || len(b.live)+len(x.rows) > maxUnits {
			continue
		}
		var units []uint32
		read := stripesToRead{entry: e, stripes: map[int]uint32{}}
		for stripe, id := range x.stripes {
			u, known := b.unitOf[id]
			if !known {
				if u, known = b.old.State.Unit(id); known {
					known = b.old.Bad(b.old.State.LevelOf(u)) == nil
				}
			}
			if !known {
				u, b.next = b.next, b.next+1
				read.stripes[stripe] = u
			}
			b.unitOf[id], b.live[u] = u, true
			units = append(units, u)
		}
		name := keyindex.RowsName(e)
		b.state.Shards = append(b.state.Shards, keyindex.Shard{ID: name[:], Units: units})
		b.fresh++
		if len(read.stripes) > 0 {
			b.read = append(b.read, read)
		}
	}
	return nil
}

// mergedLevels picks the levels that are rewritten with the keys that are new: those that are not more than twice as long as all that is written
// with them, so that there are about as many levels as the table has doubled, and those of which less than half is of stripes that are
// still there.
func (b *keyIndexBuild) mergedLevels(fresh int64) (merged map[int]bool) {
	merged = map[int]bool{}
	rows := make([]int64, len(b.old.State.Levels))
	for i := range b.old.State.Units {
		if u := &b.old.State.Units[i]; b.live[u.Number] {
			rows[u.Level] += u.Rows
		}
	}
	var order []int
	for i, l := range b.old.State.Levels {
		if b.old.Bad(i) != nil || rows[i] == 0 {
			continue
		}
		if rows[i] < l.Rows/2 {
			merged[i] = true
			fresh += rows[i]
			continue
		}
		order = append(order, i)
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(rows[x], rows[y]) })
	for _, i := range order {
		if fresh == 0 || rows[i] > 2*fresh {
			break
		}
		merged[i] = true
		fresh += rows[i]
	}
	return merged
}

// write writes the next state, and the level of what is new in it.
func (b *keyIndexBuild) write(ctx context.Context, j *Job) error {
	added := keyindex.NewBuilder()
	defer added.Close()
	rows, err := b.readKeys(ctx, added)
	if err != nil {
		return err
	}
	fresh := int64(0)
	for _, n := range rows {
		fresh += n
	}
	merged := b.mergedLevels(fresh)
	at := map[int]int{} // places of old levels in the new state
	for i, l := range b.old.State.Levels {
		kept := b.old.Bad(i) == nil && !merged[i] && slices.ContainsFunc(b.old.State.Units, func(u keyindex.Unit) bool { return u.Level == i && b.live[u.Number] })
		if kept {
			at[i] = len(b.state.Levels)
			b.state.Levels = append(b.state.Levels, l)
		}
	}
	newest := len(b.state.Levels)
	for i := range b.old.State.Units {
		if u := b.old.State.Units[i]; b.live[u.Number] && b.old.Bad(u.Level) == nil {
			if merged[u.Level] {
				u.Level = newest
			} else {
				u.Level = at[u.Level]
			}
			b.state.Units = append(b.state.Units, u)
		}
	}
	for id, u := range b.unitOf {
		if n, ok := rows[u]; ok {
			b.state.Units = append(b.state.Units, keyindex.Unit{Number: u, ID: slices.Clone(id[:]), Level: newest, Rows: n})
		}
	}
	slices.SortFunc(b.state.Units, func(x, y keyindex.Unit) int { return cmp.Compare(x.Number, y.Number) })
	prefix := fmt.Sprintf("data/%s-keys", j.Attempt())
	if len(rows) > 0 || len(merged) > 0 {
		if err := b.writeLevel(ctx, prefix+".amudai.layer", added, merged); err != nil {
			return err
		}
	}
	b.done.LevelsMerged += len(merged)
	b.def.Object = prefix + ".amudai.keys"
	text, err := b.state.Encode()
	if err != nil {
		return err
	}
	if len(text) > keyindex.MaxState {
		return fmt.Errorf("%w: the list of %d covered shards takes %d bytes, more than the limit of %d", ErrInvalid, len(b.state.Shards), len(text), keyindex.MaxState)
	}
	b.writes = append(b.writes, b.table.VaultFolder()+b.def.Object)
	b.done.BytesWritten += int64(len(text))
	return b.table.cat.client.Put(ctx, b.table.VaultFolder()+b.def.Object, text)
}

// readKeys reads the keys of stripes that no level has: how many records each has. Deleted records are among them, for older roots over the same
// stripes have them still.
func (b *keyIndexBuild) readKeys(ctx context.Context, to *keyindex.Builder) (rows map[uint32]int64, err error) {
	rows = map[uint32]int64{}
	return rows, b.table.cat.client.EachUpTo(ctx, tablescan.ShardsAtOnce, len(b.read), func(ctx context.Context, client *blobio.Client, i int) error {
		err := parallel.Guarded(func() error { return b.readShard(ctx, client, &b.read[i], to, rows) })
		if err != nil {
			return fmt.Errorf("%s: %w", b.read[i].entry.Path, err)
		}
		return nil
	})
}

func (b *keyIndexBuild) readShard(ctx context.Context, client *blobio.Client, r *stripesToRead, to *keyindex.Builder, rows map[uint32]int64) error {
	p, err := b.table.PlanOf([]*manifest.Entry{r.entry}, ScanOptions{Where: b.key.Present(), Select: []string{}})
	if err != nil {
		return err
	}
	shard, err := b.table.openShard(ctx, client, r.entry.Path, r.entry.RootBytes)
	if err != nil {
		return err
	}
	defer shard.Close()
	var unit uint32
	in, err := tablescan.NewSearch(ctx, p, shard, func(batch arrow.RecordBatch, at int, _ []byte) error { return b.addKeys(batch, at, unit, to) })
	if err != nil {
		return err
	}
	for i, st := range shard.Stripes() {
		var wanted bool
		if unit, wanted = r.stripes[i]; !wanted {
			continue
		}
		if err := in.Mark(ctx, st, nil); err != nil {
			return err
		}
		b.mu.Lock()
		rows[unit] = int64(st.Records)
		b.done.StripesRead++
		b.mu.Unlock()
	}
	return nil
}

func (b *keyIndexBuild) addKeys(batch arrow.RecordBatch, at int, unit uint32, to *keyindex.Builder) error {
	r, err := b.key.Reader(batch)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var key []byte
	for i := range int(batch.NumRows()) {
		bytes, null := r.Append(key[:0], i)
		if key = bytes; null != nil {
			continue
		}
		if err := to.Add(key, keyindex.Row{Unit: unit, Row: uint32(at + i)}); err != nil {
			return err
		}
	}
	return nil
}

// writeLevel writes the new keys and those of the merged levels as one level.
func (b *keyIndexBuild) writeLevel(ctx context.Context, object string, added *keyindex.Builder, merged map[int]bool) error {
	t := b.table
	sources := []iter.Seq2[[]byte, error]{added.Sorted()}
	spoilt := false
	for i := range b.old.State.Levels {
		if !merged[i] {
			continue
		}
		l := &b.old.State.Levels[i]
		spoil := func(err error) {
			if ctx.Err() == nil {
				spoilt = true
				b.old.Spoil(i, err)
			}
		}
		f, err := b.old.State.OpenLevel(ctx, keyindex.Windowed(t.cat.client), t.VaultFolder()+l.Object, l)
		if err != nil {
			spoil(err)
			return errors.Join(errSpoilt, err)
		}
		sources = append(sources, func(yield func([]byte, error) bool) {
			for row, err := range f.All(ctx) {
				if err != nil {
					spoil(err)
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		})
	}
	l := keyindex.Level{Object: object, Name: uuid.NewString()}
	b.writes = append(b.writes, t.VaultFolder()+object)
	err := b.state.WriteLevel(ctx, t.cat.client, t.VaultFolder()+object, &l, keyindex.Merge(sources, func(u uint32) bool { return b.live[u] }))
	if spoilt {
		return errors.Join(errSpoilt, err)
	}
	b.state.Levels = append(b.state.Levels, l)
	b.done.BytesWritten += l.Size
	return err
}

// commit makes the new state the table's, unless the index was dropped concurrently.
func (b *keyIndexBuild) commit(ctx context.Context) error {
	return b.table.changeKeyIndexes(ctx, func(all []keyindex.Def) ([]keyindex.Def, error) {
		i := slices.IndexFunc(all, b.def.Same)
		if i < 0 {
			return nil, fmt.Errorf("%w: the index was dropped concurrently", ErrConflict)
		}
		all = slices.Clone(all)
		all[i] = b.def
		return all, nil
	})
}

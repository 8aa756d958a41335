package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// valued makes a batch of rows with ids, of which small is a value.
func valued(small int, ids ...int64) string {
	var out []string
	for _, id := range ids {
		out = append(out, fmt.Sprintf(`{"id":%d,"ts":%d,"small":%d,"tags":["v%d"]}`, id, year2024+id, small, small))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// smallByID reads the value of each id; an id that is there twice fails the test.
func smallByID(t testing.TB, tbl *Table, at At) map[int64]int {
	t.Helper()
	out := map[int64]int{}
	for b, err := range tbl.Scan(context.Background(), ScanOptions{At: at}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		ids, values := b.Column(projection.ColumnIndex(b, "id")), b.Column(projection.ColumnIndex(b, "small"))
		for i := range int(b.NumRows()) {
			id := ids.(*array.Int64).Value(i)
			if _, twice := out[id]; twice {
				t.Errorf("id %d is there twice", id)
			}
			out[id] = int(values.(*array.Uint8).Value(i))
		}
	}
	return out
}

func upsertInto(t testing.TB, tbl *Table, batches ...string) *IngestResult {
	t.Helper()
	out, err := tbl.Ingest(context.Background(), source(batches...), IngestOptions{UpsertBy: []string{"id"}, ShardRows: 8, StripeRows: 4})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUpsert replaces rows by their key in one snapshot: in part of a shard, all of one, within one delivery; the old snapshot stays.
func TestUpsert(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{ShardRows: 10, StripeRows: 4}, rows(0, 40))
	first := tbl.Head()
	out := upsertInto(t, tbl, valued(200, 3, 100), valued(201, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29), valued(202, 3, 101))
	if out.Rows != 13 || out.Replaced != 11 || out.Superseded != 1 || out.Attempts != 1 {
		t.Errorf("%+v", out)
	}
	want := map[int64]int{}
	for id := range int64(40) {
		want[id] = int(id)
	}
	old := maps.Clone(want)
	want[3], want[100], want[101] = 202, 200, 202
	for id := range int64(10) {
		want[20+id] = 201
	}
	if got := smallByID(t, tbl, At{}); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := smallByID(t, tbl, At{SnapshotID: first}); !maps.Equal(got, old) {
		t.Errorf("the first snapshot has %v", got)
	}
	if s := tbl.branch(""); s.Summary.Properties[manifest.OperationKey] != jobUpsert || s.Summary.Operation != "overwrite" || s.ParentSnapshotID == nil || *s.ParentSnapshotID != first {
		t.Errorf("%+v", s)
	}
	if out := upsertInto(t, tbl, valued(7, 500)); out.Replaced != 0 || tbl.branch("").Summary.Operation != "append" {
		t.Errorf("only new keys: %+v, %v", out, tbl.branch("").Summary.Operation)
	}
	head := tbl.Head()
	if out := upsertInto(t, tbl); out.Rows != 0 || tbl.Head() != head {
		t.Errorf("nothing: %+v", out)
	}
	counted(t, tbl)
	verifyAll(t, tbl)

	once := IngestOptions{UpsertBy: []string{"id"}, JobID: "once"}
	if out, err := tbl.Ingest(ctx, source(valued(9, 1)), once); err != nil || out.Replaced != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	upsertInto(t, tbl, valued(10, 1))
	if out, err := tbl.Ingest(ctx, source(valued(9, 1)), once); err != nil || !out.Before || smallByID(t, tbl, At{})[1] != 10 {
		t.Errorf("delivered again: %+v, %v", out, err)
	}
}

// TestUpsertOnBranch replaces rows of a branch and leaves main alone.
func TestUpsertOnBranch(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	if _, err := tbl.CreateBranch(ctx, "audit", 0); err != nil {
		t.Fatal(err)
	}
	if out, err := tbl.Ingest(ctx, source(valued(99, 2, 7)), IngestOptions{UpsertBy: []string{"id"}, Ref: "audit"}); err != nil || out.Replaced != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	if main, audit := smallByID(t, tbl, At{}), smallByID(t, tbl, At{Ref: "audit"}); main[2] != 2 || len(main) != 5 || audit[2] != 99 || len(audit) != 6 {
		t.Errorf("main %v, audit %v", main, audit)
	}
}

// TestUnique refuses keys that are there, and keys that come twice, by their row; nothing is left of the delivery.
func TestUnique(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	o := IngestOptions{Unique: []string{"id"}}
	for _, batch := range []string{rows(0, 10), valued(1, 10, 11)} {
		if _, err := tbl.Ingest(ctx, source(batch), o); err != nil {
			t.Fatal(err)
		}
	}
	objects := func() (n int) {
		for _, err := range tbl.cat.client.List(ctx, tbl.VaultFolder()+"data/") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	head, before := tbl.Head(), objects()
	for want, batches := range map[string][]string{
		"row 2 of the input has a key that the table has: id = 11":       {valued(5, 12, 11)},
		"row 4 of the input has the key of row 1 of the input: id = -12": {valued(5, -12, 13), valued(5, 14, -12)},
		"row 2 of the input has no key: id is null":                      {valued(5, 12), `[{"id":null}]`},
	} {
		_, err := tbl.Ingest(ctx, source(batches...), o)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrExists) && !errors.Is(err, manifest.ErrSchema) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if tbl.Head() != head || objects() != before || len(smallByID(t, tbl, At{})) != 12 {
		t.Errorf("head %d became %d, %d objects %d", head, tbl.Head(), before, objects())
	}
	remove(t, tbl, "id = 11")
	if _, err := tbl.Ingest(ctx, source(valued(6, 11)), o); err != nil || smallByID(t, tbl, At{})[11] != 6 {
		t.Errorf("a key whose row was deleted: %v", err)
	}
}

// TestKeysRefused: columns that make no key, and commands that take none.
func TestKeysRefused(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	for _, o := range []IngestOptions{
		{UpsertBy: []string{"nowhere"}}, {UpsertBy: []string{"tags"}}, {UpsertBy: []string{"id", "id"}}, {UpsertBy: []string{"id"}, Unique: []string{"small"}},
	} {
		if _, err := tbl.Ingest(ctx, source(rows(0, 1)), o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
		if _, err := tbl.NewWriter(ctx, people(), WriterOptions{Ingest: o}); !errors.Is(err, ErrInvalid) {
			t.Errorf("a writer, %+v: %v", o, err)
		}
	}
	o := IngestOptions{UpsertBy: []string{"id"}, JobID: "j"}
	if _, err := tbl.Overwrite(ctx, where(t, "id = 1"), source(rows(0, 1)), o); !errors.Is(err, ErrInvalid) {
		t.Errorf("overwrite: %v", err)
	}
	if _, err := tbl.WriteShards(ctx, source(rows(0, 1)), "", o); !errors.Is(err, ErrInvalid) {
		t.Errorf("shards for later: %v", err)
	}
}

// everyKey has a column of each type that keys are made of.
func everyKey() *schema.Schema {
	s, err := schema.Parse("i: Int32, u: UInt64, b: Boolean, t: DateTime, d: TimeSpan, s: String, x: Binary, g: Guid, n: Int64")
	if err != nil {
		panic(err)
	}
	return s
}

// TestKeysOfEveryType upserts by each type, and by several columns, with values that are near each other, alone and so many that they are
// not listed in a filter.
func TestKeysOfEveryType(t *testing.T) {
	ctx := context.Background()
	record := func(i, n int) string {
		text, err := json.Marshal([]string{"", "a", "a\x00", "a\x00b", "b", "ü'"}[i%6] + strings.Repeat("z", i/6))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"i":%d,"u":%d,"b":%v,"t":%d,"d":%d,"s":%s,"x":%q,"g":%q,"n":%d}`, i-40, uint64(1<<63)+uint64(i), i%2 == 0, year2024+i,
			i-40, text, []string{"", "AA==", "AAA=", "AAE=", "/w=="}[i%5], guidText(i), n)
	}
	records := func(n int, of ...int) string {
		var out []string
		for _, i := range of {
			out = append(out, record(i, n))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	var all []int
	for i := range 80 {
		all = append(all, i)
	}
	for _, key := range []string{"i", "u", "t", "d", "s", "g", "x,i", "b,s,t", "s,x"} {
		g := newGround(t)
		c := g.open(nil, nil)
		tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: everyKey(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		land := func(n int, of ...int) *IngestResult {
			out, err := tbl.Ingest(ctx, &rowSource{schema: everyKey(), left: []string{records(n, of...)}}, IngestOptions{UpsertBy: strings.Split(key, ","), ShardRows: 30, StripeRows: 7})
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			return out
		}
		different := map[string]bool{}
		for _, i := range all {
			different[keyText(t, tbl, key, record(i, 0))] = true
		}
		if out := land(1, all...); int(out.Rows) != len(different) || out.Replaced != 0 || int(out.Superseded) != 80-len(different) {
			t.Errorf("%s: %+v; %d keys", key, out, len(different))
		}
		if out := land(2, 17, 3); out.Rows != 2 || out.Replaced != 2 {
			t.Errorf("%s: two keys: %+v", key, out)
		}
		if out := land(3, all...); int(out.Replaced) != len(different) {
			t.Errorf("%s: all keys: %+v", key, out)
		}
		if n := tbl.Describe().Records; int(n) != len(different) {
			t.Errorf("%s: %d rows of %d keys", key, n, len(different))
		}
	}
}

func guidText(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-00000000%04x", i%3, i) }

// keyText is the key of a record as the program makes it.
func keyText(t *testing.T, tbl *Table, key, record string) string {
	t.Helper()
	k, err := tbl.newRowKey(strings.Split(key, ","))
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&rowSource{schema: everyKey(), left: []string{"[" + record + "]"}}).Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.Reader(b)
	if err != nil {
		t.Fatal(err)
	}
	bytes, null := r.Append(nil, 0)
	if null != nil {
		t.Fatal(null.Name)
	}
	if parts := k.Split(bytes); len(slices.Concat(parts...)) != len(bytes) || len(parts) != len(k.Columns) {
		t.Fatalf("%x parts into %x", bytes, parts)
	}
	return string(bytes)
}

// TestUpsertPrunes: ten keys in a table of a thousand shards open ten, whether their bounds, their Bloom filters or their indexes tell.
func TestUpsertPrunes(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{ShardRows: 2}, rows(0, 2000))
	var keys []int64
	for i := range int64(10) {
		keys = append(keys, i*190+i%2)
	}
	before := tbl.cat.client.Counters()
	out := upsertInto(t, tbl, valued(7, keys...))
	c := tbl.cat.client.Counters().Sub(before)
	t.Logf("%d GETs, %d bytes, %d PUTs", c.Gets, c.GetBytes, c.Puts)
	// Of each shard: its root, the columns of the key twice, the root again to mark rows, and the new root that is read back; besides
	// those the two new shards and the job.
	if out.Rows != 10 || out.Replaced != 10 || c.Gets > 100 {
		t.Errorf("%+v: %+v", out, c)
	}
	if n := counted(t, tbl); n != 2000 {
		t.Errorf("%d rows", n)
	}

	// Where bounds report nothing, the data of shards that lack the key stays unread.
	for name, with := range map[string]struct {
		shards, rows int
		o            IngestOptions
	}{
		"bloom": {8, 4000, IngestOptions{Bloom: map[string]float64{"id": 0.001}}},
		"layer": {1, 60_000, IngestOptions{Indexes: []shardfmt.IndexSpec{{Kind: shardfmt.LayerIndex, Columns: []string{"id"}}}}},
	} {
		g := newGround(t)
		tbl := g.create(g.open(nil, nil))
		r := rand.New(rand.NewPCG(9, 9))
		for range with.shards {
			var ids []int64
			for range with.rows {
				ids = append(ids, r.Int64N(1<<50)*2)
			}
			ingest(t, tbl, with.o, valued(1, ids...))
		}
		before := tbl.cat.client.Counters()
		if _, err := tbl.Ingest(ctx, source(valued(2, 1<<50+1)), IngestOptions{Unique: []string{"id"}}); err != nil {
			t.Fatal(err)
		}
		c := tbl.cat.client.Counters().Sub(before)
		t.Logf("%s: %d GETs, %d bytes", name, c.Gets, c.GetBytes)
		if data := int64(with.shards * with.rows * 6); c.GetBytes > data*5/8 { // an id takes more than six bytes
			t.Errorf("%s: %d bytes were read to find out that a key is absent, of columns of %d", name, c.GetBytes, data)
		}
	}
}

// scattered are n different ids in no order, so that bounds of a few of them report nothing.
func scattered(r *rand.Rand, n int) (ids []int64) {
	seen := map[int64]bool{}
	for len(ids) < n {
		if id := r.Int64N(1 << 40); !seen[id] {
			ids, seen[id] = append(ids, id), true
		}
	}
	return ids
}

// TestUpsertByTermFilters: a hundred keys in a table of two hundred shards, of which bounds report nothing, open the shards that have them and hardly any
// more, where the key has a hash index: the term filters of the commit are read in a few requests. As many rows are replaced as without.
func TestUpsertByTermFilters(t *testing.T) {
	const shards, each, holders = 200, 40, 5
	cost := func(o IngestOptions) (c blobio.Counters, rows int64) {
		g := newGround(t)
		tbl := g.create(g.open(nil, nil))
		r := rand.New(rand.NewPCG(3, 9))
		ids := scattered(r, shards*each)
		o.ShardRows = each
		ingest(t, tbl, o, valued(1, ids...))
		var keys []int64
		for i := range holders {
			keys = append(keys, ids[i*each*37:][:20]...)
		}
		before := tbl.cat.client.Counters()
		out := upsertInto(t, tbl, valued(2, keys...))
		c = tbl.cat.client.Counters().Sub(before)
		if out.Replaced != int64(len(keys)) || counted(t, tbl) != shards*each {
			t.Errorf("%+v", out)
		}
		before = tbl.cat.client.Counters()
		_, err := tbl.Ingest(t.Context(), source(valued(3, 1<<41)), IngestOptions{Unique: []string{"id"}})
		if more := tbl.cat.client.Counters().Sub(before); err != nil {
			t.Error(more, err)
		}
		return c, out.Replaced
	}
	plain, replaced := cost(IngestOptions{})
	indexed, same := cost(IngestOptions{Indexes: []shardfmt.IndexSpec{{Kind: shardfmt.HashIndex, Columns: []string{"id"}}}})
	t.Logf("%d GETs, %d bytes; %d GETs, %d bytes without", indexed.Gets, indexed.GetBytes, plain.Gets, plain.GetBytes)
	if replaced != same || indexed.Gets > 150 || plain.Gets < 2*shards {
		t.Errorf("%d rows with %+v, %d with %+v", same, indexed, replaced, plain)
	}
}

// TestConcurrentUpserts: of many writers of the same keys, each key has one row in the end, the one of the last commit.
func TestConcurrentUpserts(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	g.create(g.open(nil, nil))
	const writers, each = 6, 3
	var wg sync.WaitGroup
	for w := range writers {
		tbl := g.load(g.open(nil, nil))
		wg.Go(func() {
			for i := range each {
				if _, err := tbl.Ingest(ctx, source(valued(w*each+i, 1, 2, int64(10+w))), IngestOptions{UpsertBy: []string{"id"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	tbl := g.load(g.open(nil, nil))
	got := smallByID(t, tbl, At{})
	if len(got) != 2+writers || got[1] != got[2] {
		t.Errorf("%v", got)
	}
	for w := range writers {
		if got[int64(10+w)] != w*each+each-1 {
			t.Errorf("writer %d: %v", w, got)
		}
	}
	counted(t, tbl)
	verifyAll(t, tbl)

	// Of writers who will have no row twice, one wins.
	won := make([]bool, writers)
	for w := range writers {
		tbl := g.load(g.open(nil, nil))
		wg.Go(func() {
			_, err := tbl.Ingest(ctx, source(valued(w, 77)), IngestOptions{Unique: []string{"id"}})
			if won[w] = err == nil; err != nil && !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(slices.DeleteFunc(won, func(is bool) bool { return !is })); n != 1 {
		t.Errorf("%d writers of one key won", n)
	}
	smallByID(t, g.load(g.open(nil, nil)), At{})
}

// TestUpsertLooksAgain: what other writers commit between the search and the commit is searched, and nothing else is.
func TestUpsertLooksAgain(t *testing.T) {
	g := newGround(t)
	other := g.open(nil, nil)
	g.create(other)
	ingest(t, g.load(other), IngestOptions{ShardRows: 5}, rows(0, 20))
	raced := 0
	c := g.open(nil, func(inner icecatalog.Catalog) icecatalog.Catalog {
		return &commitFunc{Catalog: inner, commit: func(real func() error) error {
			switch raced++; raced {
			case 1:
				upsertInto(t, g.load(other), valued(50, 3, 30))
			case 2:
				remove(t, g.load(other), "id = 4")
			case 3: // a compaction
				replaceAll(t, g.load(other))
			}
			return real()
		}}
	})
	tbl := g.load(c)
	out := upsertInto(t, tbl, valued(60, 3, 4, 30, 31))
	if out.Attempts != 4 || out.Replaced != 2 { // 3 and 30; 4 was deleted
		t.Errorf("%+v", out)
	}
	got := smallByID(t, tbl, At{})
	if got[3] != 60 || got[4] != 60 || got[30] != 60 || got[31] != 60 || len(got) != 22 {
		t.Errorf("%v", got)
	}
	counted(t, tbl)
	verifyAll(t, tbl)
}

// replaceAll rewrites all rows of a table, as a compaction does.
func replaceAll(t testing.TB, tbl *Table) {
	t.Helper()
	ctx := context.Background()
	var entries []*manifest.Entry
	var paths []string
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries, paths = append(entries, e), append(paths, e.Path)
	}
	j, _, err := tbl.BeginJob(ctx, JobCompact, "", paths, tbl.Outputs)
	if err != nil {
		t.Fatal(err)
	}
	done, err := j.Rewrite(ctx, entries, RewriteOptions{ShardRows: 7})
	if err == nil {
		_, err = j.Replace(ctx, paths, done.Entries)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUpsertsAgainstAMap: random upserts, deletions, compactions and changes of the table leave what they leave in a map.
func TestUpsertsAgainstAMap(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := newGround(t)
		tbl := g.create(g.open(nil, nil))
		model := map[int64]int{}
		for step := range 25 {
			switch r.IntN(8) {
			case 0:
				low := r.Int64N(60)
				remove(t, tbl, fmt.Sprintf("id >= %d AND id < %d", low, low+5))
				maps.DeleteFunc(model, func(id int64, _ int) bool { return id >= low && id < low+5 })
			case 1:
				replaceAll(t, tbl)
			case 2:
				if step == 10 {
					index := shardfmt.IndexSpec{Kind: shardfmt.LayerIndex, Columns: []string{"id"}}
					if seed%2 == 1 { // whose term filters rule shards out
						index.Kind = shardfmt.HashIndex
					}
					if _, err := tbl.AddIndex(ctx, index, IndexOptions{}); err != nil && !errors.Is(err, ErrExists) {
						t.Fatal(err)
					}
				}
				id := r.Int64N(80)
				_, err := tbl.Ingest(ctx, source(valued(step, id)), IngestOptions{Unique: []string{"id"}})
				_, there := model[id]
				if there != errors.Is(err, ErrExists) || !there && err != nil {
					t.Fatalf("seed %d, step %d: key %d, there: %v; %v", seed, step, id, there, err)
				}
				if !there {
					model[id] = step
				}
			default:
				var ids []int64
				spread := []int64{80, 8, 200}[r.IntN(3)]
				for range r.IntN(30) * r.IntN(4) {
					ids = append(ids, r.Int64N(spread))
				}
				different := map[int64]bool{}
				replaced := 0
				for _, id := range ids {
					if _, there := model[id]; there && !different[id] {
						replaced++
					}
					different[id] = true
				}
				out := upsertInto(t, tbl, valued(step, ids...))
				if int(out.Replaced) != replaced || int(out.Rows) != len(different) {
					t.Fatalf("seed %d, step %d: %+v; %d keys, %d were there", seed, step, out, len(different), replaced)
				}
				for id := range different {
					model[id] = step
				}
			}
			if got := smallByID(t, tbl, At{}); !maps.Equal(got, model) {
				t.Fatalf("seed %d, step %d: %v, want %v", seed, step, got, model)
			}
		}
		if counted(t, tbl) != int64(len(model)) {
			t.Errorf("seed %d: %d rows", seed, len(model))
		}
		verifyAll(t, tbl)
	}
}

// TestKilledUpserts kills an upsert at each of its steps: the table is as before or as after, and the same job delivered again
// converges.
func TestKilledUpserts(t *testing.T) {
	ctx := context.Background()
	before, after := map[int64]int{}, map[int64]int{}
	for id := range int64(20) {
		before[id], after[id] = int(id), int(id)
	}
	after[3], after[30] = 90, 90
	for id := int64(10); id < 20; id++ {
		after[id] = 90
	}
	act := func(tbl *Table) error {
		_, err := tbl.Ingest(ctx, source(valued(90, append(between(10, 20), 3, 30)...)), IngestOptions{UpsertBy: []string{"id"}, JobID: "killed"})
		return err
	}
	kills, err := crashtest.Walk(func(n int, killer *crashtest.Killer) error {
		g := newGround(t)
		ingest(t, g.create(g.open(nil, nil)), IngestOptions{ShardRows: 10}, rows(0, 20))
		killed, err := g.open(killer, nil).Load(ctx, tableName)
		if err != nil {
			return err
		}
		runErr := act(killed)
		step, _ := killer.Killed()
		tbl := g.load(g.open(nil, nil))
		if got := smallByID(t, tbl, At{}); !maps.Equal(got, after) && (runErr == nil || !maps.Equal(got, before)) {
			return fmt.Errorf("killed %s: %v", step, got)
		}
		counted(t, tbl)
		verifyAll(t, tbl)
		if err := act(tbl); err != nil {
			return fmt.Errorf("killed %s: %w", step, err)
		}
		if got := smallByID(t, tbl, At{}); !maps.Equal(got, after) {
			return fmt.Errorf("killed %s, delivered again: %v", step, got)
		}
		return nil
	})
	if err != nil || kills < 10 {
		t.Fatalf("%d kills, %v", kills, err)
	}
}

// TestStreamOfUpserts: each flush of a writer replaces the rows of those before.
func TestStreamOfUpserts(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	replaced := int64(0)
	w, err := tbl.NewWriter(ctx, people(), WriterOptions{Ingest: IngestOptions{UpsertBy: []string{"id"}}, Flushed: func(in *IngestResult) { replaced += in.Replaced }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b, err := source(valued(i, 1, 2, int64(10+i))).Next(ctx)
		if err == nil {
			err = w.Write(ctx, b)
		}
		if err == nil {
			err = w.Flush(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := smallByID(t, g.load(g.open(nil, nil)), At{}); replaced != 4 || !maps.Equal(got, map[int64]int{1: 2, 2: 2, 10: 0, 11: 1, 12: 2}) {
		t.Errorf("%d rows were replaced: %v", replaced, got)
	}
}

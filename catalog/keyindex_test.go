package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
)

func addKeyIndex(t testing.TB, tbl *Table, spec string) *KeyIndexResult {
	t.Helper()
	done, err := tbl.AddKeyIndex(context.Background(), spec, IndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func updateKeyIndexes(t testing.TB, tbl *Table) *KeyIndexResult {
	t.Helper()
	done, err := tbl.UpdateKeyIndexes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// stateOf is the state of the first key index, nil if it can't be used.
func stateOf(t testing.TB, tbl *Table) *keyindex.State {
	t.Helper()
	x, err := tbl.keyIndexFolder(tbl.cat.client).Open(context.Background(), tbl.schema, tbl.keyIndexDefs()[0])
	if err != nil {
		return nil
	}
	return x.State
}

// TestUpsertByKeyIndex: in a table of two hundred shards of which bounds report nothing, a key index reports which have a hundred keys, or ten thousand, in
// a handful of requests; and that a delivery of new keys has none in the table.
func TestUpsertByKeyIndex(t *testing.T) {
	const shards, each, holders = 200, 40, 5
	type costs struct{ few, many, unique int64 }
	cost := func(indexed bool) (out costs, replaced int64) {
		g := newGround(t)
		tbl := g.create(g.open(nil, nil))
		r := rand.New(rand.NewPCG(3, 9))
		ids := scattered(r, shards*each)
		ingest(t, tbl, IngestOptions{ShardRows: each}, valued(1, ids...))
		if indexed {
			if done := addKeyIndex(t, tbl, "keys:id"); done.Shards != shards || done.StripesRead != shards {
				t.Errorf("%+v", done)
			}
		}
		var keys []int64
		for i := range holders {
			keys = append(keys, ids[i*each*37:][:20]...)
		}
		gets := func(small int, keys []int64, o IngestOptions) (int64, *IngestResult) {
			before := tbl.cat.client.Counters()
			done, err := tbl.Ingest(t.Context(), source(valued(small, keys...)), o)
			if err != nil {
				t.Fatal(err)
			}
			return tbl.cat.client.Counters().Sub(before).Gets, done
		}
		if indexed {
			stats, before := &ScanStats{}, tbl.cat.client.Counters()
			found, err := tbl.Plan(t.Context(), ScanOptions{Where: where(t, fmt.Sprintf("id = %d OR id BETWEEN %d AND %d", ids[7], ids[5000], ids[5000]+1000))})
			if err != nil || len(found.Shards) != 2 || found.PrunedKeys+found.PrunedBounds != shards-2 {
				t.Errorf("%+v, %v", found, err)
			}
			rows, err := found.Count(t.Context(), stats)
			if n := tbl.cat.client.Counters().Sub(before).Gets; rows != 2 || err != nil || n > 12 || stats.ShardsPrunedKeys != found.PrunedKeys {
				t.Errorf("%d rows by %d GETs, %+v, %v", rows, n, stats, err)
			}
		}
		out.unique, _ = gets(3, []int64{1 << 30, 1 << 35, 1 << 39}, IngestOptions{Unique: []string{"id"}})
		few, done := gets(2, keys, IngestOptions{UpsertBy: []string{"id"}})
		out.few = few
		replaced = done.Replaced
		var many []int64
		for len(many) < 10_000 {
			many = append(many, r.Int64N(1<<40))
		}
		many = append(many, ids[0], ids[5000])
		out.many, done = gets(4, many, IngestOptions{UpsertBy: []string{"id"}})
		return out, replaced + done.Replaced
	}
	plain, want := cost(false)
	indexed, got := cost(true)
	t.Logf("GETs: %+v with a key index, %+v without", indexed, plain)
	if got != want || got != holders*20+2 {
		t.Errorf("%d rows were replaced, %d without an index", got, want)
	}
	if indexed.few > 40 || indexed.many > 30 || indexed.unique > 10 || plain.few < 2*shards || plain.many < shards {
		t.Errorf("%+v with a key index, %+v without", indexed, plain)
	}
}

// TestDamagedKeyIndex: whatever happens to the objects of a key index, the rows are the same; the next update makes a whole one of it.
func TestDamagedKeyIndex(t *testing.T) {
	ctx := context.Background()
	for name, harm := range map[string]func(t *testing.T, tbl *Table, state string, level string){
		"none":      func(*testing.T, *Table, string, string) {},
		"no state":  func(t *testing.T, tbl *Table, state, _ string) { lose(t, tbl, state) },
		"no level":  func(t *testing.T, tbl *Table, _, level string) { lose(t, tbl, level) },
		"bad state": func(t *testing.T, tbl *Table, state, _ string) { flipIn(t, tbl, state, 40) },
		"bad level": func(t *testing.T, tbl *Table, _, level string) { flipIn(t, tbl, level, 600) },
		"bad end":   func(t *testing.T, tbl *Table, _, level string) { flipIn(t, tbl, level, -100) },
		"foreign level": func(t *testing.T, tbl *Table, _, level string) {
			g := newGround(t)
			other := g.create(g.open(nil, nil))
			ingest(t, other, IngestOptions{ShardRows: 10}, rows(0, 100))
			addKeyIndex(t, other, "keys:id")
			text, _, err := other.cat.client.ReadAll(ctx, other.VaultFolder()+stateOf(t, other).Levels[0].Object, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			replaceObject(t, tbl, level, text)
		},
		"foreign state": func(t *testing.T, tbl *Table, state, _ string) {
			g := newGround(t)
			other := g.create(g.open(nil, nil))
			ingest(t, other, IngestOptions{ShardRows: 10}, rows(0, 100))
			addKeyIndex(t, other, "keys:id")
			text, _, err := other.cat.client.ReadAll(ctx, other.VaultFolder()+other.keyIndexDefs()[0].Object, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			replaceObject(t, tbl, state, text)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			tbl := g.create(g.open(nil, nil))
			ingest(t, tbl, IngestOptions{ShardRows: 10}, rows(0, 100))
			addKeyIndex(t, tbl, "keys:id")
			state := stateOf(t, tbl)
			if state == nil || len(state.Shards) != 10 || len(state.Levels) != 1 || state.Levels[0].Rows != 100 {
				t.Fatalf("%+v", state)
			}
			harm(t, tbl, tbl.VaultFolder()+tbl.keyIndexDefs()[0].Object, tbl.VaultFolder()+state.Levels[0].Object)
			tbl = g.load(g.open(nil, nil)) // with nothing of it in memory
			found, err := tbl.Verify(ctx, VerifyOptions{})
			if err != nil || found.OK != (name == "none") {
				t.Errorf("verified: %+v, %v", found, err)
			}
			for _, f := range found.Errors {
				if f.Kind != faultIndex || f.Object == "" {
					t.Errorf("%+v", f)
				}
			}
			want := smallByID(t, tbl, At{})
			if out := upsertInto(t, tbl, valued(200, 3, 47, 99, 100)); out.Replaced != 3 {
				t.Errorf("%+v", out)
			}
			want[3], want[47], want[99], want[100] = 200, 200, 200, 200
			if _, err := tbl.Ingest(ctx, source(valued(9, 101, 48)), IngestOptions{Unique: []string{"id"}}); !errors.Is(err, ErrExists) {
				t.Errorf("a key that is there: %v", err)
			}
			if got := smallByID(t, tbl, At{}); !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			done := updateKeyIndexes(t, tbl)
			if state := stateOf(t, tbl); state == nil || int64(len(state.Shards)) != tbl.Describe().Shards || done.Indexes != 1 {
				t.Errorf("after an update: %+v, %+v", done, state)
			}
			if out := upsertInto(t, tbl, valued(7, 3, 48, 300)); out.Replaced != 2 {
				t.Errorf("%+v", out)
			}
			want[3], want[48], want[300] = 7, 7, 7
			if got := smallByID(t, tbl, At{}); !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			verifyAll(t, tbl)
		})
	}
}

func lose(t *testing.T, tbl *Table, url string) {
	t.Helper()
	if err := tbl.cat.client.Delete(context.Background(), url, ""); err != nil {
		t.Fatal(err)
	}
}

func replaceObject(t *testing.T, tbl *Table, url string, data []byte) {
	t.Helper()
	lose(t, tbl, url)
	if err := tbl.cat.client.Put(context.Background(), url, data); err != nil {
		t.Fatal(err)
	}
}

// flipIn changes a byte of an object, from its end if at is negative.
func flipIn(t *testing.T, tbl *Table, url string, at int) {
	t.Helper()
	data, _, err := tbl.cat.client.ReadAll(context.Background(), url, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(data)
	}
	data[at] ^= 0x10
	replaceObject(t, tbl, url, data)
}

// TestKeyIndexFollowsDeletions: a deletion leaves all shards covered, and rows that it marked are none for a later upsert; the index grows by levels
// that are merged.
func TestKeyIndexFollowsDeletions(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{ShardRows: 10, StripeRows: 4}, rows(0, 100))
	if done := addKeyIndex(t, tbl, "keys:id"); done.StripesRead != 30 {
		t.Errorf("%+v", done)
	}
	remove(t, tbl, "id IN (5, 15, 25, 35, 77)")
	x, err := tbl.keyIndexFolder(tbl.cat.client).Open(ctx, tbl.schema, tbl.keyIndexDefs()[0])
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := x.Covers(e); !ok {
			t.Errorf("%s is not covered after a deletion", e.Path)
		}
	}
	if done := updateKeyIndexes(t, tbl); done.Indexes != 0 {
		t.Errorf("nothing to do: %+v", done)
	}
	if out := upsertInto(t, tbl, valued(9, 5, 6, 77)); out.Replaced != 1 {
		t.Errorf("%+v", out)
	}
	levels := 0
	for i := range 40 {
		upsertInto(t, tbl, valued(i, int64(i), int64(1000+i)))
		updateKeyIndexes(t, tbl)
		levels = max(levels, len(stateOf(t, tbl).Levels))
	}
	if levels < 2 || levels > 5 {
		t.Errorf("%d levels", levels)
	}
	if got := smallByID(t, tbl, At{}); len(got) != 100+40 || got[39] != 39 || got[1039] != 39 || got[77] != 9 {
		t.Errorf("%d rows: %v", len(got), got)
	}
	counted(t, tbl)
	verifyAll(t, tbl)
}

// TestKeysOfEveryTypeIndexed: what an index states is what a search states, for keys of each type and of several columns, short and long.
func TestKeysOfEveryTypeIndexed(t *testing.T) {
	ctx := context.Background()
	record := func(i, n int) string {
		text := []string{"", "a", "b\\u0000c", strings.Repeat("x", 250), strings.Repeat("long", 100)}[i%5]
		return fmt.Sprintf(`{"i":%d,"u":%d,"b":%v,"t":%d,"s":"%s","g":"%s","n":%d}`, i-40, uint64(1<<63)+uint64(i), i%2 == 0, year2024+i, text+fmt.Sprint(i/5), guidText(i), n)
	}
	for _, key := range []string{"i", "u", "t", "s", "g", "b,s", "s,i"} {
		g := newGround(t)
		tbl, err := g.open(nil, nil).Create(ctx, tableName, CreateOptions{Schema: everyKey(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		land := func(n int, of ...int) *IngestResult {
			var all []string
			for _, i := range of {
				all = append(all, record(i, n))
			}
			out, err := tbl.Ingest(ctx, &rowSource{schema: everyKey(), left: []string{"[" + strings.Join(all, ",") + "]"}}, IngestOptions{UpsertBy: strings.Split(key, ","), ShardRows: 7, StripeRows: 3})
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			return out
		}
		var all []int
		for i := range 60 {
			all = append(all, i)
		}
		land(1, all...)
		addKeyIndex(t, tbl, "keys:"+key)
		if out := land(2, 17, 3, 200); out.Replaced != 2 || out.Rows != 3 {
			t.Errorf("%s: %+v", key, out)
		}
		updateKeyIndexes(t, tbl)
		if out := land(3, all...); out.Replaced != 60 {
			t.Errorf("%s: all keys: %+v", key, out)
		}
		if n := tbl.Describe().Records; n != 61 {
			t.Errorf("%s: %d rows", key, n)
		}
	}
}

// TestKilledKeyIndexUpdates kills an update at each of its steps: the rows are the same, upserts find them, and the next update covers all.
func TestKilledKeyIndexUpdates(t *testing.T) {
	ctx := context.Background()
	kills, err := crashtest.Walk(func(n int, killer *crashtest.Killer) error {
		g := newGround(t)
		tbl := g.create(g.open(nil, nil))
		ingest(t, tbl, IngestOptions{ShardRows: 5}, rows(0, 30))
		addKeyIndex(t, tbl, "keys:id")
		ingest(t, tbl, IngestOptions{ShardRows: 5}, rows(30, 30))
		killed, err := g.open(killer, nil).Load(ctx, tableName)
		if err != nil {
			return err
		}
		_, _ = killed.UpdateKeyIndexes(ctx)
		step, _ := killer.Killed()
		tbl = g.load(g.open(nil, nil))
		if out := upsertInto(t, tbl, valued(200, 4, 33, 99)); out.Replaced != 2 {
			return fmt.Errorf("killed %s: %+v", step, out)
		}
		updateKeyIndexes(t, tbl)
		if s := stateOf(t, tbl); s == nil || int64(len(s.Shards)) != tbl.Describe().Shards {
			return fmt.Errorf("killed %s: %+v", step, s)
		}
		if out := upsertInto(t, tbl, valued(201, 4, 34)); out.Replaced != 2 || len(smallByID(t, tbl, At{})) != 61 {
			return fmt.Errorf("killed %s: %+v", step, out)
		}
		verifyAll(t, tbl)
		return nil
	})
	if err != nil || kills < 5 {
		t.Fatalf("%d kills, %v", kills, err)
	}
}

// TestCollectKeyIndexes: the objects of a key index stay as long as the table names them, and go when an update or a drop has let them go.
func TestCollectKeyIndexes(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	ingest(t, tbl, IngestOptions{ShardRows: 5}, rows(0, 30))
	addKeyIndex(t, tbl, "keys:id")
	there := func() (keys, levels int) {
		for _, url := range objectsOf(t, tbl) {
			if strings.HasSuffix(url, "-keys.amudai.keys") {
				keys++
			}
			if strings.HasSuffix(url, "-keys.amudai.layer") {
				levels++
			}
		}
		return keys, levels
	}
	gone := func() {
		for range 2 {
			g.clock.Advance(30 * day)
			collect(t, tbl, CollectOptions{Execute: true, MaxDeleteRatio: 1})
		}
	}
	gone()
	if keys, levels := there(); keys != 1 || levels != 1 || stateOf(t, tbl) == nil {
		t.Errorf("%d states, %d levels after a collection", keys, levels)
	}
	ingest(t, tbl, IngestOptions{ShardRows: 5}, rows(30, 30))
	updateKeyIndexes(t, tbl)
	if keys, levels := there(); keys != 2 || levels != 2 {
		t.Errorf("%d states, %d levels", keys, levels)
	}
	gone()
	if keys, levels := there(); keys != 1 || levels != 1 || len(stateOf(t, tbl).Shards) != 12 {
		t.Errorf("%d states, %d levels are left", keys, levels)
	}
	if err := tbl.DropKeyIndex(ctx, "keys:id"); err != nil {
		t.Fatal(err)
	}
	if err := tbl.DropKeyIndex(ctx, "keys:id"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	gone()
	if keys, levels := there(); keys != 0 || levels != 0 {
		t.Errorf("%d states, %d levels are left of a dropped index", keys, levels)
	}
}

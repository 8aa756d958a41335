package compaction

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// keyed is a table whose rows have keys, and what it should hold: a name for each id.
type keyed struct {
	*catalog.Table
	t     *testing.T
	r     *rand.Rand
	model map[int64]string
	// pruned counts the shards that a key index ruled out for scans.
	pruned int
}

func (k *keyed) check(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// ids are some keys, of which each comes once.
func (k *keyed) ids(n int) (out []int64) {
	for range n {
		if id := k.r.Int64N(400); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func (k *keyed) land(step int, ids []int64, o catalog.IngestOptions) (*catalog.IngestResult, error) {
	var out []string
	for _, id := range ids {
		out = append(out, fmt.Sprintf(`{"id":%d,"name":"s%d-%d","tags":null}`, id, step, id))
	}
	o.ShardRows, o.StripeRows = 6, 4
	return k.Ingest(ctx, &source{fields(), "[" + strings.Join(out, ",") + "]"}, o)
}

func (k *keyed) set(step int, ids []int64) {
	for _, id := range ids {
		k.model[id] = fmt.Sprintf("s%d-%d", step, id)
	}
}

// scan holds what a filter selects to the model, with and without indexes.
func (k *keyed) scan(where string, selects func(int64) bool) {
	k.t.Helper()
	for _, ignore := range []bool{false, true} {
		o := catalog.ScanOptions{IgnoreIndexes: ignore}
		if where != "" {
			e, err := filter.Parse(where)
			k.check(err)
			o.Where = e
		}
		var stats catalog.ScanStats
		got := map[int64]string{}
		for b, err := range k.Scan(ctx, o, &stats) {
			k.check(err)
			for i, id := range b.Column(0).(*array.Int64).Int64Values() {
				if _, twice := got[id]; twice {
					k.t.Fatalf("%s: key %d is there twice", where, id)
				}
				got[id] = b.Column(1).ValueStr(i)
			}
		}
		want := 0
		for id, name := range k.model {
			if !selects(id) {
				continue
			}
			if want++; got[id] != name {
				k.t.Fatalf("%s: key %d is %q, want %q (indexes ignored: %v)", where, id, got[id], name, ignore)
			}
		}
		if want != len(got) {
			k.t.Fatalf("%s: %d rows, want %d (indexes ignored: %v)", where, len(got), want, ignore)
		}
		if k.pruned += stats.ShardsPrunedKeys; ignore && stats.ShardsPrunedKeys > 0 {
			k.t.Fatal("a key index was to be ignored")
		}
	}
}

// TestKeyIndexAgainstAMap: whatever a table goes through, upserts, unique rows, deletions, compactions of all modes, updates and drops of its key
// index, rollbacks, its rows are those of a map, and a scan by key finds them.
func TestKeyIndexAgainstAMap(t *testing.T) {
	pruned := 0
	for seed := range uint64(2) {
		g := newGround(t)
		k := &keyed{Table: g.create(), t: t, r: rand.New(rand.NewPCG(seed, 7)), model: map[int64]string{}}
		snapshots, models := []int64{}, []map[int64]string{}
		_, err := k.AddKeyIndex(ctx, "keys:id", catalog.IndexOptions{})
		k.check(err)
		for step := range 30 {
			switch k.r.IntN(9) {
			case 0:
				low := k.r.Int64N(400)
				e, err := filter.Parse(fmt.Sprintf("id BETWEEN %d AND %d", low, low+20))
				k.check(err)
				_, err = k.Delete(ctx, e, catalog.DeleteOptions{})
				k.check(err)
				for id := low; id <= low+20; id++ {
					delete(k.model, id)
				}
			case 1, 2:
				policy := []Policy{{NoPack: true, NoRebuild: true}, {NoConcat: true, NoRebuild: true, PackAll: true}, {RebuildAll: true}}[k.r.IntN(3)]
				_, err := Compact(ctx, k.Table, policy, Options{})
				k.check(err)
			case 3:
				_, err := k.AddKeyIndex(ctx, "keys:id", catalog.IndexOptions{})
				k.check(err)
			case 4:
				_, err := k.UpdateKeyIndexes(ctx)
				k.check(err)
			case 5:
				if k.r.IntN(4) == 0 && k.HasKeyIndexes() {
					k.check(k.DropKeyIndex(ctx, "keys:id"))
				} else if len(snapshots) > 0 && k.r.IntN(2) == 0 {
					i := k.r.IntN(len(snapshots))
					k.check(k.Rollback(ctx, snapshots[i]))
					k.model = maps.Clone(models[i])
					snapshots, models = snapshots[:i], models[:i] // what came after is in no history any more
				}
			case 6:
				ids := k.ids(3)
				_, err := k.land(step, ids, catalog.IngestOptions{Unique: []string{"id"}})
				there := slices.ContainsFunc(ids, func(id int64) bool { _, ok := k.model[id]; return ok })
				if there != errors.Is(err, catalog.ErrExists) || !there && err != nil {
					t.Fatalf("seed %d, step %d: keys %v, there: %v; %v", seed, step, ids, there, err)
				}
				if !there {
					k.set(step, ids)
				}
			default:
				ids, replaced := k.ids(30), int64(0)
				for _, id := range ids {
					if _, ok := k.model[id]; ok {
						replaced++
					}
				}
				out, err := k.land(step, ids, catalog.IngestOptions{UpsertBy: []string{"id"}})
				k.check(err)
				if out.Replaced != replaced {
					t.Fatalf("seed %d, step %d: %d rows were replaced, want %d", seed, step, out.Replaced, replaced)
				}
				k.set(step, ids)
			}
			if k.model = maps.Clone(k.model); k.Head() != 0 {
				snapshots, models = append(snapshots, k.Head()), append(models, maps.Clone(k.model))
			}
			a, b := k.r.Int64N(400), k.r.Int64N(400)
			k.scan("", func(int64) bool { return true })
			k.scan(fmt.Sprintf("id IN (%d, %d)", a, b), func(id int64) bool { return id == a || id == b })
			k.scan(fmt.Sprintf("id BETWEEN %d AND %d OR id = %d", a, a+10, b), func(id int64) bool { return id >= a && id <= a+10 || id == b })
		}
		pruned += k.pruned
		found, err := k.Verify(ctx, catalog.VerifyOptions{})
		if err != nil || !found.OK {
			t.Errorf("seed %d: %+v, %v", seed, found, err)
		}
	}
	if pruned == 0 {
		t.Error("no shard was ruled out by a key index")
	}
}

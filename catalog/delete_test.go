package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

func remove(t *testing.T, tbl *Table, expr string) *DeleteResult {
	t.Helper()
	d, err := tbl.Delete(context.Background(), where(t, expr), DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// counted is the number of live rows by the entries, by the summary of the head and by a scan; they must agree.
func counted(t *testing.T, tbl *Table) int64 {
	t.Helper()
	var entries int64
	for e, err := range tbl.Entries(context.Background(), At{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries += e.Records
	}
	ids, _ := scanIDs(t, tbl, ScanOptions{})
	if d := tbl.Describe(); d.Records != entries || int64(len(ids)) != entries {
		t.Fatalf("%d rows by the summary, %d by the entries, %d by a scan", d.Records, entries, len(ids))
	}
	return entries
}

// verifyAll checks every byte of every live shard.
func verifyAll(t *testing.T, tbl *Table) {
	t.Helper()
	for e, err := range tbl.Entries(context.Background(), At{}) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := verify.Shard(context.Background(), tbl.cat.client, e.Path, verify.Options{})
		if err != nil || !r.OK {
			t.Fatalf("%s: %v %+v", e.Path, err, r)
		}
	}
}

func without(ids []int64, gone func(int64) bool) []int64 {
	return slices.DeleteFunc(slices.Clone(ids), gone)
}

// TestDelete deletes within a shard, whole shards by their bounds and the rest of a marked shard; old snapshots
// keep their rows, data objects stay where they are.
func TestDelete(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{ShardRows: 100, StripeRows: 40}, rows(0, 300))
	first := tbl.Head()
	objects := func() (n int) {
		for _, err := range tbl.cat.client.List(context.Background(), tbl.VaultFolder()+"data/") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	stripes := objects()

	before := tbl.cat.client.Counters()
	if d := remove(t, tbl, "id >= 100"); d.Rows != 200 || d.ShardsRemoved != 2 || d.ShardsOpened != 0 || d.ShardsMarked != 0 {
		t.Errorf("whole shards: %+v", d)
	}
	if now := tbl.cat.client.Counters(); now.Gets-before.Gets > 3 { // the owner's and the job's records
		t.Errorf("%d GETs to delete whole shards", now.Gets-before.Gets)
	}
	if d := remove(t, tbl, "id < 3 OR id = 77"); d.Rows != 4 || d.ShardsMarked != 1 {
		t.Errorf("marked: %+v", d)
	}
	want := without(between(0, 100), func(id int64) bool { return id < 3 || id == 77 })
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, want) {
		t.Errorf("ids %v", ids)
	}
	if d := remove(t, tbl, "small = 5 AND tags IS NOT NULL"); d.Rows != 1 {
		t.Errorf("a second time: %+v", d)
	}
	want = without(want, func(id int64) bool { return id == 5 })
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, want) || counted(t, tbl) != 95 {
		t.Errorf("ids %v", ids)
	}
	if n := objects(); n != stripes+2 {
		t.Errorf("%d stripe objects became %d; two markers were written", stripes, n)
	}
	verifyAll(t, tbl)
	if d := remove(t, tbl, "id >= 0 AND small < 100"); d.ShardsRemoved != 1 || d.Rows != 95 || counted(t, tbl) != 0 {
		t.Errorf("the rest: %+v", d)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{At: At{SnapshotID: first}}); len(ids) != 300 {
		t.Errorf("the first snapshot has %d rows", len(ids))
	}
	if s := tbl.branch(""); s.Summary.Properties[manifest.OperationKey] != jobDelete || s.Summary.Operation != "overwrite" {
		t.Errorf("summary %+v", s.Summary)
	}
	head := tbl.Head()
	if d := remove(t, tbl, "id = 5"); d.Rows != 0 || tbl.Head() != head {
		t.Error("a deletion of nothing makes a snapshot")
	}
}

// TestDeleteNulls: a row is deleted where the filter is true, not where it is unknown, and statistics do not
// take a shard with nulls for one whose rows all match.
func TestDeleteNulls(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, `[{"id":1,"small":7},{"id":2,"small":null},{"id":3,"small":7}]`)
	if d := remove(t, tbl, "small = 7"); d.Rows != 2 {
		t.Errorf("%+v", d)
	}
	if d := remove(t, tbl, "NOT (small = 7)"); d.Rows != 0 {
		t.Errorf("unknown is not true: %+v", d)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{}); !slices.Equal(ids, []int64{2}) || counted(t, tbl) != 1 {
		t.Errorf("ids %v", ids)
	}
	if d := remove(t, tbl, "small IS NULL"); d.Rows != 1 || counted(t, tbl) != 0 {
		t.Errorf("%+v", d)
	}
}

// TestDeleteAfterEvolution deletes by a column that older shards lack.
func TestDeleteAfterEvolution(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	wide := people()
	wide.Fields = append(wide.Fields, &schema.Node{Name: "extra", Basic: schema.Int64, Signed: true, Nullable: true})
	wide.Number()
	if err := tbl.AddColumns(context.Background(), wide); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Ingest(context.Background(), &rowSource{schema: wide, left: []string{`[{"id":100,"extra":1},{"id":101,"extra":2}]`}}, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	if d := remove(t, tbl, "extra IS NULL AND id > 7 OR extra = 2"); d.Rows != 3 {
		t.Errorf("%+v", d)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); len(ids) != 9 || counted(t, tbl) != 9 {
		t.Errorf("ids %v", ids)
	}
	verifyAll(t, tbl)
}

func TestOverwriteTruncateRetention(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	c := g.open(nil, nil)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true, Properties: map[string]string{RetentionProperty: "30d"}})
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-31 * 24 * time.Hour)
	ingest(t, tbl, IngestOptions{CreationTime: old}, rows(0, 10))
	ingest(t, tbl, IngestOptions{}, rows(10, 10))

	o, err := tbl.Overwrite(ctx, where(t, "id = 15"), source(rows(500, 3)), IngestOptions{JobID: "once"})
	if err != nil || o.Rows != 1 || o.RowsAdded != 3 || len(o.Shards) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	if o, err = tbl.Overwrite(ctx, where(t, "id = 15"), source(rows(500, 3)), IngestOptions{JobID: "once"}); err != nil || !o.Before {
		t.Fatalf("delivered again: %+v, %v", o, err)
	}
	if n := counted(t, tbl); n != 22 {
		t.Errorf("%d rows", n)
	}
	if d, err := tbl.ApplyRetention(ctx, DeleteOptions{DryRun: true}); err != nil || d.Rows != 10 || counted(t, tbl) != 22 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := tbl.ApplyRetention(ctx, DeleteOptions{}); err != nil || d.Rows != 10 || d.ShardsRemoved != 1 || d.ShardsOpened != 0 || counted(t, tbl) != 12 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := tbl.Truncate(ctx, DeleteOptions{}); err != nil || d.Rows != 12 || d.ShardsOpened != 0 || counted(t, tbl) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, text := range []string{"30", "-1h", "0d", "d"} {
		_, err := c.Create(ctx, Name{"default", "bad"}, CreateOptions{Schema: people(), Properties: map[string]string{RetentionProperty: text}})
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("retention %q: %v", text, err)
		}
	}
}

// TestDeleteRaces: rows that are appended while a deletion is at work stay, and rows of a shard that was replaced
// meanwhile are found in its successor.
func TestDeleteRaces(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	other := g.open(nil, nil)
	g.create(other)
	ingest(t, g.load(other), IngestOptions{}, rows(0, 20))
	raced := 0
	c := g.open(nil, func(inner icecatalog.Catalog) icecatalog.Catalog {
		return &commitFunc{Catalog: inner, commit: func(real func() error) error {
			if raced++; raced == 1 {
				ingest(t, g.load(other), IngestOptions{}, rows(5, 1))
				remove(t, g.load(other), "id = 7")
			}
			return real()
		}}
	})
	tbl := g.load(c)
	if d := remove(t, tbl, "id = 5 OR id = 8"); d.Rows != 3 && d.Rows != 2 {
		t.Errorf("%+v", d)
	}
	for _, id := range []int64{7, 8} {
		if ids, _ := scanIDs(t, tbl, ScanOptions{Where: where(t, fmt.Sprint("id = ", id))}); len(ids) != 0 {
			t.Errorf("row %d came back", id)
		}
	}
	if _, err := tbl.Delete(ctx, nil, DeleteOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("without a filter: %v", err)
	}
	counted(t, tbl)
}

// TestKilledDeletes kills a deletion and an overwrite at each of their steps: the table is as before or as after,
// and the next run finds nothing in its way.
func TestKilledDeletes(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []string{jobDelete, jobOverwrite} {
		t.Run(kind, func(t *testing.T) {
			act := func(tbl *Table) error {
				if kind == jobDelete {
					_, err := tbl.Delete(ctx, where(t, "id = 3 OR id >= 10"), DeleteOptions{})
					return err
				}
				_, err := tbl.Overwrite(ctx, where(t, "id = 3 OR id >= 10"), source(rows(30, 5)), IngestOptions{})
				return err
			}
			after := without(between(0, 10), func(id int64) bool { return id == 3 })
			if kind == jobOverwrite {
				after = append(after, between(30, 35)...)
			}
			for n := 1; ; n++ {
				g := newGround(t)
				tbl := g.create(g.open(nil, nil))
				ingest(t, tbl, IngestOptions{ShardRows: 10}, rows(0, 20))
				killer := crashtest.KillAt(n)
				killed, err := g.open(killer, nil).Load(ctx, tableName)
				if err != nil {
					t.Fatal(err)
				}
				err = act(killed)
				step, dead := killer.Killed()
				tbl = g.load(g.open(nil, nil))
				ids, _ := scanIDs(t, tbl, ScanOptions{})
				slices.Sort(ids)
				if !slices.Equal(ids, between(0, 20)) && !slices.Equal(ids, after) {
					t.Fatalf("killed %s: %v", step, ids)
				}
				if !dead && err == nil {
					if !slices.Equal(ids, after) {
						t.Fatalf("untouched: %v", ids)
					}
					break
				}
				counted(t, tbl)
				verifyAll(t, tbl)
				if err := act(tbl); err != nil {
					t.Fatalf("after a kill %s: %v", step, err)
				}
				if n > 200 {
					t.Fatal("no end")
				}
			}
		})
	}
}

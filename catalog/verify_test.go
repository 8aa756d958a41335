package catalog

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
)

// swap puts other bytes in the place of an object.
func swap(t *testing.T, c *blobio.Client, url string, change func([]byte) []byte) {
	t.Helper()
	ctx := context.Background()
	old, _, err := c.ReadAll(ctx, url, 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(ctx, url, ""); err != nil {
		t.Fatal(err)
	}
	if changed := change(old); changed != nil {
		if err := c.Put(ctx, url, changed); err != nil {
			t.Fatal(err)
		}
	}
}

func flip(b []byte) []byte {
	b[len(b)/2] ^= 0x40
	return b
}

func remains(b []byte) []byte { return b[:len(b)/2] }

func nothing([]byte) []byte { return nil }

// replaceEntry commits an entry that states other things than the first shard does, under another root of the same
// bytes.
func replaceEntry(t *testing.T, tbl *Table, lie func(*manifest.Entry)) {
	t.Helper()
	ctx := context.Background()
	e := firstEntry(t, tbl)
	j, _, err := tbl.BeginJob(ctx, jobRepair, "", []string{e.Path}, tbl.Outputs)
	if err != nil {
		t.Fatal(err)
	}
	add, err := tbl.entryAnew(ctx, e, tbl.VaultFolder()+j.Attempt()+"-0001.amudai.shard", nil)
	if err != nil {
		t.Fatal(err)
	}
	lie(add[0])
	if _, err := j.commit(ctx, change{Change: manifest.Change{Operation: table.OpOverwrite, Add: add, Remove: []string{e.Path}}}); err != nil {
		t.Fatal(err)
	}
}

func firstEntry(t *testing.T, tbl *Table) *manifest.Entry {
	t.Helper()
	for e, err := range tbl.Entries(context.Background(), At{}) {
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	t.Fatal("no entry")
	return nil
}

func stripeOf(t *testing.T, tbl *Table, root string) string {
	t.Helper()
	objects, _, err := tbl.reach(context.Background(), tbl.cat.client, root, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if strings.HasSuffix(o, ".amudai.stripe") {
			return o
		}
	}
	t.Fatal("no stripe")
	return ""
}

// TestPlantedFaults: each fault is found, under its kind; repair corrects what loses nothing, and drops a shard only
// if told.
func TestPlantedFaults(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		plant func(t *testing.T, tbl *Table)
		kind  FaultKind
		// action of the repair, and rows that are left of 20 by a repair that accepts losses.
		action string
		rows   int64
	}{
		{"a lost root", func(t *testing.T, tbl *Table) { swap(t, tbl.cat.client, firstEntry(t, tbl).Path, nothing) }, faultLost, repairDrop, 10},
		{"a root cut short", func(t *testing.T, tbl *Table) { swap(t, tbl.cat.client, firstEntry(t, tbl).Path, remains) }, faultShard, repairDrop, 10},
		{"a flipped byte of a root", func(t *testing.T, tbl *Table) { swap(t, tbl.cat.client, firstEntry(t, tbl).Path, flip) }, faultShard, "", -1},
		{"a lost stripe", func(t *testing.T, tbl *Table) {
			swap(t, tbl.cat.client, stripeOf(t, tbl, firstEntry(t, tbl).Path), nothing)
		}, faultLost, repairDrop, 10},
		{"a stripe cut short", func(t *testing.T, tbl *Table) {
			swap(t, tbl.cat.client, stripeOf(t, tbl, firstEntry(t, tbl).Path), remains)
		}, faultLost, repairDrop, 10},
		{"a flipped byte of a stripe", func(t *testing.T, tbl *Table) {
			swap(t, tbl.cat.client, stripeOf(t, tbl, firstEntry(t, tbl).Path), flip)
		}, faultShard, "", -1},
		{"a bound that lies", func(t *testing.T, tbl *Table) {
			replaceEntry(t, tbl, func(e *manifest.Entry) {
				col := e.Columns[1]
				col.Upper = col.Lower
				e.Columns[1] = col
			})
		}, faultEntry, repairEntry, 20},
		{"a null count that lies", func(t *testing.T, tbl *Table) {
			replaceEntry(t, tbl, func(e *manifest.Entry) {
				col := e.Columns[1]
				col.Nulls = 3
				e.Columns[1] = col
			})
		}, faultEntry, repairEntry, 20},
		{"a record count that lies", func(t *testing.T, tbl *Table) {
			replaceEntry(t, tbl, func(e *manifest.Entry) { e.Records = 7 })
		}, faultEntry, repairEntry, 20},
		{"a root size that lies", func(t *testing.T, tbl *Table) {
			replaceEntry(t, tbl, func(e *manifest.Entry) { e.RootBytes++ })
		}, faultEntry, repairEntry, 20},
		{"a creation time that lies", func(t *testing.T, tbl *Table) {
			replaceEntry(t, tbl, func(e *manifest.Entry) { e.Created.Last++ })
		}, faultEntry, repairEntry, 20},
		{"a summary that lies", func(t *testing.T, tbl *Table) {
			j, _, err := tbl.BeginJob(ctx, jobRepair, "", nil, tbl.Outputs)
			if err == nil {
				_, err = j.commit(ctx, change{Change: manifest.Change{Operation: table.OpOverwrite,
					Properties: map[string]string{"total-records": "5"}}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}, faultMetadata, "", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			tbl := g.create(g.open(nil, nil))
			ingest(t, tbl, IngestOptions{ShardRows: 10}, rows(0, 20))
			if r, err := tbl.Verify(ctx, VerifyOptions{}); err != nil || !r.OK || r.Shards != 2 || r.ShardsRead != 2 || r.Bytes == 0 {
				t.Fatalf("untouched: %+v, %v", r, err)
			}
			c.plant(t, tbl)
			tbl = g.load(g.open(nil, nil))
			r, err := tbl.Verify(ctx, VerifyOptions{})
			if err != nil || r.OK || !slices.ContainsFunc(r.Errors, func(f TableFault) bool { return f.Kind == c.kind }) {
				t.Fatalf("%+v, %v", r, err)
			}
			if c.rows < 0 {
				return
			}
			fixed, err := tbl.Repair(ctx, RepairOptions{})
			if err != nil || len(fixed.Repairs) != 1 {
				t.Fatalf("%+v, %v", fixed, err)
			}
			lossy := c.action == repairDrop
			if got := fixed.Repairs[0].Action; lossy && got != RepairNone || !lossy && got != c.action {
				t.Fatalf("%+v", fixed)
			}
			if lossy {
				if fixed, err = tbl.Repair(ctx, RepairOptions{AcceptLoss: true}); err != nil || fixed.Repairs[0].Action != repairDrop || fixed.RowsLost != 10 {
					t.Fatalf("%+v, %v", fixed, err)
				}
			}
			if n := counted(t, tbl); n != c.rows {
				t.Errorf("%d rows", n)
			}
			verifyAll(t, tbl)
		})
	}
}

func TestSubsets(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{ShardRows: 2}, rows(0, 40))
	read := 0
	for part := 1; part <= 3; part++ {
		r, err := tbl.Verify(ctx, VerifyOptions{Data: Subset{Part: part, Parts: 3}})
		if err != nil || !r.OK || r.Shards != 20 {
			t.Fatalf("%+v, %v", r, err)
		}
		read += r.ShardsRead
	}
	if read != 20 {
		t.Errorf("three parts read %d of 20 shards", read)
	}
	for text, ok := range map[string]bool{"": true, "1/10": true, "10/10": true, "5%": true, "0/3": false, "4/3": false, "0%": false, "101%": false, "x": false, "1/": false} {
		if err := new(Subset).Set(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

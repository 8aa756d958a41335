package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The rows of required_test.go: one with a null in small, and one without.
const (
	nullSmall = `[{"id":1,"ts":null,"small":null,"tags":null}]`
	someSmall = `[{"id":2,"ts":null,"small":2,"tags":null},{"id":3,"ts":null,"small":3,"tags":null}]`
)

// underWay is a source that does something before its first batch.
type underWay struct {
	rowSource
	first func()
}

func (s *underWay) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if s.first != nil {
		s.first()
		s.first = nil
	}
	return s.rowSource.Next(ctx)
}

// requiring is a table whose column small is about to be required.
type requiring struct {
	*testing.T
	g *ground
	c *Catalog
	// clean is the first snapshot, nulls a later one of main that was rolled back, side the head of branch side; the last two have nulls.
	clean, nulls, side int64
}

func newRequiring(t *testing.T) *requiring {
	t.Helper()
	g, ctx := newGround(t), context.Background()
	r := &requiring{T: t, g: g, c: g.open(nil, nil)}
	tbl := g.create(r.c)
	r.clean = ingest(t, tbl, IngestOptions{}, someSmall).SnapshotID
	if _, err := tbl.CreateBranch(ctx, "side", 0); err != nil {
		t.Fatal(err)
	}
	r.side = ingest(t, tbl, IngestOptions{Ref: "side"}, nullSmall).SnapshotID
	r.nulls = ingest(t, tbl, IngestOptions{}, nullSmall).SnapshotID
	r.must(tbl.Rollback(ctx, r.clean))
	return r
}

func (r *requiring) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// require makes the column required, as another program.
func (r *requiring) require() {
	r.Helper()
	tbl := r.g.load(r.c)
	r.must(tbl.DropRef(context.Background(), "side"))
	r.must(tbl.RequireColumn(context.Background(), "small"))
}

// TestRequiredHoldsForEveryWayIn: whatever makes rows live refuses nulls in a required column, also where the column was required while
// it was under way; once the column is optional, the same goes through.
func TestRequiredHoldsForEveryWayIn(t *testing.T) {
	ctx := context.Background()
	for name, way := range map[string]func(r *requiring, require func()) error{
		"rollback": func(r *requiring, require func()) error {
			tbl := r.g.load(r.c)
			ingest(r.T, tbl, IngestOptions{}, nullSmall)
			dirty := tbl.Head()
			remove(r.T, tbl, "small is null")
			require()
			return r.g.load(r.c).Rollback(ctx, dirty)
		},
		"fast-forward": func(r *requiring, require func()) error {
			require()
			return second(r.g.load(r.c).FastForward(ctx, "main", At{SnapshotID: r.nulls}))
		},
		"fast-forward of a branch": func(r *requiring, require func()) error {
			require()
			tbl := r.g.load(r.c)
			r.must(second(tbl.CreateBranch(ctx, "new", r.clean)))
			return second(tbl.FastForward(ctx, "new", At{SnapshotID: r.nulls}))
		},
		"branch": func(r *requiring, require func()) error {
			require()
			return second(r.g.load(r.c).CreateBranch(ctx, "new", r.nulls))
		},
		"branch, from a table loaded before": func(r *requiring, require func()) error {
			tbl := r.g.load(r.c)
			require()
			return second(tbl.CreateBranch(ctx, "new", r.nulls))
		},
		"cherry-pick": func(r *requiring, require func()) error {
			require()
			return second(r.g.load(r.c).CherryPick(ctx, r.side))
		},
		"job commit": func(r *requiring, require func()) error {
			run := writeShards(r.T, r.g.load(r.c), "1", nullSmall)
			require()
			return second(r.g.load(r.c).CommitShards(ctx, "", "load", []string{run.Run}))
		},
		"ingest under way": func(r *requiring, require func()) error {
			return second(r.g.load(r.c).Ingest(ctx, &underWay{rowSource{schema: people(), left: []string{nullSmall}}, require}, IngestOptions{}))
		},
		"upsert under way": func(r *requiring, require func()) error {
			return second(r.g.load(r.c).Ingest(ctx, &underWay{rowSource{schema: people(), left: []string{nullSmall}}, require}, IngestOptions{UpsertBy: []string{"id"}}))
		},
		"overwrite under way": func(r *requiring, require func()) error {
			return second(r.g.load(r.c).Overwrite(ctx, where(r.T, "id = 2"), &underWay{rowSource{schema: people(), left: []string{nullSmall}}, require}, IngestOptions{}))
		},
		"register": func(r *requiring, require func()) error {
			url := "mem://" + r.g.bucket + "/elsewhere/a.amudai.shard"
			writeShard(r.T, r.c, url, people(), shardfmt.WriterOptions{}, nullSmall)
			require()
			return second(r.g.load(r.c).Register(ctx, []string{url}, RegisterOptions{}))
		},
		"register of copies": func(r *requiring, require func()) error {
			url := "mem://" + r.g.bucket + "/elsewhere/b.amudai.shard"
			writeShard(r.T, r.c, url, people(), shardfmt.WriterOptions{}, nullSmall)
			require()
			return second(r.g.load(r.c).Register(ctx, []string{url}, RegisterOptions{Copy: true}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequiring(t)
			err := way(r, r.require)
			// A delivery by key refuses any change of the columns.
			if told := errors.Is(err, manifest.ErrSchema) && strings.Contains(err.Error(), `"small"`); !told && !errors.Is(err, ErrConflict) {
				t.Errorf("required: %v", err)
			}
			tbl := r.g.load(r.c)
			for _, ref := range tbl.Refs() {
				if ids, _ := scanIDs(t, tbl, ScanOptions{At: At{Ref: ref.Name}, Where: where(t, "small is null")}); len(ids) > 0 {
					t.Errorf("%s has rows %v with nulls", ref.Name, ids)
				}
			}
			r = newRequiring(t)
			if err := way(r, func() {}); err != nil {
				t.Errorf("optional: %v", err)
			}
		})
	}
}

// TestRequireFindsBranchesMadeMeanwhile: a branch that is made while RequireColumn looks at the others is looked at too.
func TestRequireFindsBranchesMadeMeanwhile(t *testing.T) {
	r, ctx := newRequiring(t), context.Background()
	tbl := r.g.load(r.c)
	r.must(tbl.DropRef(ctx, "side"))
	stale := r.g.load(r.c)
	r.must(second(tbl.CreateBranch(ctx, "new", r.nulls)))
	if err := stale.RequireColumn(ctx, "small"); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// TestRequiredFromElsewhere: of a shard from elsewhere whose counts report nothing the values are looked at, below structs too.
func TestRequiredFromElsewhere(t *testing.T) {
	ctx := context.Background()
	for i, c := range []struct {
		table, shard, rows string
		refused            string
	}{
		{"id: Int64 not null", "id: Int64", `[{"id":1},{"id":2}]`, ""},
		{"id: Int64 not null", "id: Int64", `[{"id":1},{"id":null}]`, `"id" is required`},
		{"s: Struct<a: Int64 not null, b: String>", "s: Struct<a: Int64, b: String>", `[{"s":{"a":1,"b":null}},{"s":null}]`, ""},
		{"s: Struct<a: Int64 not null, b: String>", "s: Struct<a: Int64, b: String>", `[{"s":{"a":1,"b":null}},{"s":{"a":null,"b":"x"}}]`, `row 1 (from 0) is null in "s.a"`},
		{"s: Struct<a: Int64 not null, b: String>", "s: Struct<b: String>", `[{"s":{"b":"x"}}]`, `row 0 (from 0) is null in "s.a"`},
		{"l: List<Struct<k: Struct<x: Int64 not null> not null>>", "l: List<Struct<k: Struct<x: Int64>>>", `[{"l":[null,{"k":{"x":1}}]},{"l":null}]`, ""},
		{"l: List<Struct<k: Struct<x: Int64 not null> not null>>", "l: List<Struct<k: Struct<x: Int64>>>", `[{"l":[]},{"l":[{"k":{"x":1}},{"k":{"x":null}}]}]`, `row 1 (from 0) is null in "l.item.k.x"`},
		{"m: Map<String, Int64 not null>", "m: Map<String, Int64>", `[{"m":[{"key":"k","value":null}]}]`, `in "m.value"`},
	} {
		g := newGround(t)
		cat := g.open(nil, nil)
		text, err := schema.Parse(c.table)
		if err != nil {
			t.Fatal(err)
		}
		tbl, err := cat.Create(ctx, tableName, CreateOptions{Schema: text, CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		url := fmt.Sprintf("mem://%s/elsewhere/%d.amudai.shard", g.bucket, i)
		own, err := schema.Parse(c.shard)
		if err != nil {
			t.Fatal(err)
		}
		writeShard(t, cat, url, own, shardfmt.WriterOptions{}, c.rows)
		_, err = tbl.Register(ctx, []string{url}, RegisterOptions{})
		if (err == nil) != (c.refused == "") || err != nil && (!errors.Is(err, manifest.ErrSchema) || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s of %s: %v, want %q", c.rows, c.table, err, c.refused)
		}
	}
}

// TestChangesOfRequiredColumns: rows from before a column was required may be null there.
func TestChangesOfRequiredColumns(t *testing.T) {
	r, ctx := newRequiring(t), context.Background()
	tbl := r.g.load(r.c)
	ingest(t, tbl, IngestOptions{}, nullSmall)
	remove(t, tbl, "small is null")
	r.require()
	r.must(tbl.Refresh(ctx))
	c, err := tbl.Changes(r.clean, 0)
	r.must(err)
	nullable := map[string]bool{}
	for _, f := range c.Fields() {
		nullable[f.Name] = f.Nullable
	}
	if !nullable["small"] || nullable[ChangeTypeColumn] || tbl.Schema().Fields[2].Nullable {
		t.Errorf("nullable: %v", nullable)
	}
}

// TestRequiredColumnAfterFirstRows: a column that is added as required to an empty table is not added to one that has got rows meanwhile.
func TestRequiredColumnAfterFirstRows(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	g.create(c)
	column := typed(t, "Int64")
	column.Nullable = false
	stale := g.load(c)
	ingest(t, g.load(c), IngestOptions{}, someSmall)
	if err := stale.AddColumn(ctx, "more", column); !errors.Is(err, ErrInvalid) {
		t.Errorf("after the first rows: %v", err)
	}
	g = newGround(t)
	c = g.open(nil, nil)
	g.create(c)
	_, err := g.load(c).Ingest(ctx, &underWay{rowSource{schema: people(), left: []string{someSmall}}, func() {
		if err := g.load(c).AddColumn(ctx, "more", column); err != nil {
			t.Error(err)
		}
	}}, IngestOptions{})
	if !errors.Is(err, manifest.ErrSchema) {
		t.Errorf("before the first rows: %v", err)
	}
}

// TestRequiredLaterThanShards: snapshots from before a column was added and required are verified and read as changes.
func TestRequiredLaterThanShards(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 2))
	first := tbl.Head()
	ingest(t, tbl, IngestOptions{}, rows(2, 2))
	if err := tbl.AddColumn(ctx, "more", typed(t, "Int64")); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Truncate(ctx, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := tbl.RequireColumn(ctx, "more"); err != nil {
		t.Fatal(err)
	}
	if v, err := tbl.Verify(ctx, VerifyOptions{}); err != nil || len(v.Errors) > 0 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	changes, err := tbl.Changes(first, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for b, err := range changes.Run(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n += b.NumRows()
	}
	if n != 6 {
		t.Errorf("%d changes, want 6", n)
	}
}

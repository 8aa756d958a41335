package catalog

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// grownUp has every kind of column that evolution touches.
func grownUp() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "id", Basic: schema.Int32, Signed: true, Nullable: true},
		{Name: "temp", Basic: schema.Float32, Nullable: true},
		{Name: "old", Basic: schema.String, Nullable: true},
		{Name: "place", Basic: schema.Struct, Nullable: true, Children: []*schema.Node{
			{Name: "x", Basic: schema.Int32, Signed: true, Nullable: true},
			{Name: "y", Basic: schema.String, Nullable: true},
		}},
		{Name: "seen", Basic: schema.List, Nullable: true, Children: []*schema.Node{{Name: "item", Basic: schema.Int32, Signed: true, Nullable: true}}},
	}}
	s.Number()
	return s
}

// evolve changes the schema as another engine would.
func evolve(t *testing.T, tbl *Table, change func(u *table.UpdateSchema)) {
	t.Helper()
	ctx := context.Background()
	tx := tbl.ice.NewTransaction()
	u := tx.UpdateSchema(true, false)
	change(u)
	if err := u.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := tbl.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
}

// scanJSON reads rows as JSON objects with sorted keys.
func scanJSON(t *testing.T, tbl *Table, o ScanOptions) []string {
	t.Helper()
	var out []string
	for b, err := range tbl.Scan(context.Background(), o, nil) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := array.RecordToStructArray(b).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var rows []map[string]any
		if err := json.Unmarshal(text, &rows); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			line, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(line))
		}
	}
	return out
}

// TestSchemaEvolution: columns renamed, dropped, widened, reordered and added, by field id, in shards of all
// ages; the scan gives one schema.
func TestSchemaEvolution(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: grownUp(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	first := &rowSource{schema: grownUp(), left: []string{
		`[{"id":-1,"temp":1.5,"old":"a","place":{"x":7,"y":"p"},"seen":[1,null]},{"id":2,"temp":null,"old":null,"place":null,"seen":null}]`}}
	if _, err := tbl.Ingest(ctx, first, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	old := tbl.Head()
	evolve(t, tbl, func(u *table.UpdateSchema) {
		u.UpdateColumn([]string{"id"}, table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Val: iceberg.PrimitiveTypes.Int64, Valid: true}}).
			DeleteColumn([]string{"old"})
	})
	evolve(t, tbl, func(u *table.UpdateSchema) {
		u.RenameColumn([]string{"id"}, "num")
	})
	evolve(t, tbl, func(u *table.UpdateSchema) {
		wide := func(typ iceberg.Type) table.ColumnUpdate {
			return table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Val: typ, Valid: true}}
		}
		u.UpdateColumn([]string{"temp"}, wide(iceberg.PrimitiveTypes.Float64)).
			UpdateColumn([]string{"place", "x"}, wide(iceberg.PrimitiveTypes.Int64)).
			RenameColumn([]string{"place", "y"}, "why").
			UpdateColumn([]string{"seen", "element"}, wide(iceberg.PrimitiveTypes.Int64)).
			AddColumn([]string{"place", "z"}, iceberg.PrimitiveTypes.String, "", false, nil).
			AddColumn([]string{"old"}, iceberg.PrimitiveTypes.Int64, "", false, nil). // a new column of a dropped one's name
			MoveFirst([]string{"temp"})
	})
	second := &rowSource{schema: tbl.Schema(), left: []string{
		`[{"temp":2.5,"num":9000000000,"place":{"x":8000000000,"why":"q","z":"r"},"seen":[5000000000],"old":4}]`}}
	if _, err := tbl.Ingest(ctx, second, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	tbl = g.load(g.open(nil, nil))
	rows := scanJSON(t, tbl, ScanOptions{Ordered: true})
	want := []string{
		`{"num":-1,"old":null,"place":{"why":"p","x":7,"z":null},"seen":[1,null],"temp":1.5}`,
		`{"num":2,"old":null,"place":null,"seen":null,"temp":null}`,
		`{"num":9000000000,"old":4,"place":{"why":"q","x":8000000000,"z":"r"},"seen":[5000000000],"temp":2.5}`,
	}
	if !slices.Equal(rows, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	for filter, n := range map[string]int{
		"num = -1": 1, "num > 5": 1, "temp = 1.5": 1, "place.x = 7": 1, "place.why = 'p'": 1, "place.z IS NULL": 2, "old = 4": 1, "old IS NULL": 2,
		"num = -1 OR old = 4": 2,
	} {
		got := 0
		for b, err := range tbl.Scan(ctx, ScanOptions{Select: []string{"place.why"}, Where: where(t, filter)}, nil) {
			if err != nil {
				t.Fatalf("%s: %v", filter, err)
			}
			got += int(b.NumRows())
		}
		if got != n {
			t.Errorf("%s: %d rows, want %d", filter, got, n)
		}
	}
	names := []string{}
	for _, f := range tbl.Schema().Fields {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"temp", "num", "place", "seen", "old"}) {
		t.Errorf("columns %v", names)
	}
	// The state of before is read by the schema of before.
	plan, err := tbl.Plan(ctx, ScanOptions{At: At{SnapshotID: old}, Where: where(t, "old = 'a'")})
	if err != nil || len(plan.Shards) != 1 || plan.Fields()[0].Name != "id" {
		t.Errorf("%+v, %v", plan, err)
	}
}

// TestRefs: branches and tags name states of a table.
func TestRefs(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	_, _, err := tbl.cat.ice.CommitTable(ctx, tableName.identifier(), nil,
		[]table.Update{table.NewSetSnapshotRefUpdate("q1", tbl.Head(), table.TagRef, 0, 0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(5, 5))
	if ids, _ := scanIDs(t, tbl, ScanOptions{At: At{Ref: "q1"}}); len(ids) != 5 {
		t.Errorf("%d rows at the tag", len(ids))
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{At: At{Ref: "main"}}); len(ids) != 10 {
		t.Errorf("%d rows at the head", len(ids))
	}
	if h := tbl.History(); !slices.Equal(h[0].Refs, []string{"q1"}) {
		t.Errorf("refs %v", h[0].Refs)
	}
}

// TestRenamedColumnsPrune: shards that were written under a column's old name are pruned by its new one as before, also where another
// column has the old name now.
func TestRenamedColumnsPrune(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{StripeRows: 10}, rows(0, 40))
	asked := func(expr string) (int64, ScanStats) {
		t.Helper()
		var stats ScanStats
		before := tbl.cat.client.Counters()
		for _, err := range tbl.Scan(ctx, ScanOptions{Where: where(t, expr)}, &stats) {
			if err != nil {
				t.Fatal(err)
			}
		}
		return tbl.cat.client.Counters().Sub(before).Gets, stats
	}
	asked("id >= 35") // what is cached is there
	wantGets, want := asked("id >= 35")
	if want.StripesPruned != 3 || want.RowsMatched != 5 {
		t.Fatalf("%+v", want)
	}
	if err := tbl.RenameColumn(ctx, "id", "number"); err != nil {
		t.Fatal(err)
	}
	if err := tbl.AddColumn(ctx, "id", typed(t, "Int64")); err != nil {
		t.Fatal(err)
	}
	if n, got := asked("number >= 35"); n != wantGets || got != want {
		t.Errorf("after the renaming: %d GETs, %+v; before: %d, %+v", n, got, wantGets, want)
	}
	if _, got := asked("id IS NULL AND NOT (number < 5 OR number IN (9))"); got.RowsMatched != 34 {
		t.Errorf("with the column that has the old name: %+v", got)
	}
	if d := remove(t, tbl, "number BETWEEN 30 AND 34"); d.Rows != 5 {
		t.Errorf("%d rows deleted", d.Rows)
	}
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// typed is a node of a type, nullable unless the text states otherwise.
func typed(t *testing.T, text string) *schema.Node {
	t.Helper()
	s, err := schema.Parse("c: " + text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Fields[0]
}

// oneShard ingests one batch of a source of its own schema.
func oneShard(t *testing.T, tbl *Table, text, json string) {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Ingest(context.Background(), &rowSource{schema: s, left: []string{json}}, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
}

// scanText reads all rows in order, each as its columns' text.
func scanText(t *testing.T, tbl *Table, o ScanOptions) (out []string) {
	t.Helper()
	o.Ordered = true
	for b, err := range tbl.Scan(context.Background(), o, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			var row []string
			for c, a := range b.Columns() {
				row = append(row, b.ColumnName(c)+"="+a.ValueStr(i))
			}
			out = append(out, strings.Join(row, " "))
		}
	}
	return out
}

const evolving = "id: Int32, s: Struct<x: Int8, y: String>, l: List<Struct<k: Int32>>, name: String"

// TestAlter: shards of all ages give the current columns; a snapshot has those of its time.
func TestAlter(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	s, err := schema.Parse(evolving)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: s, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	oneShard(t, tbl, evolving, `[{"id":1,"s":{"x":5,"y":"a"},"l":[{"k":7}],"name":"n"}]`)
	old := tbl.Head()
	before := scanText(t, tbl, ScanOptions{})
	for name, err := range map[string]error{"0": nil,
		"1 add member":      tbl.AddColumn(ctx, "s.z", typed(t, "DateTime")),
		"2 add to a list":   tbl.AddColumn(ctx, "l.item.m", typed(t, "String")),
		"3 widen a member":  tbl.WidenColumn(ctx, "s.x", typed(t, "Int16")),
		"4 widen in a list": tbl.WidenColumn(ctx, "l.item.k", typed(t, "Int64")),
		"5 widen":           tbl.WidenColumn(ctx, "id", typed(t, "Int64")),
		"6 rename a member": tbl.RenameColumn(ctx, "s.y", "why"),
		"7 drop":            tbl.DropColumn(ctx, "name"),
		"8 add again":       tbl.AddColumn(ctx, "name", typed(t, "Float64")),
		"9 move":            tbl.MoveColumn(ctx, "name", ""),
		"a move after":      tbl.MoveColumn(ctx, "s.z", "s.x"),
		"b comment":         tbl.CommentColumn(ctx, "id", "which one"),
	} {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	tbl = g.load(g.open(nil, nil))
	oneShard(t, tbl, "name: Float64, id: Int64, s: Struct<x: Int16, z: DateTime, why: String>, l: List<Struct<k: Int64, m: String>>",
		`[{"name":1.5,"id":3000000000,"s":{"x":300,"z":null,"why":"b"},"l":[{"k":9,"m":"q"}]}]`)
	got := scanText(t, tbl, ScanOptions{})
	want := []string{
		`name=(null) id=1 s={"why":"a","x":5,"z":null} l=[{"k":7,"m":null}]`,
		`name=1.5 id=3000000000 s={"why":"b","x":300,"z":null} l=[{"k":9,"m":"q"}]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if then := scanText(t, tbl, ScanOptions{At: At{SnapshotID: old}}); !slices.Equal(then, before) {
		t.Errorf("the old snapshot reads\n%s\nand read\n%s", then, before)
	}
	if rows := scanText(t, tbl, ScanOptions{Where: where(t, "s.why = 'a' AND id < 2 AND name IS NULL")}); len(rows) != 1 {
		t.Errorf("filter over both ages: %v", rows)
	}
	if d := tbl.Describe(); d.Columns[0].Name != "name" || d.Columns[1].Doc != "which one" || d.Columns[1].Type != "Int64" {
		t.Errorf("columns %+v", d.Columns)
	}
}

func TestAlterRefusals(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 3)) // the first list of tags is null
	if err := tbl.Repartition(ctx, []string{"day(ts)"}); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(tbl.ice.Schema())
	for name, c := range map[string]struct {
		err  error
		want error
		says string
	}{
		"narrower":          {tbl.WidenColumn(ctx, "id", typed(t, "Int32")), ErrInvalid, "Int32"},
		"other type":        {tbl.WidenColumn(ctx, "id", typed(t, "String")), ErrInvalid, "String"},
		"unknown":           {tbl.DropColumn(ctx, "idd"), ErrInvalid, "id"},
		"partition column":  {tbl.DropColumn(ctx, "ts"), ErrInvalid, "ts_day"},
		"name taken":        {tbl.RenameColumn(ctx, "id", "ts"), ErrExists, "ts"},
		"added twice":       {tbl.AddColumn(ctx, "id", typed(t, "Int64")), ErrExists, "id"},
		"not nullable":      {tbl.AddColumn(ctx, "n", typed(t, "Int64 not null")), ErrInvalid, "nullable"},
		"member of no one":  {tbl.AddColumn(ctx, "id.x", typed(t, "Int64")), ErrInvalid, "struct"},
		"element dropped":   {tbl.DropColumn(ctx, "tags.item"), ErrInvalid, "item"},
		"nulls":             {tbl.RequireColumn(ctx, "tags"), ErrInvalid, "row 0 of"},
		"moved after child": {tbl.MoveColumn(ctx, "id", "tags.item"), ErrInvalid, "same struct"},
		"partition":         {tbl.Repartition(ctx, []string{"nope"}), ErrInvalid, "nope"},
	} {
		if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	if after := fmt.Sprint(g.load(g.open(nil, nil)).ice.Schema()); after != before {
		t.Errorf("the schema changed:\n%s\n%s", before, after)
	}
	if err := tbl.RequireColumn(ctx, "id"); err != nil {
		t.Fatal(err)
	}
	if tbl.Describe().Columns[0].Nullable {
		t.Error("id is still nullable")
	}
	if err := tbl.OptionalColumn(ctx, "id"); err != nil || !tbl.Describe().Columns[0].Nullable {
		t.Errorf("id is not nullable: %v", err)
	}
}

// TestRepartition: shards of both specs live together, and each is pruned by its own.
func TestRepartition(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 48))
	if err := tbl.Repartition(ctx, []string{"day(ts)"}); err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(48, 48))
	if err := tbl.Repartition(ctx, []string{"bucket(4, id)", "day(ts)"}); err != nil {
		t.Fatal(err)
	}
	if err := tbl.Repartition(ctx, []string{"day(ts)"}); err != nil {
		t.Fatal(err)
	}
	if specs := tbl.ice.Metadata().PartitionSpecs(); len(specs) != 3 || tbl.ice.Metadata().DefaultPartitionSpec() != 1 {
		t.Errorf("%d specs, the default is %d", len(specs), tbl.ice.Metadata().DefaultPartitionSpec())
	}
	ids, stats := scanIDs(t, tbl, ScanOptions{Where: where(t, "ts > '2024-01-04T00:30:00Z'")})
	slices.Sort(ids)
	if !slices.Equal(ids, between(73, 96)) || stats.ShardsTotal != 3 || stats.ShardsPrunedPartition != 1 || stats.ShardsPrunedBounds != 1 {
		t.Errorf("%v, %+v", ids, stats)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{}); len(ids) != 96 {
		t.Errorf("%d rows", len(ids))
	}
}

// TestPartitionNames: a partition field never gets a name that Iceberg refuses, which is that of another column or of
// another field of the partition.
func TestPartitionNames(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	s, err := schema.Parse("id: Int64, name: String, name_trunc: String, s: Struct<m: Int64>, s_m: Int64, s_m_2: Int64")
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := g.open(nil, nil).Create(ctx, tableName, CreateOptions{Schema: s, CreateNamespace: true, Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	names := func(fields ...string) (out []string) {
		t.Helper()
		if err := tbl.Repartition(ctx, fields); err != nil {
			t.Fatalf("%v: %v", fields, err)
		}
		spec := tbl.ice.Metadata().PartitionSpec()
		for _, f := range spec.Fields() {
			out = append(out, f.Name)
		}
		return out
	}
	expect := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("the fields are called %q, want %q", got, want)
		}
	}
	expect(names("truncate(3, name)"), "name_trunc_2")
	expect(names("s.m"), "s_m_3")
	expect(names("s.m", "s_m"), "s_m_3", "s_m")
	expect(names("bucket(2, id)", "bucket(3, id)"), "id_bucket", "id_bucket_2")
	// A column that has the name of a field of an earlier partition.
	if err := tbl.RenameColumn(ctx, "id", "number"); err != nil {
		t.Fatal(err)
	}
	later, err := schema.Parse("id: String")
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.AddColumns(ctx, later); err != nil {
		t.Fatal(err)
	}
	expect(names("number"), "id") // the partition of before, as it was
	expect(names("number", "id"), "number", "id")
	// Two earlier fields that were never in one partition.
	expect(names("bucket(3, number)"), "id_bucket_2")
	expect(names("bucket(2, number)", "bucket(3, number)"), "id_bucket", "id_bucket_2")
}

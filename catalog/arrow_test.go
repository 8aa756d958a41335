package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// reader gives records of a schema, written as JSON.
func reader(t *testing.T, s *arrow.Schema, text string) array.RecordReader {
	t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := array.NewRecordReader(s, []arrow.RecordBatch{b})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// everyday are types as other Arrow programs have them.
var everyday = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "us", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	{Name: "s", Type: arrow.FixedWidthTypes.Timestamp_s, Nullable: true},
	{Name: "price", Type: &arrow.Decimal128Type{Precision: 12, Scale: 3}, Nullable: true},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "blob", Type: arrow.BinaryTypes.Binary, Nullable: true},
	{Name: "took", Type: arrow.FixedWidthTypes.Duration_ms, Nullable: true},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
	{Name: "ratio", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "sure", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
}, nil)

const everydayRows = `[
	{"id": 1, "us": "2024-05-01T10:00:00.123456Z", "s": "1969-12-31T23:59:59Z", "price": "-12.345", "name": "a", "blob": "AAE=",
	 "took": "1500ms", "tags": ["x", null], "ratio": 0.5, "sure": true},
	{"id": 2, "us": null, "s": null, "price": null, "name": null, "blob": null, "took": null, "tags": null, "ratio": null, "sure": null}]`

// TestArrowInAndOut: ordinary Arrow records go in, and the very same come out.
func TestArrowInAndOut(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl, err := c.Create(ctx, Name{Table: "everyday"}, CreateOptions{Arrow: everyday, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := tbl.Append(ctx, reader(t, everyday, everydayRows), IngestOptions{}); err != nil || done.Rows != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if tbl, err = c.Load(ctx, Name{Table: "everyday"}); err != nil { // what Read knows must be in the catalog
		t.Fatal(err)
	}
	var stats ScanStats
	rows, err := tbl.Read(ctx, ReadOptions{Stats: &stats})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	if !rows.Schema().Equal(everyday) {
		t.Errorf("schema %v, want %v", rows.Schema(), everyday)
	}
	want := reader(t, everyday, everydayRows)
	want.Next()
	if !rows.Next() || !array.RecordEqual(want.RecordBatch(), rows.RecordBatch()) {
		t.Fatalf("rows %v, %v, want %v", rows.RecordBatch(), rows.Err(), want.RecordBatch())
	}
	if rows.Next() || rows.Err() != nil {
		t.Errorf("more rows, or %v", rows.Err())
	}
	if stats.RowsMatched != 2 {
		t.Errorf("stats %+v", stats)
	}

	raw, err := tbl.Read(ctx, ReadOptions{Canonical: true})
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Release()
	if got := raw.Schema().Field(1).Type; !arrow.TypeEqual(got, arrowtype.DateTime) {
		t.Errorf("canonical timestamps are %v", got)
	}
}

// TestAppendConverts: the reader's types need not be those of the table; what can't be held is refused, and then
// nothing is added.
func TestAppendConverts(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl, err := c.Create(ctx, Name{Table: "everyday"}, CreateOptions{Arrow: everyday, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string, typ arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: name, Type: typ, Nullable: true}}, nil)
	}
	ns := field("us", &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"})
	if _, err := tbl.Append(ctx, reader(t, ns, `[{"us": "2024-05-01T10:00:00Z"}]`), IngestOptions{}); err != nil {
		t.Error(err)
	}
	wide := field("id", arrow.PrimitiveTypes.Int64)
	if _, err := tbl.Append(ctx, reader(t, wide, `[{"id": 7}]`), IngestOptions{}); err != nil {
		t.Error(err)
	}
	head := tbl.Head()
	var row *arrowtype.RowError
	if _, err := tbl.Append(ctx, reader(t, wide, `[{"id": 7}, {"id": 5000000000}]`), IngestOptions{}); !errors.As(err, &row) || row.Row != 1 {
		t.Errorf("a number that is too large: %v", err)
	}
	if _, err := tbl.Append(ctx, reader(t, field("other", arrow.PrimitiveTypes.Int64), `[{"other": 7}]`), IngestOptions{}); !errors.Is(err, arrowtype.ErrColumn) {
		t.Errorf("an unknown column: %v", err)
	}
	if tbl = loadNamed(t, c, "everyday"); tbl.Head() != head {
		t.Error("a refused append has changed the table")
	}
}

func loadNamed(t *testing.T, c *Catalog, name string) *Table {
	t.Helper()
	tbl, err := c.Load(context.Background(), Name{Table: name})
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// TestNothingIsAnError: what is missing is named, and no panic.
func TestNothingIsAnError(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	for name, call := range map[string]func() error{
		"no schema": func() error { _, err := c.Create(ctx, Name{Table: "x"}, CreateOptions{}); return err },
		"two schemas": func() error {
			_, err := c.Create(ctx, Name{Table: "x"}, CreateOptions{Schema: people(), Arrow: everyday})
			return err
		},
		"no name":   func() error { _, err := c.Create(ctx, Name{}, CreateOptions{Schema: people()}); return err },
		"no reader": func() error { _, err := tbl.Append(ctx, nil, IngestOptions{}); return err },
		"no source": func() error { _, err := tbl.Ingest(ctx, nil, IngestOptions{}); return err },
		"less than 0": func() error {
			_, err := tbl.Read(ctx, ReadOptions{ScanOptions: ScanOptions{Limit: -1}})
			return err
		},
		"a path": func() error {
			_, err := c.Create(ctx, Name{Table: "../x"}, CreateOptions{Schema: people()})
			return err
		},
	} {
		if err := call(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLimit: none, no rows, some rows, more than there are; the reading may end early.
func TestLimit(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	for i := range 3 {
		ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
	}
	for _, l := range []struct {
		limit, want int64
	}{{0, 30}, {NoRows, 0}, {1, 1}, {15, 15}, {99, 30}} {
		r, err := tbl.Read(ctx, ReadOptions{ScanOptions: ScanOptions{Limit: l.limit}})
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		for r.Next() {
			got += r.RecordBatch().NumRows()
		}
		r.Release()
		if got != l.want || r.Err() != nil {
			t.Errorf("%d rows, want %d, %v", got, l.want, r.Err())
		}
	}
	r, err := tbl.Read(ctx, ReadOptions{})
	if err != nil || !r.Next() {
		t.Fatal(err)
	}
	r.Release() // two shards are unread; nothing may hang or leak
}

// TestRegisterWaitsOnce: shards are opened side by side, so twelve of them take no longer a chain of requests than two.
func TestRegisterWaitsOnce(t *testing.T) {
	depth := func(shards int) int64 {
		g, ctx := newGround(t), context.Background()
		c := g.open(nil, nil)
		tbl := g.create(c)
		var urls []string
		for i := range shards {
			url := fmt.Sprintf("mem://%s/elsewhere/%d.amudai.shard", g.bucket, i)
			writeShard(t, c, url, people(), shardfmt.WriterOptions{}, rows(i, 1))
			urls = append(urls, url)
		}
		before := c.Client().Counters()
		if _, err := tbl.Register(ctx, urls, RegisterOptions{}); err != nil {
			t.Fatal(err)
		}
		return c.Client().Counters().Sub(before).Depth
	}
	if two, twelve := depth(2), depth(12); two != twelve {
		t.Errorf("chain of %d requests for two shards, %d for twelve", two, twelve)
	}
}

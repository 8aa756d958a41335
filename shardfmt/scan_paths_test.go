package shardfmt_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// pathColumns are columns of all types and of the ways in which blocks are stored, with a value for each row; "" is null.
var pathColumns = []struct {
	name, typ string
	value     func(r *rand.Rand, row int) string
}{
	{"i8", "Int8", func(r *rand.Rand, _ int) string { return fmt.Sprint(r.IntN(256) - 128) }},
	{"u16", "UInt16", func(r *rand.Rand, _ int) string { return fmt.Sprint(r.IntN(1 << 16)) }},
	{"rising", "Int32", func(_ *rand.Rand, row int) string { return fmt.Sprint(3 * row) }},
	{"small", "Int64", sometimesNull(10, func(r *rand.Rand, _ int) string { return fmt.Sprint(r.IntN(1000)) })},
	{"runs", "Int64", func(_ *rand.Rand, row int) string { return fmt.Sprint(row / 150 * 7919 % 50) }},
	{"wide", "UInt64", func(r *rand.Rand, _ int) string { return fmt.Sprint(r.Uint64()) }},
	{"same", "Int32", func(*rand.Rand, int) string { return "7" }},
	{"none", "Int64", func(*rand.Rand, int) string { return "" }},
	{"at", "DateTime", func(r *rand.Rand, row int) string {
		return fmt.Sprintf("%q", fmt.Sprintf("2024-01-%02dT%02d:%02d:00Z", 1+row/600%28, row/25%24, r.IntN(60)))
	}},
	{"f32", "Float32", sometimesNull(5, func(r *rand.Rand, _ int) string { return fmt.Sprint(float32(r.NormFloat64())) })},
	{"f64", "Float64", func(r *rand.Rand, _ int) string {
		if r.IntN(20) == 0 {
			return `"NaN"`
		}
		return fmt.Sprint(r.NormFloat64())
	}},
	{"price", "Float64", sometimesNull(3, func(r *rand.Rand, _ int) string { return fmt.Sprintf("%.2f", r.Float64()*100) })},
	{"ok", "Boolean", sometimesNull(4, func(r *rand.Rand, _ int) string { return fmt.Sprint(r.IntN(3) == 0) })},
	{"few", "String", sometimesNull(9, func(r *rand.Rand, _ int) string { return fmt.Sprintf("%q", fmt.Sprint("kind ", r.IntN(9))) })},
	{"many", "String", sometimesNull(9, func(r *rand.Rand, row int) string {
		return fmt.Sprintf("%q", fmt.Sprint("row ", row, " of ", r.IntN(99)))
	})},
	{"noise", "String", func(r *rand.Rand, _ int) string { return fmt.Sprintf("%q", fmt.Sprintf("%x", r.Uint64())) }},
	{"g", "Guid", func(r *rand.Rand, _ int) string {
		return fmt.Sprintf("%q", fmt.Sprintf("%08x-0000-0000-0000-%012x", r.Uint32(), r.Uint32()))
	}},
	{"rate", "Decimal", sometimesNull(6, func(r *rand.Rand, _ int) string { return fmt.Sprintf("%q", fmt.Sprintf("0.%02d", r.IntN(11))) })},
	{"sum", "Decimal", func(r *rand.Rand, _ int) string {
		return fmt.Sprintf("%q", fmt.Sprintf("%d.%02d", r.IntN(1<<30), r.IntN(100)))
	}},
	{"pos", "Struct<x: Int32, s: String>", sometimesNull(8, func(r *rand.Rand, _ int) string {
		return fmt.Sprintf(`{"x":%d,"s":%q}`, r.IntN(100), fmt.Sprint("p", r.IntN(4)))
	})},
	{"tags", "List<Int64>", func(r *rand.Rand, _ int) string { return fmt.Sprint([]string{"[]", "[1]", "[2,3]"}[r.IntN(3)]) }},
}

func sometimesNull(every int, value func(*rand.Rand, int) string) func(*rand.Rand, int) string {
	return func(r *rand.Rand, row int) string {
		if r.IntN(every) == 0 {
			return ""
		}
		return value(r, row)
	}
}

// pathTests are conditions, of which filters are made.
var pathTests = []string{
	"i8 > 100", "i8 = 5", "u16 < 700", "rising BETWEEN 6000 AND 9000", "small < 500", "small = 77", "small IS NULL", "runs = 43",
	"runs < 10", "wide > 9223372036854775808", "same = 7", "same != 7", "none IS NULL", "none > 3", "at < '2024-01-05T00:00:00Z'",
	"f32 > 1.5", "f64 > 0", "f64 != 0", "f64 < -2", "price >= 50", "ok", "NOT ok", "ok IS NULL", "few = 'kind 3'", "few LIKE 'kind%'",
	"few IN ('kind 1', 'kind 8', NULL)", "many HAS '77'", "many LIKE 'row 1%'", "noise LIKE 'a%'", "rate > 0.05", "rate = 0.1",
	"sum < 5000000", "pos.x < 7", "pos.s = 'p1'", "pos.x IS NULL", "id < 3000", "id = 4321", "id >= 11000",
}

const (
	pathRows    = 12_000
	pathStripes = 5_000
)

// writePaths writes the columns; every seventh row but those of the last stripe is deleted.
func writePaths(t *testing.T, sp *blobio.Client, url string, r *rand.Rand) {
	types := []string{"id: Int64"}
	for _, c := range pathColumns {
		types = append(types, c.name+": "+c.typ)
	}
	s, err := schema.Parse(strings.Join(types, ", "))
	if err != nil {
		t.Fatal(err)
	}
	s = &schema.Schema{Fields: append(s.Fields, &schema.Node{Name: "gone", Basic: schema.Boolean, Internal: schema.InternalDeletedRecord})}
	s.Number()
	var lines strings.Builder
	for row := range pathRows {
		fmt.Fprintf(&lines, `{"id":%d,"gone":%v`, row, pathDeleted(row))
		for _, c := range pathColumns {
			if v := c.value(r, row); v != "" {
				fmt.Fprintf(&lines, `,"%s":%s`, c.name, v)
			}
		}
		lines.WriteString("}\n")
	}
	writeLines(t, sp, url, s, lines.String(), shardfmt.WriterOptions{StripeRows: pathStripes})
}

func pathDeleted(row int) bool { return row%7 == 3 && row < 2*pathStripes }

// scanLines scans a shard into lines of JSON.
func scanLines(t *testing.T, shard *shardfmt.Shard, o shardfmt.ScanOptions) []string {
	t.Helper()
	ctx := context.Background()
	s, err := shard.Project(ctx, o.Columns, false)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &out, s, fileio.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range shard.Scan(ctx, o) {
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// plainly gives the rows that a filter selects, by its evaluation over whole batches of all columns.
func plainly(t *testing.T, shard *shardfmt.Shard, b *filter.Bound) (rows []int) {
	t.Helper()
	for batch, err := range shard.Scan(context.Background(), shardfmt.ScanOptions{IncludeDeleted: true, Workers: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		set, _, err := b.Select(batch)
		if err != nil {
			t.Fatal(err)
		}
		ids := batch.Column(0).(*array.Int64)
		for i := range ids.Len() {
			if set[i/8]>>(i%8)&1 == 1 && !pathDeleted(int(ids.Value(i))) {
				rows = append(rows, int(ids.Value(i)))
			}
		}
	}
	return rows
}

// Whatever way a scan takes, the rows are those that a filter selects of all rows and all columns, and their values are the same:
// side by side and alone, in memory used again, with small batches and in little memory, of any columns.
func TestScansByAllPaths(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	r := rand.New(rand.NewPCG(11, 12))
	url := "file://" + t.TempDir() + "/s.amudai.shard"
	writePaths(t, sp, url, r)
	shard, err := shardfmt.Open(context.Background(), sp, url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := (2*pathStripes+3)/7, shard.Deleted(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	s, err := shard.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, n := range s.Fields[:len(s.Fields)-1] {
		all[n.Name] = scanLines(t, shard, shardfmt.ScanOptions{Columns: []string{n.Name}, IncludeDeleted: true, Workers: 1})
		if got := all[n.Name]; len(got) != pathRows {
			t.Fatalf("%d elements, want %d: %v", len(got), pathRows, got)
		}
	}
	one := func() string { return pathTests[r.IntN(len(pathTests))] }
	for round := range 25 {
		expr := one()
		for range r.IntN(4) {
			expr = [...]string{expr + " AND " + one(), one() + " AND " + expr, "(" + expr + " OR " + one() + ")", "NOT (" + expr + ")"}[r.IntN(4)]
		}
		e, err := filter.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := filter.Bind(e, s)
		if err != nil {
			t.Fatalf("%v: %v", expr, err)
		}
		want := plainly(t, shard, bound)
		columns := []string{"id"}
		for range 1 + r.IntN(3) {
			columns = append(columns, pathColumns[r.IntN(len(pathColumns)-round%2)].name) // half of them without lists, which are read alone
		}
		columns = uniqueNames(columns)
		for _, o := range []shardfmt.ScanOptions{
			{Workers: 1}, {Workers: 4, BatchRows: 700}, {Workers: 3, BatchRows: 700, ReuseBatches: true}, {Workers: 2, MaxMemory: 4 << 20},
			{Workers: 1, ReuseBatches: true, BatchRows: 1 + r.IntN(3000)},
			{Workers: 1, ReuseBatches: r.IntN(2) == 0, BatchRows: 500, MaxMemory: 2 << 20}, // many windows of a file, in the memory of one
		} {
			o.Columns, o.Filter = columns, bound
			got := scanLines(t, shard, o)
			if len(want) == 0 {
				if want, got := ([]string{""}), got; !reflect.DeepEqual(got, want) {
					t.Fatalf("%v: got %v, want %v", expr, got, want)
				}
				continue
			}
			if got := got; len(got) != len(want) {
				t.Fatalf("%s: %+v: %d elements, want %d: %v", expr, o, len(got), len(want), got)
			}
			for i, row := range want {
				var members []string
				for _, name := range columns {
					if line := all[name][row]; line != "{}" {
						members = append(members, line[1:len(line)-1])
					}
				}
				if want, got := "{"+strings.Join(members, ",")+"}", got[i]; !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: %+v: got %v, want %v", expr, o, got, want)
				}
			}
		}
	}
}

func uniqueNames(names []string) (out []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// All rows by all paths, too, of all columns that can be read side by side.
func TestWholeScansByAllPaths(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	url := "file://" + t.TempDir() + "/s.amudai.shard"
	writePaths(t, sp, url, rand.New(rand.NewPCG(13, 14)))
	shard, err := shardfmt.Open(context.Background(), sp, url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, deleted := range []bool{true, false} {
		for _, columns := range [][]string{nil, {"id", "few", "noise", "rate", "sum", "pos", "ok", "f64", "none", "same"}, {"runs"}} {
			want := scanLines(t, shard, shardfmt.ScanOptions{Columns: columns, IncludeDeleted: deleted, Workers: 1})
			for _, o := range []shardfmt.ScanOptions{
				{Workers: 4, BatchRows: 700}, {Workers: 3, BatchRows: 999, ReuseBatches: true}, {Workers: 2, MaxMemory: 4 << 20},
				{Workers: 2, Start: 0, End: pathRows}, {Workers: 1, ReuseBatches: true},
				{Workers: 1, BatchRows: 500, MaxMemory: 2 << 20}, {Workers: 1, BatchRows: 500, MaxMemory: 2 << 20, ReuseBatches: true},
			} {
				o.Columns, o.IncludeDeleted = columns, deleted
				if want, got := want, scanLines(t, shard, o); !reflect.DeepEqual(got, want) {
					t.Fatalf("%+v: got %v, want %v", o, got, want)
				}
			}
		}
	}
}

package shardfmt

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func open(t testing.TB, sp *blobio.Client, url string, size int64) *Shard {
	t.Helper()
	s, err := Open(context.Background(), sp, url, OpenOptions{Size: size})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bind(t testing.TB, s *Shard, expr string) *filter.Bound {
	t.Helper()
	all, err := s.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	e, err := filter.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	b, err := filter.Bind(e, all)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ids reads the column id.
func ids(t testing.TB, s *Shard, o ScanOptions) (out []int64) {
	t.Helper()
	o.Columns = []string{"id"}
	for _, b := range readAll(t, s, o) {
		for i := range int(b.NumRows()) {
			out = append(out, b.Column(0).(*array.Int64).Value(i))
		}
	}
	return out
}

// A filter selects the rows that it selects without any statistics, and reads less.
func TestScanFilters(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const n = 20_000
	w := writeSample(t, sp, "mem://f/s.amudai.shard", n, WriterOptions{StripeRows: 7000})
	s := open(t, sp, w.URL, w.Size)
	for _, c := range []struct {
		expr           string
		want           func(i int64) bool
		stripes        int
		blocksAtMost   int64
		blocksUnpruned bool
	}{
		{"id = 12345", func(i int64) bool { return i == 12345 }, 2, 1, false},
		{"id BETWEEN 100 AND 199 OR id > 19990", func(i int64) bool { return i >= 100 && i < 200 || i > 19990 }, 1, 3, false},
		{"id < 0", func(i int64) bool { return false }, 3, 0, false},
		{"same = 8", func(i int64) bool { return false }, 3, 0, false},
		{"name = 'name 7'", func(i int64) bool { return i%97 == 7 && i%10 != 3 }, 0, 1 << 20, true},
		{"name = 'no such name'", func(i int64) bool { return false }, 3, 0, false},
		{"name IS NULL AND id < 50", func(i int64) bool { return i%10 == 3 && i < 50 }, 2, 1, false},
		{"score >= 2499.5", func(i int64) bool { return float64(i)/8 >= 2499.5 }, 2, 1, false},
		{"pos.x = 77", func(i int64) bool { return false }, 0, 1 << 20, true},
		{"pos.x = 78", func(i int64) bool { return i == 78 }, 0, 1 << 20, true},
		{"ok AND id < 10", func(i int64) bool { return i%3 == 0 && i < 10 }, 2, 1, false},
		{"NOT ok AND id < 10", func(i int64) bool { return i%3 != 0 && i < 10 }, 2, 1, false},
	} {
		t.Run(c.expr, func(t *testing.T) {
			var st ScanStats
			got := ids(t, s, ScanOptions{Filter: bind(t, s, c.expr), Stats: &st})
			at := 0
			for i := range int64(n) {
				if !c.want(i) {
					continue
				}
				if at >= len(got) || got[at] != i {
					t.Fatalf("row %d: got %v", i, got[at:min(at+5, len(got))])
				}
				at++
			}
			if at != len(got) || st.RowsMatched != int64(at) {
				t.Errorf("%d rows, want %d; %+v", len(got), at, st)
			}
			if !c.blocksUnpruned && (st.StripesPruned != c.stripes || st.BlocksRead > c.blocksAtMost) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// A filter selects the same rows of whole columns as of a range of records.
func TestScanFilterAllColumns(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://g/s.amudai.shard", 5000, WriterOptions{StripeRows: 3000})
	s := open(t, sp, w.URL, 0)
	want := sampleBatch(sampleSchema(t), 0, 5000)
	var parts []arrow.RecordBatch
	for i := 1000; i < 4500; i++ {
		if i%97 == 5 && i%10 != 3 {
			parts = append(parts, want.NewSlice(int64(i), int64(i)+1))
		}
	}
	at := 0
	for _, b := range readAll(t, s, ScanOptions{Filter: bind(t, s, "name = 'name 5'"), Start: 1000, End: 4500, BatchRows: 700}) {
		for i := range b.NumRows() {
			row := b.NewSlice(i, i+1)
			for c := range int(b.NumCols()) {
				if !array.Equal(row.Column(c), parts[at].Column(c)) {
					t.Fatalf("row %d, column %q: %v, want %v", at, b.ColumnName(c), row.Column(c), parts[at].Column(c))
				}
			}
			at++
		}
	}
	if at != len(parts) {
		t.Errorf("%d rows, want %d", at, len(parts))
	}
}

func TestScanProjection(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://p/s.amudai.shard", 500, WriterOptions{})
	s := open(t, sp, w.URL, w.Size)
	b := readAll(t, s, ScanOptions{Columns: []string{"pos.y", "id"}})[0]
	if got := fmt.Sprint(b.Schema().Field(0).Type, b.ColumnName(1)); got != "struct<y: float32 nullable>id" {
		t.Error(got)
	}
	if p := b.Column(0).(*array.Struct); !p.IsNull(11) || p.Field(0).(*array.Float32).Value(12) != -12 {
		t.Error("values of pos.y")
	}
	for b, err := range s.Scan(context.Background(), ScanOptions{Columns: []string{"pos.z"}}) {
		if err == nil {
			t.Errorf("no such field, but %v", b)
		}
	}
}

// A cold point lookup of one column: the root, the block map, the block; and little more than the block.
func TestPointLookupRequests(t *testing.T) {
	const n = 400_000
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	s := sampleSchema(t)
	w, err := NewWriter(ctx, sp, "mem://l/s.amudai.shard", s, WriterOptions{StripeRows: n / 2})
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < n; at += 100_000 {
		if err := w.Write(ctx, sampleBatch(s, at, 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	written, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"id", "score", "name", "same", "pos.x"} {
		cold := blobio.NewClient(blobio.ClientOptions{})
		before := cold.Counters()
		o := open(t, cold, written.URL, written.Size)
		got := readAll(t, o, ScanOptions{Columns: []string{column}, Start: 234_567, End: 234_568})
		c := cold.Counters().Sub(before)
		t.Logf("%s: %d GETs, %d bytes beyond the root, depth %d, %v", column, c.Gets, c.GetBytes-written.Size, c.Depth, got[0].Column(0))
		most := int64(3)
		if column == "pos.x" { // nulls of the struct are a second buffer
			most++
		}
		if c.Gets > most || c.Depth > 3 || c.GetBytes-written.Size > 128<<10 || c.Heads > 0 {
			t.Errorf("%s: %+v, root of %d bytes", column, c, written.Size)
		}
	}
}

// Merged roots of the reference's shards read back to the rows of their inputs.
func TestMergedGoldenShards(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(interop.Dir(t), "merged", "*", "rows.ndjson.gz"))
	if err != nil || len(dirs) < 5 {
		t.Fatalf("merged roots %v, %v", dirs, err)
	}
	for _, rows := range dirs {
		dir := filepath.Dir(rows)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			checkRows(t, &interop.Case{Name: filepath.Base(dir), Dir: dir}, ScanOptions{})
		})
	}
}

// A scan reads little more than the buffers of its columns, each once, in few requests.
func TestScanRequests(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const n = 200_000
	w := writeSample(t, sp, "mem://requests2/s.amudai.shard", n, WriterOptions{StripeRows: n / 2})
	for _, c := range []struct {
		name    string
		o       ScanOptions
		columns []string // whose buffers are needed
		gets    int64
	}{
		{"all", ScanOptions{}, []string{"id", "name", "score", "ok", "same", "tags", "pos"}, 2 * 7},
		{"one column", ScanOptions{Columns: []string{"score"}}, []string{"score"}, 2},
		{"two columns", ScanOptions{Columns: []string{"id", "pos"}}, []string{"id", "pos"}, 2 * 2},
		{"filter on what is read", ScanOptions{Columns: []string{"score"}, Filter: bind(t, open(t, sp, w.URL, 0), "score >= 0")}, []string{"score"}, 2 * 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, sp, w.URL, w.Size)
			needed := int64(0)
			for i := range s.Stripes() {
				needed += storedBytes(t, s, i, c.columns)
			}
			before := sp.Counters()
			for _, err := range s.Scan(ctx, c.o) {
				if err != nil {
					t.Fatal(err)
				}
			}
			got := sp.Counters().Sub(before)
			t.Logf("needed %d: %+v", needed, got)
			if float64(got.GetBytes) > 1.05*float64(needed) || got.Gets > c.gets {
				t.Errorf("%d bytes needed: %+v", needed, got)
			}
		})
	}
}

// storedBytes is the size of the buffers of fields of a stripe, with all below them.
func storedBytes(t testing.TB, s *Shard, stripe int, columns []string) (n int64) {
	t.Helper()
	part, err := s.Project(context.Background(), columns, false)
	if err != nil {
		t.Fatal(err)
	}
	part.Walk(func(_ string, node *schema.Node) bool {
		d, _, err := s.Root().StripeField(context.Background(), stripe, node.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range d.Encodings[0].GetNative().Buffers {
			n += int64(b.Buffer.Range.End - b.Buffer.Range.Start)
		}
		return true
	})
	return n
}

// Rows can be counted without reading a column.
func TestScanWithoutColumns(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://count/s.amudai.shard", 5000, WriterOptions{StripeRows: 3000})
	s := open(t, sp, w.URL, w.Size)
	before := sp.Counters()
	rows := int64(0)
	for _, b := range readAll(t, s, ScanOptions{Columns: []string{}}) {
		rows += b.NumRows()
	}
	if c := sp.Counters().Sub(before); rows != 5000 || c.Gets != 0 {
		t.Errorf("%d rows, %+v", rows, c)
	}
	rows = 0
	for _, b := range readAll(t, s, ScanOptions{Columns: []string{}, Filter: bind(t, s, "id >= 4000")}) {
		rows += b.NumRows()
	}
	if rows != 1000 {
		t.Errorf("%d rows are at least 4000", rows)
	}
}

// Whoever stops after the first batch has not paid for the second stripe.
func TestScanStopsEarly(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://stop/s.amudai.shard", 6000, WriterOptions{StripeRows: 2000})
	s := open(t, sp, w.URL, w.Size)
	before := sp.Counters()
	for _, err := range s.Scan(context.Background(), ScanOptions{Columns: []string{"score"}}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if c := sp.Counters().Sub(before); c.Gets != 1 {
		t.Errorf("%+v", c)
	}
}

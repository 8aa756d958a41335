package shardfmt

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// list gives the names in a mem bucket.
func list(t testing.TB, sp *blobio.Client, prefix string) (names []string) {
	t.Helper()
	for info, err := range sp.List(context.Background(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(info.URL, prefix))
	}
	return names
}

// A root that is there is not overwritten, and the attempt leaves nothing behind.
func TestExistingRootIsRefused(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	const url = "mem://exists/s.amudai.shard"
	if err := sp.Put(ctx, url, []byte("something")); err != nil {
		t.Fatal(err)
	}
	if _, err := NewWriter(ctx, sp, url, sampleSchema(t), WriterOptions{}); !errors.Is(err, blobio.ErrExists) {
		t.Errorf("with a name of its own: %v", err)
	}
	w, err := NewWriter(ctx, sp, url, sampleSchema(t), WriterOptions{DataPrefix: "data/x/", StripeRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), sampleBatch(sampleSchema(t), 0, 25)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(t.Context()); !errors.Is(err, blobio.ErrExists) {
		t.Errorf("at the end: %v", err)
	}
	if names := list(t, sp, "mem://exists/"); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func TestAbortRemovesStripes(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	for _, layout := range []Layout{TwoLevel, Single} {
		w, err := NewWriter(ctx, sp, "mem://abort/s.amudai.shard", sampleSchema(t), WriterOptions{Layout: layout, StripeRows: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), sampleBatch(sampleSchema(t), 0, 25)); err != nil {
			t.Fatal(err)
		}
		w.Abort(t.Context())
		if names := list(t, sp, "mem://abort/"); len(names) != 0 {
			t.Errorf("%v: left behind: %v", layout, names)
		}
		if err := w.Write(t.Context(), sampleBatch(sampleSchema(t), 0, 1)); err == nil {
			t.Error("a writer that was aborted writes")
		}
	}
}

// Stripes go where DataPrefix states, relative to the root, every buffer starts at a multiple of 64, and the URL
// list is complete.
func TestPlaceOfStripes(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://place/v/r.amudai.shard", 500, WriterOptions{DataPrefix: "data/r/", StripeRows: 200,
		FieldIDs: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}})
	s := open(t, sp, w.URL, w.Size)
	urls, err := s.Root().URLList(ctx)
	if err != nil || len(urls.Urls) != 3 || !strings.HasPrefix(urls.Urls[0], "data/r/") {
		t.Fatalf("%v %v", urls, err)
	}
	all, _ := s.Schema(ctx)
	for id := range all.Count {
		d, _, err := s.Root().StripeField(ctx, 1, id)
		if err != nil || d.GetField() == nil {
			t.Fatalf("field %d is not in stripe 1: %v", id, err)
		}
		for _, b := range d.Encodings[0].GetNative().Buffers {
			if b.Buffer.Range.Start%colstream.Alignment != 0 || !slices.Contains(urls.Urls, b.Buffer.Url) {
				t.Errorf("buffer %v", b.Buffer)
			}
		}
	}
	p, err := s.Root().Properties(ctx)
	if ids, _ := meta.Properties(p.GetCustomProperties()).Text(meta.PropertyFieldIDs); err != nil || ids != "1,2,3,4,5,6,7,8,9,10" {
		t.Errorf("field ids %q, %v", ids, err)
	}
	if _, _, known := meta.Creation(p); !known {
		t.Error("no creation times")
	}
}

// A shared descriptor reports what StripeField states and is decoded once; what StripeField gives is the caller's own.
func TestSharedDescriptors(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://shared/r.amudai.shard", 500, WriterOptions{StripeRows: 200})
	root := open(t, sp, w.URL, w.Size).Root()
	for i := range 3 {
		for id := range uint32(4) {
			own, url, err1 := root.StripeField(t.Context(), i, id)
			shared, at, err2 := root.SharedStripeField(t.Context(), i, id)
			again, _, err3 := root.SharedStripeField(t.Context(), i, id)
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			if shared != again || shared == own || at != url || !proto.Equal(shared, own) {
				t.Errorf("field %d of stripe %d: %v of %s, %v of %s", id, i, shared, at, own, url)
			}
		}
	}
}

// What the writer asks of the store: the stripes, the root, the root once more.
func TestWriterRequests(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	writeSample(t, sp, "mem://requests/r.amudai.shard", 500, WriterOptions{DataPrefix: "data/r/", StripeRows: 200})
	if c := sp.Counters(); c.Puts != 4 || c.Gets != 1 || c.Heads != 0 || c.Lists != 0 || c.Deletes != 0 {
		t.Errorf("%+v", c)
	}
}

func TestBatchOfOtherSchema(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w, err := NewWriter(context.Background(), sp, "mem://other/s.amudai.shard", sampleSchema(t), WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := schema.Parse("id: Int64")
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s)).NewRecordBatch()
	if err := w.Write(t.Context(), b); err == nil {
		t.Error("a batch of one column for a schema of seven")
	}
}

// Records that the marker field marks are counted, and hidden unless requested; the marker is not a column.
func TestDeletedRecords(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "id", Basic: schema.Int64, Signed: true},
		{Basic: schema.Boolean, Internal: schema.InternalDeletedRecord},
	}}
	w, err := NewWriter(ctx, sp, "mem://deleted/s.amudai.shard", s, WriterOptions{StripeRows: 50})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i := range 150 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.BooleanBuilder).Append(i >= 50 && i%5 == 0)
	}
	if err := w.Write(t.Context(), b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	out, err := w.Close(t.Context())
	if err != nil || out.Records != 150 || out.Deleted != 20 {
		t.Fatalf("%+v %v", out, err)
	}
	sh := open(t, sp, out.URL, out.Size)
	if sh.Deleted() != 20 || sh.Stripes()[0].Deleted != 0 || sh.Stripes()[1].Deleted != 10 {
		t.Errorf("%+v", sh.Stripes())
	}
	// Statistics count what is marked too: record 50, the least of its stripe, is.
	d, _, err := sh.Root().StripeField(ctx, 1, 0)
	if err != nil || d.Field.PositionCount != 50 || d.Field.RangeStats.MinValue.GetI64Value() != 50 {
		t.Errorf("statistics of a stripe with deleted records: %v, %v", d, err)
	}
	for _, c := range []struct {
		o    ScanOptions
		want int
	}{
		{ScanOptions{}, 130}, {ScanOptions{IncludeDeleted: true}, 150}, {ScanOptions{Start: 40, End: 60}, 18},
		{ScanOptions{Filter: bind(t, sh, "id >= 100")}, 40}, {ScanOptions{Filter: bind(t, sh, "id = 55")}, 0},
	} {
		if got := ids(t, sh, c.o); len(got) != c.want {
			t.Errorf("%+v: %d rows, want %d", c.o, len(got), c.want)
		}
	}
	if b := readAll(t, sh, ScanOptions{})[0]; b.NumCols() != 1 {
		t.Errorf("columns %v", b.Schema())
	}
	if b := readAll(t, sh, ScanOptions{Internal: true})[0]; b.NumCols() != 2 {
		t.Errorf("columns %v", b.Schema())
	}
}

// writeManyFields writes a shard of many fields of three records.
func writeManyFields(tb testing.TB, sp *blobio.Client, url string, fields int) *Written {
	s := new(schema.Schema)
	columns := make([]arrow.Array, fields)
	for i := range columns {
		s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprintf("f%d", i), Basic: schema.Int64, Signed: true})
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues([]int64{int64(i), int64(i) + 1, int64(i) * 2}, nil)
		columns[i] = b.NewArray()
	}
	w, err := NewWriter(tb.Context(), sp, url, s, WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	if err := w.Write(tb.Context(), array.NewRecordBatch(arrowtype.Schema(s), columns, 3)); err != nil {
		tb.Fatal(err)
	}
	out, err := w.Close(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// readTwoOf opens a shard that writeManyFields wrote and reads two of its fields.
func readTwoOf(tb testing.TB, sp *blobio.Client, out *Written) {
	sh, err := Open(tb.Context(), sp, out.URL, OpenOptions{Size: out.Size})
	if err != nil {
		tb.Fatal(err)
	}
	defer sh.Close()
	for b, err := range sh.Scan(tb.Context(), ScanOptions{Columns: []string{"f77", "f4000"}}) {
		if err != nil || b.NumRows() != 3 || b.Column(1).(*array.Int64).Value(2) != 8000 {
			tb.Fatal(b, err)
		}
	}
}

// Opening a shard of ten thousand fields, reading two and closing it costs as much as of five thousand, but for the bytes of the root, which are read into
// memory that was used before, or lent by a store in memory: as many allocations, and as little new memory.
func TestTwoOfTenThousandFields(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	for name, place := range map[string]string{"file": "file://" + t.TempDir(), "mem": "mem://two-of-ten-thousand"} {
		t.Run(name, func(t *testing.T) { testTwoOfTenThousandFields(t, sp, place) })
	}
}

func testTwoOfTenThousandFields(t *testing.T, sp *blobio.Client, place string) {
	var allocations, bytes []float64
	for _, fields := range []int{10_000, 5_000} {
		out := writeManyFields(t, sp, fmt.Sprintf("%s/%d.amudai.shard", place, fields), fields)
		readTwoOf(t, sp, out) // what is made once is made now
		before := sp.Counters()
		readTwoOf(t, sp, out)
		c := sp.Counters().Sub(before)
		t.Logf("root of %d bytes; %+v", out.Size, c)
		if c.GetBytes > 830_000 || c.Gets > 8 || c.Heads > 0 {
			t.Errorf("%d bytes in %d GETs", c.GetBytes, c.Gets)
		}
		const runs = 10
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		for range runs {
			readTwoOf(t, sp, out)
		}
		runtime.ReadMemStats(&to)
		allocations = append(allocations, float64(to.Mallocs-from.Mallocs)/runs)
		bytes = append(bytes, float64(to.TotalAlloc-from.TotalAlloc)/runs)
	}
	t.Logf("%.0f allocations, %.0f bytes", allocations, bytes)
	if raceDetector {
		return // its pools forget at random
	}
	if math.Abs(allocations[0]-allocations[1]) > 20 || bytes[0] > 48<<10 || math.Abs(bytes[0]-bytes[1]) > 8<<10 {
		t.Errorf("%.0f allocations and %.0f bytes of 10,000 and of 5,000 fields", allocations, bytes)
	}
	if allocations[0] > mostForTwo { // with each descriptor decoded once, and files opened once
		t.Errorf("%.0f allocations", allocations[0])
	}
}

// mostForTwo is how many allocations reading two of ten thousand fields may make.
const mostForTwo = 260

// A shard that was closed reads nothing any more, and does not take back what it gave: memory that is given back is overwritten in these tests.
func TestClose(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	out := writeManyFields(t, sp, "file://"+t.TempDir()+"/s.amudai.shard", 3_000) // what lies in memory is lent, and not overwritten
	columns := ScanOptions{Columns: []string{"f77", "f2000"}}
	open := func() *Shard { return open(t, sp, out.URL, out.Size) }
	sh := open()
	all, err := sh.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := readAll(t, sh, columns)
	if err := sh.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := all.Lookup("f2000"); err != nil || n.Name != "f2000" || kept[0].Column(1).(*array.Int64).Value(2) != 4000 {
		t.Errorf("after Close: %v, %v, %v", n, err, kept[0])
	}
	for name, sh := range map[string]*Shard{"that was used": sh, "that was not": open()} {
		sh.Close()
		for b, err := range sh.Scan(t.Context(), columns) {
			if !errors.Is(err, blobio.ErrClosed) {
				t.Errorf("a closed shard %s gave %v, %v", name, b, err)
			}
		}
		if _, err := sh.Project(t.Context(), []string{"f77"}, false); !errors.Is(err, blobio.ErrClosed) {
			t.Errorf("a closed shard %s has a schema: %v", name, err)
		}
	}
}

func BenchmarkTwoOfTenThousandFields(b *testing.B) {
	defer bufpool.StopSpoiling()()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	for _, place := range []string{"mem://" + rand.Text() + "/s.amudai.shard", "file://" + b.TempDir() + "/s.amudai.shard"} {
		out := writeManyFields(b, sp, place, 10_000)
		b.Run(place[:4], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				readTwoOf(b, sp, out)
			}
		})
	}
}

// The reference's reader needs, and its writer gives, these forms of descriptors.
func TestDescriptorsForTheReference(t *testing.T) {
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	w := writeSample(t, sp, "mem://forms/s.amudai.shard", 5000, WriterOptions{})
	s := open(t, sp, w.URL, w.Size)
	all, _ := s.Schema(ctx)
	d := func(path string) *metapb.StripeFieldDescriptor {
		n, err := all.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := s.Root().StripeField(ctx, 0, n.ID)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	kinds := func(path string) (out []metapb.BufferKind) {
		for _, b := range d(path).Encodings[0].GetNative().Buffers {
			out = append(out, b.Kind)
		}
		return out
	}
	for path, want := range map[string]string{
		"id": "[DATA RANGE_INDEX]", "name": "[DATA VALUE_DICTIONARY]", "ok": "[DATA]", "same": "[]",
		"tags": "[OFFSETS PRESENCE]", "pos": "[PRESENCE]",
	} {
		if got := fmt.Sprint(kinds(path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if d("same").Field.ConstantValue.GetI64Value() != 7 || d("same").Field.DictionarySize != nil {
		t.Errorf("same: %v", d("same"))
	}
	if n := d("name").Field.GetDictionarySize(); n != 98 {
		t.Errorf("dictionary of %d entries, want 97 and the null", n)
	}
}

package cole

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// description is the JSON beside a file of the reference.
type description struct {
	Schema  []struct{ Name, Type, Encoding string }
	Columns map[string]json.RawMessage
}

// objects numbers the objects of the tests: the memory bucket is one for the process.
var objects atomic.Int64

// store is a client with one object.
func store(t testing.TB, data []byte) (*blobio.Client, string) {
	t.Helper()
	c := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { c.Close() })
	url := fmt.Sprintf("mem://cole-test/%d.col", objects.Add(1))
	if err := c.Put(context.Background(), url, data); err != nil {
		t.Fatal(err)
	}
	return c, url
}

// columnsOf reads a whole file: the values of each column by name.
func columnsOf(t testing.TB, data []byte, o Options) (map[string][]any, error) {
	c, url := store(t, data)
	f, err := Open(context.Background(), c, url, o)
	if err != nil {
		return nil, err
	}
	return valuesOf(f, fileformat.ReadOptions{})
}

func valuesOf(f *File, o fileformat.ReadOptions) (map[string][]any, error) {
	src, err := f.NewSource(o)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	out := map[string][]any{}
	for _, field := range src.Schema().Fields() {
		out[field.Name] = []any{}
	}
	for {
		b, err := src.Next(context.Background())
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i, column := range b.Columns() {
			name := b.ColumnName(i)
			for row := range column.Len() {
				switch a := column.(type) {
				case *array.Int32:
					out[name] = append(out[name], int64(a.Value(row)))
				case *array.Int64:
					out[name] = append(out[name], a.Value(row))
				case *array.String:
					out[name] = append(out[name], a.Value(row))
				case *array.Binary:
					out[name] = append(out[name], string(a.Value(row)))
				}
			}
		}
	}
}

func describe(t *testing.T, name string) (d description, want map[string][]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	want = map[string][]any{}
	for _, c := range d.Schema {
		want[c.Name] = []any{}
		if c.Type == "STRING" {
			var values []string
			err = json.Unmarshal(d.Columns[c.Name], &values)
			for _, v := range values {
				want[c.Name] = append(want[c.Name], v)
			}
		} else {
			var values []int64
			err = json.Unmarshal(d.Columns[c.Name], &values)
			for _, v := range values {
				want[c.Name] = append(want[c.Name], v)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return d, want
}

var references = []struct {
	name      string
	groupRows int
}{{"empty", 0}, {"zero_rows", 0}, {"basic", 0}, {"all_encodings", 6}, {"extremes", 0}, {"syn300", 0}}

// The files that the only other implementation wrote are read with the values it was given.
func TestReferenceFilesAreRead(t *testing.T) {
	for _, r := range references {
		data, err := os.ReadFile(filepath.Join("testdata", r.name+".col"))
		if err != nil {
			t.Fatal(err)
		}
		_, want := describe(t, r.name)
		got, err := columnsOf(t, data, Options{StrictPages: true})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v %v, want %v", r.name, got, err, want)
		}
	}
}

// From the same values and encodings our writer makes the very bytes of the other implementation.
func TestReferenceFilesAreWritten(t *testing.T) {
	for _, r := range references {
		d, want := describe(t, r.name)
		o := WriteOptions{GroupRows: r.groupRows, Encodings: map[string]Encoding{}}
		var fields []arrow.Field
		for _, c := range d.Schema {
			o.Encodings[c.Name] = map[string]Encoding{"PLAIN": Plain, "RLE": RLE, "DELTA": Delta, "DICTIONARY": Dictionary}[c.Encoding]
			fields = append(fields, arrow.Field{Name: c.Name, Type: map[string]arrow.DataType{
				"INT32": arrow.PrimitiveTypes.Int32, "INT64": arrow.PrimitiveTypes.Int64, "STRING": arrow.BinaryTypes.String}[c.Type]})
		}
		got := write(t, arrow.NewSchema(fields, nil), o, want)
		golden, err := os.ReadFile(filepath.Join("testdata", r.name+".col"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, golden) {
			t.Errorf("%s differs:\n%s\nwant\n%s", r.name, hex.Dump(got), hex.Dump(golden))
		}
	}
}

// batchOf makes a batch of values by name.
func batchOf(s *arrow.Schema, values map[string][]any) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i, f := range s.Fields() {
		for _, v := range values[f.Name] {
			switch b := b.Field(i).(type) {
			case *array.Int32Builder:
				b.Append(int32(v.(int64)))
			case *array.Int64Builder:
				b.Append(v.(int64))
			case *array.StringBuilder:
				b.Append(v.(string))
			}
		}
	}
	return b.NewRecordBatch()
}

func write(t testing.TB, s *arrow.Schema, o WriteOptions, values map[string][]any) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, s, o)
	if err == nil {
		err = w.Write(batchOf(s, values))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// The elements that the other implementation printed: both directions.
func TestIntegerVectors(t *testing.T) {
	for _, c := range []struct {
		typ      Type
		encoding Encoding
		values   []int64
		hex      string
	}{
		{Int32, Plain, []int64{1, -1}, "01000000 ffffffff"},
		{Int64, Plain, []int64{1, -1}, "0100000000000000 ffffffffffffffff"},
		{Int32, RLE, []int64{5, 5, 5, 5, 10, 10, 3, 3, 3, 3, 3}, "03 04 0a 02 14 05 06"},
		{Int32, RLE, []int64{-1, -1, 0, math.MinInt32, math.MaxInt32}, "04 02 01 01 00 01 ffffffff0f 01 feffffff0f"},
		{Int64, RLE, []int64{100, 100, 100, 200, 200, 300}, "03 03 c801 02 9003 01 d804"},
		{Int64, RLE, []int64{math.MinInt64, math.MaxInt64, -1}, "03 01 ffffffffffffffffff01 01 feffffffffffffffff01 01 01"},
		{Int32, Delta, []int64{10, 15, 20, 25, 30}, "0a000000 04 0a 0a 0a 0a"},
		{Int32, Delta, []int64{0, -5, 100000}, "00000000 02 09 ca9a0c"},
		{Int32, Delta, []int64{math.MinInt32, math.MaxInt32}, "00000080 01 01"},
		{Int64, Delta, []int64{1000, 1100, 1200, 1300, 1400}, "e803000000000000 04 c801 c801 c801 c801"},
		{Int64, Delta, []int64{math.MaxInt64, math.MinInt64}, "ffffffffffffff7f 01 02"},
		{Int64, Delta, []int64{7}, "0700000000000000 00"},
		{Int32, RLE, nil, ""}, {Int64, Delta, nil, ""}, {Int64, Plain, nil, ""},
	} {
		want := unhex(c.hex)
		if got := encodeIntegers(c.typ, c.encoding, c.values); !bytes.Equal(got, want) {
			t.Errorf("%v %v: % x, want % x", c.encoding, c.values, got, want)
		}
		p, err := newIntegers(c.typ, c.encoding, want, 0, uint64(len(c.values)))
		got := make([]int64, len(c.values))
		if err == nil {
			err = p.next(got)
		}
		if spare, endErr := p.end(); err != nil || endErr != nil || spare != 0 || fmt.Sprint(got) != fmt.Sprint(c.values) {
			t.Errorf("%v % x: %v, %v, %v, %d spare, want %v", c.encoding, want, got, err, endErr, spare, c.values)
		}
	}
}

func TestTextVectors(t *testing.T) {
	for _, c := range []struct {
		encoding Encoding
		values   []string
		hex      string
	}{
		{Plain, []string{"hello", "world"}, "00000000 05000000 0a000000" + hex.EncodeToString([]byte("helloworld"))},
		{Plain, nil, "00000000"},
		{Dictionary, nil, "00000000"},
		{Dictionary, []string{"north", "south", "north", "east", "south", "north"},
			"03000000 05000000 6e6f727468 05000000 736f757468 04000000 65617374 06 0100 0102 0100 0104 0102 0100"},
		{Dictionary, []string{"a", "a", "", "b"}, "03000000 01000000 61 00000000 01000000 62 03 0200 0102 0104"},
	} {
		want := unhex(c.hex)
		if got := encodeTexts(c.encoding, c.values); !bytes.Equal(got, want) {
			t.Errorf("%v %q: % x, want % x", c.encoding, c.values, got, want)
		}
		p, err := newTexts(c.encoding, want, 0, uint64(len(c.values)))
		got := make([][]byte, len(c.values))
		if err == nil {
			err = p.next(got)
		}
		if err != nil || fmt.Sprintf("%s", got) != fmt.Sprintf("%s", c.values) {
			t.Errorf("%v % x: %s, %v", c.encoding, want, got, err)
		}
	}
	// The reader, unlike the writer, takes entries that are not unique.
	twice, err := newTexts(Dictionary, unhex("02000000 01000000 61 01000000 61 02 0100 0102"), 0, 2)
	got := make([][]byte, 2)
	if err == nil {
		err = twice.next(got)
	}
	if err != nil || string(got[0])+string(got[1]) != "aa" {
		t.Errorf("a dictionary with duplicates: %q, %v", got, err)
	}
}

func TestVarints(t *testing.T) {
	c := cursor{b: unhex("ac02")}
	if v, err := c.uvarint(32); v != 300 || err != nil {
		t.Errorf("AC 02 is %d, %v, want 300", v, err)
	}
	if got := binary.AppendUvarint(nil, 300); !bytes.Equal(got, unhex("ac02")) {
		t.Errorf("300 is % x", got)
	}
	for v, want := range map[int64]string{0: "00", -1: "01", 1: "02", math.MinInt32: "ffffffff0f", math.MaxInt32: "feffffff0f",
		math.MinInt64: "ffffffffffffffffff01", math.MaxInt64: "feffffffffffffffff01"} {
		if got := appendSvarint(nil, v); !bytes.Equal(got, unhex(want)) {
			t.Errorf("%d is % x, want %s", v, got, want)
		}
		back := cursor{b: unhex(want)}
		if got, err := back.svarint(64); got != v || err != nil {
			t.Errorf("%s is %d, %v, want %d", want, got, err, v)
		}
	}
	for name, bad := range map[string]string{"truncated": "8080", "six bytes": "ffffffffffff", "five bytes of more than 32 bits": "ffffffff1f", "overlong": "8000", "none": ""} {
		c := cursor{b: unhex(bad)}
		if v, err := c.uvarint(32); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s: %d, %v", name, v, err)
		}
	}
}

var sample = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "k", Type: arrow.PrimitiveTypes.Int32}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)

func sampleValues(rows int) map[string][]any {
	out := map[string][]any{}
	for i := range rows {
		out["id"] = append(out["id"], int64(i))
		out["k"] = append(out["k"], int64(i*7919%1000)-500)
		out["s"] = append(out["s"], fmt.Sprintf("%0*d", i%40, i%17))
	}
	return out
}

// Whatever the sizes of row groups, pages and batches and whatever the encodings, the values are those written.
func TestRoundTrip(t *testing.T) {
	want := sampleValues(1000)
	for _, o := range []WriteOptions{
		{}, {GroupRows: 100}, {GroupRows: 333, PageRows: 10}, {GroupRows: 1000, PageRows: 999},
		{GroupRows: 64, Encodings: map[string]Encoding{"id": RLE, "k": Delta, "s": Dictionary}},
		{PageRows: 7, Encodings: map[string]Encoding{"id": Delta, "k": RLE, "s": Plain}},
	} {
		data := write(t, sample, o, want)
		c, url := store(t, data)
		f, err := Open(context.Background(), c, url, Options{StrictPages: true})
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		for _, batch := range []int{1, 13, 5000} {
			got, err := valuesOf(f, fileformat.ReadOptions{BatchRows: batch})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v, batches of %d: %v", o, batch, err)
			}
		}
		r, err := f.Verify(context.Background(), fileformat.VerifyOptions{})
		if err != nil || !r.OK {
			t.Errorf("%+v: %+v, %v", o, r, err)
		}
		c.Close()
	}
}

// between makes a MayMatch: low <= id <= high.
func between(low, high int64) func(func(int) *filter.Stats) bool {
	return func(stats func(int) *filter.Stats) bool {
		s := stats(0)
		return s == nil || (s.Min == nil || s.Min.Int <= high) && (s.Max == nil || s.Max.Int >= low)
	}
}

// Statistics leave out row groups, and pages where a chunk has several; the rest out is not requested.
func TestPushDown(t *testing.T) {
	data := write(t, sample, WriteOptions{GroupRows: 10_000, PageRows: 1000}, sampleValues(100_000))
	c, url := store(t, data)
	f, err := Open(context.Background(), c, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(o fileformat.ReadOptions) (Stats, int64, map[string][]any) {
		t.Helper()
		before := c.Counters()
		src, err := f.NewSource(o)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][]any{}
		for {
			b, err := src.Next(context.Background())
			if err == io.EOF {
				return src.Stats(), c.Counters().Gets - before.Gets, out
			}
			if err != nil {
				t.Fatal(err)
			}
			ids := b.Column(0).(*array.Int64)
			for i := range ids.Len() {
				out["id"] = append(out["id"], ids.Value(i))
			}
		}
	}
	all, gets, _ := read(fileformat.ReadOptions{})
	if all.GroupsRead != 10 || all.PagesRead != 300 || all.ChunksRead != 30 || gets > 30 {
		t.Errorf("all: %+v in %d requests", all, gets)
	}
	one, gets, _ := read(fileformat.ReadOptions{Columns: []int{0}})
	if one.PagesRead != 100 || one.ChunksRead != 10 || gets != 10 {
		t.Errorf("one column: %+v in %d requests, want one a chunk", one, gets)
	}
	some, gets, rows := read(fileformat.ReadOptions{Columns: []int{0, 2}, MayMatch: between(43_500, 45_100)})
	if want := (Stats{GroupsRead: 1, GroupsSkipped: 9, ChunksRead: 2, PagesRead: 6, PagesSkipped: 194}); some != want || gets > 2 {
		t.Errorf("some: %+v in %d requests, want %+v", some, gets, want)
	}
	if ids := rows["id"]; len(ids) != 3000 || ids[0] != int64(43_000) || ids[2999] != int64(45_999) {
		t.Errorf("%d rows", len(ids))
	}
	none, gets, _ := read(fileformat.ReadOptions{MayMatch: between(200_000, 300_000)})
	if none.GroupsSkipped != 10 || gets != 0 {
		t.Errorf("none: %+v in %d requests", none, gets)
	}
}

// Opening takes two requests whatever the size, one for small files.
func TestRequestsOfOpening(t *testing.T) {
	for _, x := range []struct{ rows, gets int64 }{{10, 1}, {100_000, 2}} {
		data := write(t, sample, WriteOptions{}, sampleValues(int(x.rows)))
		c, url := store(t, data)
		if _, err := Open(context.Background(), c, url, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := c.Counters().Gets; got != x.gets {
			t.Errorf("%d rows: %d requests, want %d", x.rows, got, x.gets)
		}
		c.Close()
	}
}

// A file cut short anywhere is refused, never read as fewer rows.
func TestTruncation(t *testing.T) {
	data, err := os.ReadFile("testdata/all_encodings.col")
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if got, err := columnsOf(t, data[:n], Options{}); !isTyped(err) {
			t.Fatalf("cut to %d bytes: %v, %v", n, got, err)
		}
	}
}

func isTyped(err error) bool {
	return errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported)
}

// Any flipped bit gives the same rows, other rows (there is no checksum) or a typed error; most of those in the
// metadata an error.
func TestFlippedBits(t *testing.T) {
	data, err := os.ReadFile("testdata/basic.col")
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(data)
			bad[i] ^= bit
			if _, err := columnsOf(t, bad, Options{}); err != nil && !isTyped(err) {
				t.Errorf("byte %d: %v", i, err)
			}
		}
	}
}

// put overwrites bytes of a reference file.
func put(t *testing.T, name string, at int, with string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".col"))
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(data)
	}
	copy(data[at:], unhex(with))
	return data
}

// What contradicts the format is refused, with the offset.
func TestRefusals(t *testing.T) {
	missing, err := os.ReadFile("testdata/missing_column.col")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		kind error
		what string
	}{
		"four bytes":             {[]byte("COLE"), corrupt.ErrCorrupt, "4 bytes"},
		"header magic":           {put(t, "basic", 0, "deadbeef"), corrupt.ErrCorrupt, "header"},
		"footer magic":           {put(t, "basic", -12, "464f4f54"), corrupt.ErrCorrupt, "footer"},
		"major version":          {put(t, "basic", 4, "0200"), corrupt.ErrUnsupported, "version 2.0"},
		"metadata offset":        {put(t, "basic", -8, "ffc99a3b00000000"), corrupt.ErrCorrupt, "999999999"},
		"metadata in header":     {put(t, "basic", -8, "0700000000000000"), corrupt.ErrCorrupt, "offset 7"},
		"a column left out":      {missing, corrupt.ErrCorrupt, "3 values"},
		"columns":                {put(t, "basic", 0xc2, "ffffffff"), corrupt.ErrUnsupported, "limit"},
		"columns beyond bytes":   {put(t, "basic", 0xc2, "00200000"), corrupt.ErrCorrupt, "do not fit"},
		"name":                   {put(t, "basic", 0xc6, "ff000000"), corrupt.ErrCorrupt, "column name"},
		"long name":              {put(t, "basic", 0xc6, "ffff0000"), corrupt.ErrUnsupported, "limit"},
		"name no UTF-8":          {put(t, "basic", 0xca, "ffff"), corrupt.ErrCorrupt, "UTF-8"},
		"type":                   {put(t, "basic", 0xcc, "03"), corrupt.ErrUnsupported, "type 3"},
		"default encoding":       {put(t, "basic", 0xcd, "04"), corrupt.ErrUnsupported, "encoding 4"},
		"row groups":             {put(t, "basic", 0xe1, "a1860100"), corrupt.ErrUnsupported, "limit"},
		"columns of a group":     {put(t, "basic", 0xe9, "02000000"), corrupt.ErrCorrupt, "row group of 2 columns"},
		"rows of a group":        {put(t, "basic", 0xe5, "04000000"), corrupt.ErrCorrupt, "5 values"},
		"chunk offset":           {put(t, "basic", 0xed, "ffff000000000000"), corrupt.ErrCorrupt, "outside"},
		"chunk size":             {put(t, "basic", 0xf5, "4b00000000000000"), corrupt.ErrCorrupt, "pages of"},
		"pages":                  {put(t, "basic", 0xfd, "ffff0000"), corrupt.ErrUnsupported, "limit"},
		"total rows":             {put(t, "basic", -16, "06000000"), corrupt.ErrCorrupt, "6 rows"},
		"header not its copy":    {put(t, "basic", 8, "27"), corrupt.ErrCorrupt, "copy"},
		"encoding of integers":   {put(t, "basic", 0x10d, "03"), corrupt.ErrUnsupported, "DICTIONARY of INT64"},
		"statistics flag":        {put(t, "basic", 0x10e, "02"), corrupt.ErrCorrupt, "statistics"},
		"dictionary index":       {put(t, "basic", 0xbb, "08"), corrupt.ErrCorrupt, "index 4"},
		"dictionary size":        {put(t, "basic", 0x9a, "ffffff7f"), corrupt.ErrCorrupt, "entries"},
		"fewer runs than values": {put(t, "basic", 0xb7, "04"), corrupt.ErrCorrupt, "fewer"},
	} {
		got, err := columnsOf(t, c.data, Options{})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: %v, %v; want %v with %q", name, got, err, c.kind, c.what)
		}
	}
	duplicates := write(t, arrow.NewSchema([]arrow.Field{{Name: "ab", Type: arrow.PrimitiveTypes.Int32}, {Name: "ac", Type: arrow.PrimitiveTypes.Int32}}, nil), WriteOptions{}, nil)
	if _, err := columnsOf(t, bytes.Replace(duplicates, []byte("ac"), []byte("ab"), 1), Options{}); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("duplicate names: %v", err)
	}
}

// STRING has no RLE and no DELTA, whatever a page states.
func TestStringsHaveNoRuns(t *testing.T) {
	for _, e := range []Encoding{RLE, Delta} {
		if e.holds(String) || Dictionary.holds(Int32) || Dictionary.holds(Int64) {
			t.Errorf("%v of strings", e)
		}
	}
}

// A run of four thousand million values is not expanded before it is requested.
func TestHugeRunsTakeNoMemory(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil), WriteOptions{Encodings: map[string]Encoding{"n": RLE}})
	if err != nil {
		t.Fatal(err)
	}
	const rows = math.MaxUint32
	data := appendSvarint(binary.AppendUvarint([]byte{1}, rows), 42)
	p := page{uncompressed: uint32(len(data)), compressed: uint32(len(data)), values: rows, encoding: RLE, at: headerSize}
	w.meta = metadata{rows: rows, groups: []rowGroup{{rows: rows, chunks: []chunk{{headerSize, p.size(), []page{p}}}}}}
	if err := w.put(append(p.append(nil), data...)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, url := store(t, out.Bytes())
	f, err := Open(context.Background(), c, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := f.NewSource(fileformat.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := src.Next(context.Background())
	if err != nil || b.NumRows() != fileformat.DefaultBatchRows || b.Column(0).(*array.Int64).Value(8191) != 42 {
		t.Errorf("%v, %v", b, err)
	}
	if f.Rows() != rows {
		t.Errorf("%d rows", f.Rows())
	}
}

// Statistics with one bound or none have 14 and 6 bytes.
func TestStatisticsOfEverySize(t *testing.T) {
	for _, s := range []*statistics{nil, {}, {hasMin: true, min: -5}, {hasMax: true, max: 5, nulls: 3}, {hasMin: true, hasMax: true, min: 1, max: 2}} {
		p := page{encoding: Plain, stats: s}
		b := p.append(nil)
		want := map[int]int64{14: 14, 20: 20, 28: 28, 36: 36}[len(b)]
		r := &metaReader{cursor: cursor{b: b}, out: metadata{columns: []column{{"n", Int64, Plain}}}}
		got, err := r.page(0)
		if p.headerSize() != want || err != nil || !reflect.DeepEqual(got.stats, s) || r.left() != 0 {
			t.Errorf("%+v: %d bytes, %+v, %v", s, len(b), got.stats, err)
		}
		f := &File{meta: &metadata{columns: []column{{"n", Int64, Plain}}}}
		g := &rowGroup{rows: 1, chunks: []chunk{{pages: []page{{values: 1, stats: s}}}}}
		known := f.groupStats(g, 0)
		if hasMin, hasMax := s != nil && s.hasMin, s != nil && s.hasMax; (known.Min != nil) != hasMin || (known.Max != nil) != hasMax || known.Nulls != 0 {
			t.Errorf("%+v: %+v", s, known)
		}
	}
}

// What is unusual but legal is noted, and what only strict reading refuses is refused by it.
func TestNotes(t *testing.T) {
	sized := put(t, "basic", 8, "29000000")
	copy(sized[0x101:], unhex("29000000"))
	if _, err := columnsOf(t, sized, Options{}); err != nil {
		t.Errorf("another uncompressed size: %v", err)
	}
	if _, err := columnsOf(t, sized, Options{StrictPages: true}); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("another uncompressed size, strictly: %v", err)
	}
	nulls := put(t, "basic", 0x28, "02000000")
	copy(nulls[0x121:], unhex("02000000"))
	c, url := store(t, nulls)
	f, err := Open(context.Background(), c, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := f.warnings(); len(w) != 1 || !strings.Contains(w[0], "nulls") {
		t.Errorf("notes %q", w)
	}
	if x, err := f.Inspect(context.Background(), 2); err != nil || x.Version != "1.0" || len(x.Parts) != 1 || len(x.Parts[0].Parts) != 3 || len(x.Parts[0].Parts[0].Parts) != 1 {
		t.Errorf("inspection %+v, %v", x, err)
	}
}

// Statistics that the values contradict are found: a reader would leave out rows.
func TestVerifyComparesStatistics(t *testing.T) {
	bad := put(t, "basic", 0x20, "0400000000000000")
	copy(bad[0x119:], unhex("0400000000000000"))
	c, url := store(t, bad)
	f, err := Open(context.Background(), c, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Verify(context.Background(), fileformat.VerifyOptions{})
	if err != nil || r.OK || len(r.Errors) != 1 || !strings.Contains(r.Errors[0].What, "statistics") {
		t.Errorf("%+v, %v", r, err)
	}
}

// What the format can't hold is refused by name, or put in on request and told.
func TestWriterRefuses(t *testing.T) {
	field := func(name string, t arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: name, Type: t, Nullable: true}}, nil)
	}
	for name, c := range map[string]struct {
		schema *arrow.Schema
		o      WriteOptions
	}{
		"float":                  {field("x", arrow.PrimitiveTypes.Float64), WriteOptions{}},
		"list":                   {field("x", arrow.ListOf(arrow.PrimitiveTypes.Int32)), WriteOptions{}},
		"binary":                 {field("x", arrow.BinaryTypes.Binary), WriteOptions{}},
		"long name":              {field(strings.Repeat("x", 1025), arrow.PrimitiveTypes.Int32), WriteOptions{}},
		"too many pages":         {field("x", arrow.PrimitiveTypes.Int32), WriteOptions{GroupRows: 20_001, PageRows: 2}},
		"no such column":         {field("x", arrow.PrimitiveTypes.Int32), WriteOptions{Nulls: map[string]string{"y": "0"}}},
		"encoding of text":       {field("x", arrow.BinaryTypes.String), WriteOptions{Encodings: map[string]Encoding{"x": Delta}}},
		"null value of integers": {field("x", arrow.PrimitiveTypes.Int32), WriteOptions{Nulls: map[string]string{"x": "many"}}},
	} {
		if _, err := NewWriter(io.Discard, c.schema, c.o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, c := range map[string]struct {
		t     arrow.DataType
		value string
	}{"null": {arrow.PrimitiveTypes.Int32, "null"}, "uint64": {arrow.PrimitiveTypes.Uint64, "9223372036854775808"}, "utf8": {arrow.BinaryTypes.String, "\"\xff\""}} {
		w, err := NewWriter(io.Discard, field("x", c.t), WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, field("x", c.t))
		switch f := b.Field(0).(type) {
		case *array.StringBuilder:
			f.Append("\xff")
		default:
			if err := f.AppendValueFromString(c.value); c.value == "null" {
				f.AppendNull()
			} else if err != nil {
				t.Fatal(err)
			}
		}
		var row *arrowtype.RowError
		if err := w.Write(b.NewRecordBatch()); !errors.As(err, &row) || row.Field != "x" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplacementsAndCasts(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "d", Type: arrow.PrimitiveTypes.Float32}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	b.Field(0).(*array.Float64Builder).Append(1.5)
	b.Field(1).AppendNull()
	b.Field(2).(*array.Float32Builder).Append(-2)
	var out bytes.Buffer
	w, err := NewWriter(&out, s, WriteOptions{Nulls: map[string]string{"n": "-1"}, Casts: map[string]string{"f": CastBits, "d": CastText}})
	if err == nil {
		err = errors.Join(w.Write(b.NewRecordBatch()), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := columnsOf(t, out.Bytes(), Options{})
	want := map[string][]any{"f": {int64(math.Float64bits(1.5))}, "n": {int64(-1)}, "d": {"-2"}}
	if err != nil || !reflect.DeepEqual(got, want) || len(w.Report().Notes) != 3 {
		t.Errorf("%v, %v, %v", got, err, w.Report())
	}
}

// Text that is no UTF-8 is refused as text, and read as bytes on request.
func TestBinaryStrings(t *testing.T) {
	data := bytes.Replace(write(t, sample, WriteOptions{}, map[string][]any{"id": {int64(1)}, "k": {int64(1)}, "s": {"abc"}}), []byte("abc"), []byte("a\xffc"), 1)
	if _, err := columnsOf(t, data, Options{}); !errors.Is(err, corrupt.ErrCorrupt) || !strings.Contains(err.Error(), optionBinary) {
		t.Errorf("%v", err)
	}
	got, err := columnsOf(t, data, Options{BinaryStrings: true})
	if err != nil || got["s"][0] != "a\xffc" {
		t.Errorf("%v, %v", got, err)
	}
}

// The encodings that are chosen: RLE for long runs, DELTA for sorted integers, DICTIONARY for few distinct strings.
func TestChosenEncodings(t *testing.T) {
	for want, values := range map[Encoding][]int64{RLE: {1, 1, 1, 1, 2, 2, 2, 2}, Delta: {1, 2, 2, 5}, Plain: {3, 1, 2}} {
		if got := chooseIntegers(values); got != want {
			t.Errorf("%v: %v, want %v", values, got, want)
		}
	}
	if chooseTexts([]string{"a", "a", "a", "b", "b"}) != Dictionary || chooseTexts([]string{"a", "b", "a", "b"}) != Plain {
		t.Error("strings")
	}
}

// The annotated dump of a file by which people learn the format is what is written: -rewrite makes it again.
func TestAnnotatedFile(t *testing.T) {
	data, err := os.ReadFile("testdata/basic.col")
	if err != nil {
		t.Fatal(err)
	}
	got := annotate(t, data)
	if *rewrite {
		if err := os.WriteFile("testdata/basic.hex", []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/basic.hex")
	if err != nil || got != string(want) {
		t.Errorf("%v, got\n%s", err, got)
	}
}

// annotate prints the bytes of a file, a line for each thing they mean.
func annotate(t *testing.T, data []byte) string {
	c, url := store(t, data)
	f, err := Open(context.Background(), c, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	at := int64(0)
	line := func(end int64, what string) {
		for at < end {
			n := min(end-at, 16)
			fmt.Fprintf(&out, "%04x  %-48s%s\n", at, fmt.Sprintf("% x", data[at:at+n]), what)
			at, what = at+n, ""
		}
	}
	line(4, "magic")
	line(8, "version 1.0")
	for _, g := range f.meta.groups {
		for i, chunk := range g.chunks {
			for _, p := range chunk.pages {
				line(p.at+headerFixed, fmt.Sprintf("page of %s: sizes, values, %v, statistics or not", f.meta.columns[i].name, p.encoding))
				line(p.at+p.headerSize(), "statistics: min, max, nulls")
				line(p.at+p.size(), "values")
			}
		}
	}
	line(at+4, "metadata: columns")
	for _, column := range f.meta.columns {
		line(at+4+int64(len(column.name))+2, fmt.Sprintf("name, %v, %v", column.typ, column.encoding))
	}
	line(at+4, "row groups")
	for _, g := range f.meta.groups {
		line(at+8, "rows, columns")
		for i, chunk := range g.chunks {
			line(at+20, fmt.Sprintf("chunk of %s: offset, size, pages", f.meta.columns[i].name))
			for _, p := range chunk.pages {
				line(at+p.headerSize(), "page header again")
			}
		}
	}
	line(at+4, "rows of the file")
	line(at+4, "footer magic")
	line(at+8, "offset of the metadata")
	return out.String()
}

// FuzzRead: whatever the bytes, reading ends, with rows or with a typed error, and takes no more memory than they do.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.col")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := blobio.NewClient(blobio.ClientOptions{})
		defer c.Close()
		if err := c.Put(context.Background(), "mem://fuzz-cole/x.col", data); err != nil {
			t.Fatal(err)
		}
		defer c.Delete(context.Background(), "mem://fuzz-cole/x.col", "")
		file, err := Open(context.Background(), c, "mem://fuzz-cole/x.col", Options{})
		if err == nil {
			var src *Source
			src, err = file.NewSource(fileformat.ReadOptions{BatchRows: 500})
			for n := 0; err == nil && n < 8; n++ { // a run may be honest and 2³² rows long
				_, err = src.Next(context.Background())
			}
		}
		if err != nil && err != io.EOF && !isTyped(err) && !errors.Is(err, blobio.ErrRange) {
			t.Error(err)
		}
	})
}

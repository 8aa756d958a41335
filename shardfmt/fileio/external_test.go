package fileio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/opened"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// externalTypes are the columns of the Parquet files of these tests.
var externalTypes = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "i8", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
	{Name: "u32", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
	{Name: "f32", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "f64", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "word", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "bin", Type: arrow.BinaryTypes.Binary, Nullable: true},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
	{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	{Name: "price", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}, Nullable: true},
	{Name: "fixed", Type: &arrow.FixedSizeBinaryType{ByteWidth: 5}, Nullable: true},
	{Name: "none", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
}, nil)

// externalBatch makes rows of externalTypes, one value in seven null.
func externalBatch(first, n int) arrow.RecordBatch {
	r := rand.New(rand.NewPCG(uint64(first), 7))
	b := array.NewRecordBuilder(memory.DefaultAllocator, externalTypes)
	for i := first; i < first+n; i++ {
		for k := range externalTypes.NumFields() {
			if k > 0 && r.IntN(7) == 0 || k == externalTypes.NumFields()-1 {
				b.Field(k).AppendNull()
				continue
			}
			switch f := b.Field(k).(type) {
			case *array.Int64Builder:
				f.Append(int64(i))
			case *array.BooleanBuilder:
				f.Append(r.IntN(2) == 0)
			case *array.Int8Builder:
				f.Append(int8(r.IntN(256) - 128))
			case *array.Uint32Builder:
				f.Append(r.Uint32())
			case *array.Float32Builder:
				f.Append(r.Float32())
			case *array.Float64Builder:
				f.Append(r.NormFloat64())
			case *array.StringBuilder:
				if k == 6 {
					f.Append([]string{"red", "green", "blue", ""}[r.IntN(4)])
				} else {
					f.Append(strings.Repeat(fmt.Sprintf("text %d ", i), r.IntN(4)))
				}
			case *array.BinaryBuilder:
				f.Append([]byte{byte(i), byte(r.IntN(256))})
			case *array.Date32Builder:
				f.Append(arrow.Date32(r.IntN(40_000) - 20_000))
			case *array.TimestampBuilder:
				f.Append(arrow.Timestamp(1_700_000_000_000_000 + int64(i)*1_000_003))
			case *array.Decimal128Builder:
				f.Append(decimal128.FromI64(r.Int64N(2_000_000) - 1_000_000))
			case *array.FixedSizeBinaryBuilder:
				f.Append([]byte(fmt.Sprintf("%05d", i%100_000)))
			default:
				panic(fmt.Sprintf("%T", f))
			}
		}
	}
	return b.NewRecordBatch()
}

// parquetBytes is a Parquet file of rows of externalTypes.
func parquetBytes(t testing.TB, first, n, rowGroup int, version parquet.DataPageVersion, codec compress.Compression, int96 bool) []byte {
	t.Helper()
	var out bytes.Buffer
	props := parquet.NewWriterProperties(parquet.WithCompression(codec), parquet.WithDataPageVersion(version), parquet.WithDataPageSize(2<<10),
		parquet.WithMaxRowGroupLength(int64(rowGroup)), parquet.WithDictionaryDefault(true), parquet.WithDictionaryFor("text", false), parquet.WithBatchSize(100))
	w, err := pqarrow.NewFileWriter(externalTypes, &out, props, pqarrow.NewArrowWriterProperties(pqarrow.WithDeprecatedInt96Timestamps(int96)))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBuffered(externalBatch(first, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// lake is a store with Parquet files: of both page versions, several codecs, and INT96.
func lake(t testing.TB) (sp *blobio.Client, files []string) {
	t.Helper()
	sp = blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	folder := "mem://lake-" + strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-") + "/"
	for i, b := range [][]byte{
		parquetBytes(t, 0, 3000, 1200, parquet.DataPageV1, compress.Codecs.Snappy, false),
		parquetBytes(t, 3000, 1500, 1500, parquet.DataPageV2, compress.Codecs.Zstd, true),
		parquetBytes(t, 4500, 700, 1000, parquet.DataPageV1, compress.Codecs.Gzip, true),
		parquetBytes(t, 5200, 300, 1000, parquet.DataPageV2, compress.Codecs.Uncompressed, false),
	} {
		files = append(files, fmt.Sprintf("%sdata/part-%d.parquet", folder, i))
		if err := sp.Put(t.Context(), files[i], b); err != nil {
			t.Fatal(err)
		}
	}
	return sp, files
}

// rowsOf prints all records of a shard as NDJSON.
func rowsOf(t testing.TB, sp *blobio.Client, url string, o shardfmt.ScanOptions) string {
	t.Helper()
	out, err := tryRows(t.Context(), sp, url, o)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return out
}

func tryRows(ctx context.Context, sp *blobio.Client, url string, o shardfmt.ScanOptions) (string, error) {
	shard, err := shardfmt.Open(ctx, sp, url, shardfmt.OpenOptions{})
	if err != nil {
		return "", err
	}
	s, err := shard.Schema(ctx)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &out, s, fileio.SinkOptions{})
	if err != nil {
		return "", err
	}
	for b, err := range shard.Scan(ctx, o) {
		if err != nil {
			return "", err
		}
		if err := sink.Write(b); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

// A shard over Parquet files holds what a shard holds into which they are copied, in every type, codec and page version, and
// nothing but its root is written.
func TestExternalParquetReadsAsIngested(t *testing.T) {
	sp, files := lake(t)
	root := strings.TrimSuffix(files[0], "data/part-0.parquet") + "over.amudai.shard"
	before := sp.Counters()
	w, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, files, shardfmt.ExternalOptions{WriterOptions: shardfmt.WriterOptions{
		StripeRows: 2000, Bloom: map[string]float64{"id": 0.01}}})
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, f := range files {
		info, err := sp.Stat(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size
	}
	after := sp.Counters()
	if w.Records != 5500 || len(w.Objects) != 1 || after.Puts-before.Puts != 1 || after.PutBytes-before.PutBytes != w.Size {
		t.Errorf("%d records, objects %v, %d puts of %d bytes", w.Records, w.Objects, after.Puts-before.Puts, after.PutBytes-before.PutBytes)
	}
	if got := after.GetBytes - before.GetBytes; got > 2*size+size/2+int64(len(files))*64<<10 {
		t.Errorf("%d bytes read of files of %d, which are read twice", got, size)
	}
	if r, err := verify.Shard(t.Context(), sp, root, verify.Options{}); err != nil || !r.OK || len(r.Warnings) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	dictionaries := 0
	shard, err := shardfmt.Open(t.Context(), sp, root, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range shard.Stripes() {
		d, _, err := opened.Root(shard).StripeField(t.Context(), i, 6)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range d.Encodings[0].GetParquet().FileColumnRefs {
			for _, c := range f.ColumnChunks {
				dictionaries += int(min(1, c.GetDictionaryRange().GetEnd()))
			}
		}
	}
	if dictionaries != 6 {
		t.Errorf("%d chunks with a dictionary", dictionaries)
	}
	src, err := fileio.OpenSource(t.Context(), sp, files, fileio.SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	want := through(t, sp, strings.TrimSuffix(root, "over.amudai.shard")+"copy.amudai.shard", src, shardfmt.WriterOptions{})
	if got := rowsOf(t, sp, root, shardfmt.ScanOptions{}); got != want {
		a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range b {
			if i >= len(a) || a[i] != b[i] {
				t.Fatalf("row %d of %d:\n%s\n%s", i, len(b), a[min(i, len(a)-1)], b[i])
			}
		}
	}
}

// The statistics, Bloom filters and page maps in the root let a lookup read the pages of one row of one column: the
// footer, then dictionary and page in one request.
func TestExternalParquetLookup(t *testing.T) {
	sp, files := lake(t)
	root := strings.TrimSuffix(files[0], "data/part-0.parquet") + "over.amudai.shard"
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, files, shardfmt.ExternalOptions{WriterOptions: shardfmt.WriterOptions{StripeRows: 1000}}); err != nil {
		t.Fatal(err)
	}
	shard, err := shardfmt.Open(t.Context(), sp, root, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := filter.Parse("id = 4711")
	if err != nil {
		t.Fatal(err)
	}
	bound, err := filter.Bind(e, s)
	if err != nil {
		t.Fatal(err)
	}
	var st shardfmt.ScanStats
	read := func(o shardfmt.ScanOptions) (rows int64, used blobio.Counters) {
		before := sp.Counters()
		for b, err := range shard.Scan(t.Context(), o) {
			if err != nil {
				t.Fatal(err)
			}
			rows += b.NumRows()
		}
		after := sp.Counters()
		return rows, blobio.Counters{Gets: after.Gets - before.Gets, GetBytes: after.GetBytes - before.GetBytes}
	}
	rows, _ := read(shardfmt.ScanOptions{Columns: []string{"id"}, Filter: bound, Stats: &st})
	if rows != 1 || st.StripesPruned != len(shard.Stripes())-1 {
		t.Errorf("%d rows, %+v", rows, st)
	}
	if len(shard.Stripes()) != 5 {
		t.Errorf("%d stripes", len(shard.Stripes()))
	}
	// One row by position: page map, and then its page; the footer is available.
	rows, used := read(shardfmt.ScanOptions{Columns: []string{"text"}, Start: 4712, End: 4713})
	if rows != 1 || used.Gets > 2 || used.GetBytes > 16<<10 {
		t.Errorf("%d rows with %+v", rows, used)
	}
}

// Polars writes dictionaries of which the footer does not tell: dictionary_page_offset is missing.
func TestExternalParquetFindsDictionaries(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	file, root := "mem://polars/dictionary-without-offset.parquet", "mem://polars/over.amudai.shard"
	putFile(t, sp, file)
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, []string{file}, shardfmt.ExternalOptions{}); err != nil {
		t.Fatal(err)
	}
	if r, err := verify.Shard(t.Context(), sp, root, verify.Options{}); err != nil || !r.OK {
		t.Errorf("%+v %v", r, err)
	}
	want := "{\"tz\":\"2020-01-01T00:02:03.000456Z\"}\n{\"tz\":null}\n{\"tz\":\"1959-12-31T23:00:00Z\"}\n"
	if got := rowsOf(t, sp, root, shardfmt.ScanOptions{}); got != want {
		t.Errorf("read:\n%swant:\n%s", got, want)
	}
}

// Old releases of DuckDB count the header of the dictionary page short where the footer reports where data begin.
func TestExternalParquetFindsTheEndOfDictionaries(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	types := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	texts, _, err := array.FromJSON(memory.DefaultAllocator, types.Field(0).Type, strings.NewReader(`["na"`+strings.Repeat(`, "1956", "1995"`, 500)+"]"))
	if err != nil {
		t.Fatal(err)
	}
	var whole, off bytes.Buffer
	w, err := pqarrow.NewFileWriter(types, &whole, parquet.NewWriterProperties(parquet.WithDictionaryDefault(true)), pqarrow.DefaultWriterProps())
	if err == nil {
		err = errors.Join(w.Write(array.NewRecordBatch(types, []arrow.Array{texts}, 1001)), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := file.NewParquetReader(bytes.NewReader(whole.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	about := r.MetaData()
	chunk := about.RowGroups[0].Columns[0].MetaData
	if chunk.DictionaryPageOffset == nil || *chunk.DictionaryPageOffset+7 >= chunk.DataPageOffset {
		t.Fatalf("no dictionary: %v", chunk)
	}
	chunk.DataPageOffset -= 7
	tail := whole.Bytes()[whole.Len()-8:]
	body := whole.Len() - 8 - int(binary.LittleEndian.Uint32(tail))
	off.Write(whole.Bytes()[:body])
	n, err := about.WriteTo(&off, nil)
	if err != nil {
		t.Fatal(err)
	}
	off.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), tail[4:]...))
	input, root := "mem://off/in.parquet", "mem://off/over.amudai.shard"
	if err := sp.Put(t.Context(), input, off.Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, []string{input}, shardfmt.ExternalOptions{}); err != nil {
		t.Fatal(err)
	}
	if r, err := verify.Shard(t.Context(), sp, root, verify.Options{}); err != nil || !r.OK {
		t.Errorf("%+v %v", r, err)
	}
	want := "{\"s\":\"na\"}\n" + strings.Repeat("{\"s\":\"1956\"}\n{\"s\":\"1995\"}\n", 500)
	if got := rowsOf(t, sp, root, shardfmt.ScanOptions{}); got != want {
		t.Errorf("read:\n%swant:\n%s", got, want)
	}
}

// A column without a type but Null is refused when the root is written: no reader has a type for it.
func TestExternalParquetRefusesNullColumns(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	file := "mem://untyped/null-column.parquet"
	putFile(t, sp, file)
	_, err := shardfmt.WriteExternalParquet(t.Context(), sp, "mem://untyped/over.amudai.shard", []string{file}, shardfmt.ExternalOptions{})
	if !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), `column "n" has the type Null`) {
		t.Errorf("refused with %v", err)
	}
}

// putFile copies a file of testdata/external to a URL of its name.
func putFile(t *testing.T, sp *blobio.Client, url string) {
	t.Helper()
	data, err := os.ReadFile("testdata/external/" + path.Base(url))
	if err != nil {
		t.Fatal(err)
	}
	if err := sp.Put(t.Context(), url, data); err != nil {
		t.Fatal(err)
	}
}

// Shards over Parquet files merge without reading a page; the merged root lists the files and reads the same.
func TestExternalParquetMerges(t *testing.T) {
	sp, files := lake(t)
	base := strings.TrimSuffix(files[0], "data/part-0.parquet")
	var inputs []merge.Input
	want := ""
	for i, some := range [][]string{files[:2], files[2:]} {
		url := fmt.Sprintf("%sdata/over-%d.amudai.shard", base, i)
		if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, url, some, shardfmt.ExternalOptions{}); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, merge.Input{URL: url})
		want += rowsOf(t, sp, url, shardfmt.ScanOptions{})
	}
	before := sp.Counters()
	if _, err := merge.Concat(t.Context(), sp, base+"all.amudai.shard", inputs, merge.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := sp.Counters().GetBytes - before.GetBytes; got > 200<<10 {
		t.Errorf("a merge read %d bytes", got)
	}
	if got := rowsOf(t, sp, base+"all.amudai.shard", shardfmt.ScanOptions{}); got != want {
		t.Error("the merged shard reads otherwise")
	}
	if r, err := verify.Shard(t.Context(), sp, base+"all.amudai.shard", verify.Options{}); err != nil || !r.OK || len(r.Warnings) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	root, err := meta.OpenRoot(t.Context(), sp, base+"all.amudai.shard", meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := root.URLList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.Contains(fmt.Sprint(list.Urls), strings.TrimPrefix(f, base)) {
			t.Errorf("%s is not in the URL list %v", f, list.Urls)
		}
	}
	if _, err := merge.Pack(t.Context(), sp, base+"packed.amudai.shard", []merge.Input{{URL: base + "all.amudai.shard"}}, merge.PackOptions{Object: base + "data/packed.amudai.stripe", All: true}); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, sp, base+"packed.amudai.shard", shardfmt.ScanOptions{}); got != want {
		t.Error("the packed shard reads otherwise")
	}
}

// Files outside the folder of the root need leave when writing, and when reading.
func TestExternalParquetOutsideTheFolder(t *testing.T) {
	sp, files := lake(t)
	root := "mem://elsewhere-" + strings.ToLower(t.Name()) + "/over.amudai.shard"
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, files, shardfmt.ExternalOptions{}); err == nil || !strings.Contains(err.Error(), "--allow-external") {
		t.Error(err)
	}
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, files, shardfmt.ExternalOptions{AllowExternal: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := tryRows(t.Context(), sp, root, shardfmt.ScanOptions{}); err == nil {
		t.Error("a file outside the folder was read without leave")
	}
}

// Whatever byte of a Parquet file is damaged, reading ends, and in an error or in records: neither in a panic nor out of
// memory.
func TestExternalParquetDamaged(t *testing.T) {
	sp, files := lake(t)
	root := strings.TrimSuffix(files[0], "data/part-0.parquet") + "over.amudai.shard"
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, files[3:], shardfmt.ExternalOptions{}); err != nil {
		t.Fatal(err)
	}
	good, _, err := sp.ReadAll(t.Context(), files[3], 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, sp, root, shardfmt.ScanOptions{})
	r := rand.New(rand.NewPCG(3, 4))
	refused := 0
	end := time.Now().Add(2 * time.Second)
	for i := 0; i < 400 && time.Now().Before(end); i++ {
		bad := bytes.Clone(good)
		if i == 0 {
			bad = bad[:len(bad)-1]
		} else if at := r.IntN(len(bad)); i%2 == 0 {
			bad[at] ^= 1 << r.IntN(8)
		} else {
			bad[at] = 0xff
		}
		if err := sp.Delete(t.Context(), files[3], ""); err != nil {
			t.Fatal(err)
		}
		if err := sp.Put(t.Context(), files[3], bad); err != nil {
			t.Fatal(err)
		}
		got, err := tryRows(t.Context(), sp, root, shardfmt.ScanOptions{MaxMemory: 64 << 20})
		if err != nil {
			refused++
		} else if i == 0 || len(got) > 4*len(want) {
			t.Fatalf("%d bytes of records of a damaged file", len(got))
		}
	}
	if refused == 0 {
		t.Error("no damage was found")
	}
}

// Every byte of a Parquet file that a shard is over is protected by a checksum in the root, however shards over files are merged; of a
// shard over some columns the others' bytes are counted as unprotected.
func TestExternalParquetFlips(t *testing.T) {
	sp, files := lake(t)
	base := strings.TrimSuffix(files[0], "data/part-0.parquet")
	one, two, merged, some := base+"data/one.amudai.shard", base+"data/two.amudai.shard", base+"all.amudai.shard", base+"some.amudai.shard"
	for url, of := range map[string][]string{one: files[:1], two: files[1:2]} {
		if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, url, of, shardfmt.ExternalOptions{WriterOptions: shardfmt.WriterOptions{StripeRows: 1000}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := merge.Concat(t.Context(), sp, merged, []merge.Input{{URL: one}, {URL: two}}, merge.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, some, files[:1], shardfmt.ExternalOptions{Columns: []string{"id"}}); err != nil {
		t.Fatal(err)
	}
	check := func(url string) *corrupt.Report {
		r, err := verify.Shard(t.Context(), sp, url, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, url := range []string{one, merged} {
		if r := check(url); !r.OK || r.UnprotectedBytes != 0 {
			t.Fatalf("%s: %v, %d bytes unprotected", url, r.Errors, r.UnprotectedBytes)
		}
	}
	data, _, err := sp.ReadAll(t.Context(), files[0], 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	if r := check(some); !r.OK || r.UnprotectedBytes < int64(len(data))/4 || r.UnprotectedBytes >= int64(len(data)) {
		t.Errorf("one column: %v, %d of %d bytes unprotected", r.Errors, r.UnprotectedBytes, len(data))
	}
	places := []int{0, 3, 4, 5, len(data) - 1, len(data) - 4, len(data) - 5, len(data) - 8, len(data) - 9}
	for at := 17; at < len(data); at += len(data)/40 + 1 {
		places = append(places, at)
	}
	for k, at := range places {
		flipped := bytes.Clone(data)
		flipped[at] ^= 1 << (k % 8)
		if err := sp.Delete(t.Context(), files[0], ""); err != nil {
			t.Fatal(err)
		}
		if err := sp.Put(t.Context(), files[0], flipped); err != nil {
			t.Fatal(err)
		}
		if r := check([]string{one, merged}[k%2]); r.OK {
			t.Errorf("byte %d of %d was flipped: whole", at, len(data))
		}
	}
}

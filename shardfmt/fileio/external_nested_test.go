package fileio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/seed"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// nestedTypes are lists, structs and maps in each other, required and not.
func nestedTypes() *arrow.Schema {
	i64, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	member := func(name string, t arrow.DataType, nullable bool) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: nullable}
	}
	point := arrow.StructOf(member("x", i64, true), member("y", text, false))
	return arrow.NewSchema([]arrow.Field{
		member("id", i64, false),
		member("numbers", arrow.ListOf(i64), true),
		member("texts", arrow.ListOfNonNullable(text), false),
		member("point", point, true),
		member("required", arrow.StructOf(member("a", i64, false), member("b", arrow.FixedWidthTypes.Boolean, true)), false),
		member("points", arrow.ListOf(point), true),
		member("matrix", arrow.ListOf(arrow.ListOf(i64)), true),
		member("map", arrow.MapOf(text, i64), true),
		member("deep", arrow.StructOf(
			member("in", arrow.StructOf(member("when", arrow.FixedWidthTypes.Timestamp_us, true)), true),
			member("list", arrow.ListOf(arrow.StructOf(member("tags", arrow.ListOf(text), true), member("n", arrow.PrimitiveTypes.Float64, true))), true),
			member("map", arrow.MapOf(text, arrow.ListOf(&arrow.Decimal128Type{Precision: 9, Scale: 2})), true),
		), true),
		member("empty", arrow.ListOf(i64), true),
	}, nil)
}

// appendNested appends a value of any type, one in five null where that is allowed.
func appendNested(b array.Builder, f arrow.Field, r *rand.Rand) {
	if f.Nullable && r.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	some := func() int { // elements, often none, seldom many
		return []int{0, 0, 1, 2, 3, 40}[r.IntN(6)]
	}
	switch t := f.Type.(type) {
	case *arrow.MapType:
		m := b.(*array.MapBuilder)
		m.Append(true)
		for i := range some() {
			m.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprintf("k%d", i))
			appendNested(m.ItemBuilder(), arrow.Field{Type: t.ItemType(), Nullable: true}, r)
		}
	case *arrow.ListType:
		l := b.(*array.ListBuilder)
		l.Append(true)
		if f.Name == "empty" {
			return
		}
		for range some() {
			appendNested(l.ValueBuilder(), arrow.Field{Type: t.Elem(), Nullable: t.ElemField().Nullable}, r)
		}
	case *arrow.StructType:
		s := b.(*array.StructBuilder)
		s.Append(true)
		for i := range t.NumFields() {
			appendNested(s.FieldBuilder(i), t.Field(i), r)
		}
	default:
		var err error
		switch b := b.(type) {
		case *array.StringBuilder:
			b.Append(strings.Repeat("word ", r.IntN(4)) + fmt.Sprint(r.IntN(90)))
		case *array.BooleanBuilder:
			b.Append(r.IntN(2) == 0)
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(r.Int64N(1 << 50)))
		default:
			err = b.AppendValueFromString(fmt.Sprint(r.IntN(1000)))
		}
		if err != nil {
			panic(err)
		}
	}
}

// nestedParquet is a file of nestedTypes with small pages.
func nestedParquet(t *testing.T, r *rand.Rand, first, rows int, version parquet.DataPageVersion, codec compress.Compression, dictionary bool) []byte {
	t.Helper()
	types := nestedTypes()
	b := array.NewRecordBuilder(memory.DefaultAllocator, types)
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(first + i))
		for k := 1; k < types.NumFields(); k++ {
			appendNested(b.Field(k), types.Field(k), r)
		}
	}
	var out bytes.Buffer
	properties := parquet.NewWriterProperties(parquet.WithCompression(codec), parquet.WithDataPageVersion(version), parquet.WithDataPageSize(600),
		parquet.WithMaxRowGroupLength(700), parquet.WithDictionaryDefault(dictionary), parquet.WithBatchSize(50))
	w, err := pqarrow.NewFileWriter(types, &out, properties, pqarrow.DefaultWriterProps())
	if err == nil {
		err = errors.Join(w.WriteBuffered(b.NewRecordBatch()), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A shard over Parquet files of nested columns has the rows of one into which they are copied, also when read in part, merged and rewritten.
func TestExternalParquetNested(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	n, _ := seed.Of(t)
	r, folder := rand.New(rand.NewPCG(n, 1)), "mem://external-nested/"
	var files []string
	for i, b := range [][]byte{
		nestedParquet(t, r, 0, 1500, parquet.DataPageV1, compress.Codecs.Snappy, true),
		nestedParquet(t, r, 1500, 900, parquet.DataPageV2, compress.Codecs.Zstd, false),
		nestedParquet(t, r, 2400, 300, parquet.DataPageV2, compress.Codecs.Uncompressed, true),
	} {
		files = append(files, fmt.Sprintf("%spart-%d.parquet", folder, i))
		if err := sp.Put(t.Context(), files[i], b); err != nil {
			t.Fatal(err)
		}
	}
	root := folder + "over.amudai.shard"
	w, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, files, shardfmt.ExternalOptions{WriterOptions: shardfmt.WriterOptions{StripeRows: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	if w.Records != 2700 || len(w.Objects) != 1 {
		t.Errorf("%d records, objects %v", w.Records, w.Objects)
	}
	if r, err := verify.Shard(t.Context(), sp, root, verify.Options{}); err != nil || !r.OK || len(r.Warnings) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	src, err := fileio.OpenSource(t.Context(), sp, files, fileio.SourceOptions{InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	want := strings.SplitAfter(through(t, sp, folder+"copy.amudai.shard", src, shardfmt.WriterOptions{}), "\n")
	same := func(name, got string, from, to int) {
		t.Helper()
		lines := strings.SplitAfter(got, "\n")
		if len(lines) != to-from+1 {
			t.Fatalf("%s: %d rows, want %d", name, len(lines)-1, to-from)
		}
		for i := range to - from {
			if lines[i] != want[from+i] {
				t.Fatalf("%s, row %d:\n%s%s", name, from+i, lines[i], want[from+i])
			}
		}
	}
	same("all", rowsOf(t, sp, root, shardfmt.ScanOptions{}), 0, 2700)
	for _, part := range [][2]int{{0, 1}, {699, 701}, {1234, 1777}, {2699, 2700}} {
		same("part", rowsOf(t, sp, root, shardfmt.ScanOptions{Start: uint64(part[0]), End: uint64(part[1])}), part[0], part[1])
	}
	other, merged, packed := folder+"other.amudai.shard", folder+"merged.amudai.shard", folder+"packed.amudai.shard"
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, other, files[1:], shardfmt.ExternalOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := merge.Concat(t.Context(), sp, merged, []merge.Input{{URL: other}, {URL: root}}, merge.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := merge.Pack(t.Context(), sp, packed, []merge.Input{{URL: merged}}, merge.PackOptions{Object: folder + "packed.amudai.stripe", All: true}); err != nil {
		t.Fatal(err)
	}
	want = append(want[1500:2700:2700], want...)
	for _, url := range []string{merged, packed} {
		same(url, rowsOf(t, sp, url, shardfmt.ScanOptions{}), 0, 3900)
		if r, err := verify.Shard(t.Context(), sp, url, verify.Options{}); err != nil || !r.OK {
			t.Errorf("%s: %+v %v", url, r, err)
		}
	}
}

// Damage in a file of nested columns makes an error of corrupt data where it makes one, for who writes the shard as for who reads it. (Scans do not
// compare checksums: a flipped bit of a value is found by verify.)
func TestExternalParquetNestedDamage(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	n, _ := seed.Of(t)
	r, folder := rand.New(rand.NewPCG(n, 2)), "mem://external-nested-damage/"
	whole := nestedParquet(t, r, 0, 200, parquet.DataPageV1, compress.Codecs.Uncompressed, true)
	root, file := folder+"over.amudai.shard", folder+"a.parquet"
	if err := sp.Put(t.Context(), file, whole); err != nil {
		t.Fatal(err)
	}
	if _, err := shardfmt.WriteExternalParquet(t.Context(), sp, root, []string{file}, shardfmt.ExternalOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		bad := bytes.Clone(whole)
		bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		if err := sp.Delete(t.Context(), file, ""); err != nil {
			t.Fatal(err)
		}
		if err := sp.Put(t.Context(), file, bad); err != nil {
			t.Fatal(err)
		}
		if _, err := tryRows(t.Context(), sp, root, shardfmt.ScanOptions{}); err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("scan: %v", err)
		}
		_, err := shardfmt.WriteExternalParquet(context.Background(), sp, folder+"again.amudai.shard", []string{file}, shardfmt.ExternalOptions{})
		if err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) && !strings.Contains(err.Error(), "fields") {
			t.Errorf("write: %v", err)
		}
		if err == nil {
			if err := sp.Delete(t.Context(), folder+"again.amudai.shard", ""); err != nil {
				t.Fatal(err)
			}
		}
	}
}

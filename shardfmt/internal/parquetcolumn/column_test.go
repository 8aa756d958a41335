package parquetcolumn_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcolumn"
)

// kinds are types that are decoded here.
var kinds = []arrow.DataType{
	arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64,
	arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Time32ms,
	arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Timestamp_us, &arrow.TimestampType{Unit: arrow.Nanosecond},
	&arrow.Decimal128Type{Precision: 7, Scale: 2}, &arrow.Decimal128Type{Precision: 15, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 10},
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary,
}

// shape of a file.
type shape struct {
	rows, distinct int
	nulls          float64 // share of them, of which half come in runs
	nullable       bool
	options        []parquet.WriterProperty
	decimals       bool // as integers, where they fit
	group          int64
}

func random(r *rand.Rand) shape {
	rows := 1 + r.IntN(3000)
	s := shape{
		rows: rows, distinct: []int{1, 2, 3, 200, 1 << 20}[r.IntN(5)], nulls: []float64{0, 0.01, 0.5, 0.99, 1}[r.IntN(5)],
		nullable: r.IntN(3) > 0, decimals: r.IntN(2) == 0, group: int64(1 + r.IntN(rows)),
	}
	s.options = []parquet.WriterProperty{
		parquet.WithDictionaryDefault(r.IntN(3) > 0), parquet.WithDictionaryPageSizeLimit(int64(200 + r.IntN(20_000))),
		parquet.WithDataPageSize(int64(1 + r.IntN(5000))), parquet.WithBatchSize(int64(1 + r.IntN(500))),
		parquet.WithDataPageVersion([]parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2}[r.IntN(2)]),
		parquet.WithCompression([]compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip,
			compress.Codecs.Lz4Raw}[r.IntN(5)]),
		parquet.WithStoreDecimalAsInteger(s.decimals), parquet.WithVersion(parquet.V2_LATEST),
	}
	return s
}

// column makes values of a type.
func (s shape) column(r *rand.Rand, t arrow.DataType) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	stretch, missing := 0, false
	for range s.rows {
		if stretch--; stretch < 0 {
			missing, stretch = r.Float64() < s.nulls, r.IntN(2)*r.IntN(100)
		}
		if s.nullable && missing {
			b.AppendNull()
			continue
		}
		appendValue(b, int64(r.IntN(s.distinct))*2654435761-int64(s.distinct/2))
	}
	return b.NewArray()
}

func appendValue(b array.Builder, v int64) {
	switch b := b.(type) {
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Uint32Builder:
		b.Append(uint32(v))
	case *array.Int64Builder:
		b.Append(v)
	case *array.Uint64Builder:
		b.Append(uint64(v))
	case *array.Float32Builder:
		b.Append(float32(v) / 3)
	case *array.Float64Builder:
		b.Append(float64(v) / 3)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v % 100_000))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v & 0xFFFFFF))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v & 0xFFFFFF))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	case *array.Decimal128Builder:
		n := decimal128.FromI64(v % 9_999_999)
		if b.Type().(*arrow.Decimal128Type).Precision > 18 {
			n = n.Mul(decimal128.FromU64(1 << 40))
		}
		b.Append(n)
	case *array.StringBuilder:
		b.Append(text(v))
	case *array.LargeStringBuilder:
		b.Append(text(v))
	case *array.BinaryBuilder:
		b.Append([]byte(text(v)))
	default:
		panic(fmt.Sprintf("no values of %v", b.Type()))
	}
}

func text(v int64) string {
	s := fmt.Sprint(v)
	return s[:len(s)-int(v&1)*len(s)] // every second is empty
}

// write makes a file of all kinds.
func (s shape) write(t testing.TB, r *rand.Rand, kinds []arrow.DataType) []byte {
	t.Helper()
	fields, columns := []arrow.Field{}, []arrow.Array{}
	for i, k := range kinds {
		fields = append(fields, arrow.Field{Name: fmt.Sprint(i, " ", k), Type: k, Nullable: s.nullable})
		columns = append(columns, s.column(r, k))
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(s.rows))
	var out bytes.Buffer
	o := append([]parquet.WriterProperty{parquet.WithMaxRowGroupLength(s.group)}, s.options...)
	w, err := pqarrow.NewFileWriter(batch.Schema(), &out, parquet.NewWriterProperties(o...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < int64(s.rows); at += s.group {
		if err := w.Write(batch.NewSlice(at, min(at+s.group, int64(s.rows)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestAsArrow reads files of random shapes as Arrow's reader does.
func TestAsArrow(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := random(r)
		b := s.write(t, r, kinds)
		want, err := pqarrow.ReadTable(context.Background(), bytes.NewReader(b), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		f, err := file.NewParquetReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		for i, kind := range kinds {
			all, err := array.Concatenate(want.Column(i).Data().Chunks(), memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			if all.Len() != s.rows || all.DataType().ID() != kind.ID() {
				t.Fatalf("%d rows of %v where %d of %v were written", all.Len(), all.DataType(), s.rows, kind)
			}
			if err := compare(r, f, i, all); err != nil {
				t.Fatalf("seed %d, %v of %+v: %v", seed, kind, s, err)
			}
		}
	}
}

// compare reads a column in batches of random lengths. What was kept stays as it was.
func compare(r *rand.Rand, f *file.Reader, i int, want arrow.Array) error {
	keep := r.IntN(2) == 0
	c := parquetcolumn.New(f, i, want.DataType(), parquetcolumn.Options{Keep: keep, MaxPage: 1 << 26})
	if c == nil {
		return fmt.Errorf("it isn't decoded here")
	}
	defer c.Close()
	kept := []arrow.Array{}
	for at := 0; at < want.Len(); {
		n := 1 + r.IntN(min(want.Len()-at, 700))
		got, err := c.Next(n)
		if err != nil {
			return fmt.Errorf("rows from %d on: %w", at, err)
		}
		if part := array.NewSlice(want, int64(at), int64(at+n)); !array.Equal(got, part) {
			return fmt.Errorf("rows %d to %d: %v where Arrow has %v", at, at+n, got, part)
		}
		kept, at = append(kept, got), at+n
	}
	if _, err := c.Next(1); err == nil {
		return fmt.Errorf("a row behind the last")
	}
	if !keep {
		return nil
	}
	if all, err := array.Concatenate(kept, memory.DefaultAllocator); err != nil || !array.Equal(all, want) {
		return fmt.Errorf("what was kept changed: %v", err)
	}
	return nil
}

// TestOthers leaves to Arrow's reader what isn't decoded here: types that a column is not of, and nested columns.
func TestOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := shape{rows: 10, distinct: 3, group: 10}
	f, err := file.NewParquetReader(bytes.NewReader(s.write(t, r, []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64})))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Float32, arrow.BinaryTypes.String, arrow.Null,
		arrow.FixedWidthTypes.Float16, &arrow.Decimal256Type{Precision: 9}, arrow.ListOf(arrow.PrimitiveTypes.Int32)} {
		if parquetcolumn.New(f, 0, kind, parquetcolumn.Options{}) != nil {
			t.Errorf("an INT32 isn't read as %v", kind)
		}
	}
	if parquetcolumn.New(f, 1, arrow.PrimitiveTypes.Int8, parquetcolumn.Options{}) != nil {
		t.Error("an INT64 isn't read as an Int8")
	}
}

// TestReused: batches that aren't kept take no new memory for their values.
func TestReused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := shape{rows: 200_000, distinct: 200, nullable: true, nulls: 0.5, group: 200_000, options: []parquet.WriterProperty{parquet.WithStats(false)}}
	for _, kind := range kinds {
		b := s.write(t, r, []arrow.DataType{kind})
		f, err := file.NewParquetReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		c := parquetcolumn.New(f, 0, kind, parquetcolumn.Options{})
		next := func() {
			if _, err := c.Next(1000); err != nil {
				t.Fatal(err)
			}
		}
		next()
		next()
		// An array and its buffers; a page now and then.
		if n := testing.AllocsPerRun(100, next); n > 14 {
			t.Errorf("%v: %.0f allocations a batch", kind, n)
		}
		c.Close()
	}
}

// FuzzFile reads what becomes of a file when some of its bytes change.
func FuzzFile(f *testing.F) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := random(r)
		s.rows = 1 + r.IntN(100)
		s.group = int64(1 + r.IntN(s.rows))
		f.Add(s.write(f, r, kinds[r.IntN(len(kinds)):][:1]), uint16(r.IntN(100)))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint16) { read(t, b, kinds, 1+int(step&0xFF)) })
}

// read reads the columns of a file as types that they may have.
func read(t testing.TB, b []byte, kinds []arrow.DataType, step int) {
	f := open(b)
	if f == nil {
		return
	}
	for i := range min(f.MetaData().Schema.NumColumns(), 4) {
		for _, kind := range kinds {
			readAs(t, f, i, kind, step)
		}
	}
}

// open opens a file, if Arrow's reader can.
func open(b []byte) (f *file.Reader) {
	defer func() { _ = recover() }()
	limits := parquet.NewReaderProperties(nil)
	limits.MaxUncompressedPageSize, limits.MaxCompressedPageSize = 1<<16, 1<<16 // of pages the library takes the memory that they claim
	f, err := file.NewParquetReader(bytes.NewReader(b), file.WithReadProps(limits))
	if err != nil {
		return nil
	}
	return f
}

func readAs(t testing.TB, f *file.Reader, i int, kind arrow.DataType, step int) {
	readBy(t, parquetcolumn.New, f, i, kind, step)
	readBy(t, parquetcolumn.NewCoded, f, i, kind, step)
}

func readBy(t testing.TB, open func(*file.Reader, int, arrow.DataType, parquetcolumn.Options) *parquetcolumn.Column, f *file.Reader, i int, kind arrow.DataType, step int) {
	var c *parquetcolumn.Column
	func() {
		defer func() { _ = recover() }() // of the library, over a footer
		c = open(f, i, kind, parquetcolumn.Options{Keep: true, MaxPage: 1 << 20})
	}()
	if c == nil {
		return
	}
	if c.Coded() != nil {
		kind = c.Coded()
	}
	for range 30 {
		a, err := c.Next(step)
		if err != nil {
			return
		}
		s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: kind, Nullable: true}}, nil)
		if err := arrowtype.Validate(array.NewRecordBatch(s, []arrow.Array{a}, int64(step))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamaged changes bytes of the pages of files.
func TestDamaged(t *testing.T) {
	for i, kind := range kinds {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		s := random(r)
		s.rows, s.group = 40, 25
		b := s.write(t, r, []arrow.DataType{kind})
		pages := len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:]))
		for range 100 {
			at := 4 + r.IntN(pages-4)
			was := b[at]
			b[at] = []byte{was ^ 1, was ^ 0x80, 0xFF, 0}[r.IntN(4)]
			read(t, b, []arrow.DataType{kind}, 9)
			b[at] = was
		}
	}
}

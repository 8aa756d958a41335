package parquetwrite_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/shardfmt/internal/parquetwrite"
)

// kinds are types of columns: all that are encoded here, and some that are left to the library.
var kinds = []arrow.DataType{
	arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Date32, arrow.PrimitiveTypes.Float32,
	arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.FixedWidthTypes.Time64us, arrow.PrimitiveTypes.Float64,
	arrow.FixedWidthTypes.Timestamp_ns, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary,
	&arrow.Decimal128Type{Precision: 7, Scale: 2}, &arrow.Decimal128Type{Precision: 15, Scale: 2}, &arrow.Decimal128Type{Precision: 30, Scale: 4},
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, &arrow.FixedSizeBinaryType{ByteWidth: 16},
	arrow.ListOf(arrow.PrimitiveTypes.Int64), arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}),
	arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64),
}

// value appends a value: one of few, or any, by its number.
func value(b array.Builder, n uint64) {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(n))
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Uint32Builder:
		b.Append(uint32(n))
	case *array.Date32Builder:
		b.Append(arrow.Date32(int32(n)))
	case *array.Float32Builder:
		b.Append(math.Float32frombits(uint32(n)))
	case *array.Int64Builder:
		b.Append(int64(n))
	case *array.Uint64Builder:
		b.Append(n)
	case *array.Time64Builder:
		b.Append(arrow.Time64(n % 86_400_000_000))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(n))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n))
	case *array.BooleanBuilder:
		b.Append(n%3 == 0)
	case *array.Decimal128Builder:
		p := b.Type().(*arrow.Decimal128Type).Precision
		d := decimal128.FromI64(int64(n % uint64(math.Pow10(int(min(p, 18))))))
		if n%2 == 0 {
			d = d.Negate()
		}
		b.Append(d)
	case *array.FixedSizeBinaryBuilder:
		b.Append(fmt.Appendf(nil, "%016x", n))
	case *array.ListBuilder:
		b.Append(true)
		for range n % 4 {
			value(b.ValueBuilder(), n)
		}
	case *array.MapBuilder:
		b.Append(true)
		for i := range n % 3 {
			value(b.KeyBuilder(), i)
			value(b.ItemBuilder(), n)
		}
	case *array.StructBuilder:
		b.Append(true)
		value(b.FieldBuilder(0), n)
	case array.StringLikeBuilder:
		b.Append(text(n))
	case array.BinaryLikeBuilder:
		b.Append([]byte(text(n)))
	default:
		panic(b.Type().String())
	}
}

func text(n uint64) string {
	return fmt.Sprintf("%x", n)[:min(n%20, uint64(len(fmt.Sprintf("%x", n))))]
}

// batch makes rows of which each column has few different values or many, in runs or not, with nulls or without.
func batch(r *rand.Rand, s *arrow.Schema, few []uint64, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i, f := range b.Fields() {
		for row := range rows {
			if s.Field(i).Nullable && r.IntN(5) == 0 {
				f.AppendNull()
				continue
			}
			n := r.Uint64()
			if few[i] > 0 {
				n = n % few[i] * 0x9E3779B97F4A7C15 >> 3
			}
			if few[i] == 1 {
				n = uint64(row / 7)
			}
			value(f, n)
		}
	}
	return b.NewRecordBatch()
}

// What is written is what was given, for every type, with a dictionary, without, and with one that is given up on the way.
func TestRowsSurvive(t *testing.T) {
	encodings := map[string]int{}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		var fields []arrow.Field
		var few []uint64
		for i, kind := range kinds {
			fields = append(fields, arrow.Field{Name: fmt.Sprint(i), Type: kind, Nullable: r.IntN(2) == 0})
			few = append(few, []uint64{0, 1, 2, 300, 9000}[r.IntN(5)])
		}
		s := arrow.NewSchema(fields, nil)
		var out bytes.Buffer
		w, err := parquetwrite.New(&out, s)
		if err != nil {
			t.Fatal(err)
		}
		var given []arrow.RecordBatch
		for range r.IntN(4) {
			b := batch(r, s, few, 1+r.IntN(25_000))
			given = append(given, b)
			part := b.NewSlice(int64(r.IntN(int(b.NumRows()))), b.NumRows())
			given[len(given)-1] = part
			if err := w.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		compare(t, out.Bytes(), s, given, encodings)
	}
	if encodings["coded"] < 20 || encodings["plain"] < 20 {
		t.Errorf("columns by encoding: %v", encodings)
	}
}

// compare reads a file by the library, and holds it to what was given, and its statistics to those of its values.
func compare(t *testing.T, b []byte, s *arrow.Schema, given []arrow.RecordBatch, encodings map[string]int) {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.NumRowGroups() {
		for j := range f.MetaData().Schema.NumColumns() {
			c, err := f.MetaData().RowGroup(i).ColumnChunk(j)
			if err != nil {
				t.Fatal(err)
			}
			if c.HasDictionaryPage() {
				encodings["coded"]++
			} else {
				encodings["plain"]++
			}
		}
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := array.NewTableFromRecords(s, given)
	if got.NumRows() != want.NumRows() {
		t.Fatalf("%d rows, want %d", got.NumRows(), want.NumRows())
	}
	for i := range int(want.NumCols()) {
		if a, b := joined(t, got.Column(i)), joined(t, want.Column(i)); a != nil && b != nil && !array.ApproxEqual(a, b, array.WithNaNsEqual(true)) {
			t.Errorf("column %d, %s: not the values that were given", i, s.Field(i).Type)
		}
	}
}

func joined(t *testing.T, c *arrow.Column) arrow.Array {
	t.Helper()
	if c.Len() == 0 {
		return nil
	}
	a, err := array.Concatenate(c.Data().Chunks(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A row group is written when it holds GroupBytes, whatever the table, so that no more is in memory than that and what a batch adds.
func TestRowGroupsAreBounded(t *testing.T) {
	const size = 1 << 20
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.LargeBinary}}, nil)
	r := rand.NewChaCha8([32]byte{})
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	value := make([]byte, size)
	for range 4 {
		r.Read(value)
		b.Append(value)
	}
	rows := array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, 4)
	var out bytes.Buffer
	w, err := parquetwrite.New(&out, s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if held := (i+1)*4*size - out.Len(); held > parquetwrite.GroupBytes+4*size+size {
			t.Fatalf("%d bytes are held", held)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if f.NumRows() != 160 || f.NumRowGroups() < 3 {
		t.Errorf("%d rows in %d row groups", f.NumRows(), f.NumRowGroups())
	}
}

// The least of a column with a dictionary may be the empty text.
func TestStatisticsOfCodes(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 300_000 {
		b.Append([]string{"b", "", "c"}[i%3])
	}
	b.AppendNull()
	var out bytes.Buffer
	w, err := parquetwrite.New(&out, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, 300_001)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.MetaData().RowGroup(0).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := c.Statistics()
	if err != nil {
		t.Fatal(err)
	}
	if !c.HasDictionaryPage() || string(stats.EncodeMin()) != "" || string(stats.EncodeMax()) != "c" || stats.NullCount() != 1 || c.NumValues() != 300_001 {
		t.Errorf("from %q to %q, %d nulls of %d", stats.EncodeMin(), stats.EncodeMax(), stats.NullCount(), c.NumValues())
	}
}

// A decimal with more digits than its type is an error and no other number.
func TestDecimalsThatDontFit(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: &arrow.Decimal128Type{Precision: 7, Scale: 2}}}, nil)
	b := array.NewDecimal128Builder(memory.DefaultAllocator, s.Field(0).Type.(*arrow.Decimal128Type))
	b.Append(decimal128.FromI64(-10_000_000))
	w, err := parquetwrite.New(&bytes.Buffer{}, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, 1)); err == nil {
		t.Error("taken")
	}
}

func BenchmarkWrite(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, few := range []uint64{0, 300} {
		for _, kind := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, &arrow.Decimal128Type{Precision: 15, Scale: 2}} {
			s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: kind}}, nil)
			rows := batch(r, s, []uint64{few}, 1<<16)
			b.Run(fmt.Sprintf("%s/%d", kind.Name(), few), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var out bytes.Buffer
					w, err := parquetwrite.New(&out, s)
					if err != nil {
						b.Fatal(err)
					}
					for range 4 {
						if err := w.Write(rows); err != nil {
							b.Fatal(err)
						}
					}
					if err := w.Close(); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(out.Len())/(4<<16), "B/row")
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(4<<16), "ns/row")
			})
		}
	}
}

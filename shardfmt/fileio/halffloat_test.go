package fileio

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/blobio"
)

// Every half float comes out of every format of columns as the number that it is, at the top level and in a list.
func TestHalfFloatsOfEveryFormat(t *testing.T) {
	one, lists := array.NewFloat16Builder(memory.DefaultAllocator), array.NewListBuilder(memory.DefaultAllocator, arrow.FixedWidthTypes.Float16)
	for i := range 1 << 16 {
		one.Append(float16.FromBits(uint16(i)))
		lists.Append(true)
		lists.ValueBuilder().(*array.Float16Builder).Append(float16.FromBits(uint16(i)))
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "h", Type: arrow.FixedWidthTypes.Float16, Nullable: true}, {Name: "l", Type: arrow.ListOf(arrow.FixedWidthTypes.Float16), Nullable: true}}, nil)
	batch := array.NewRecordBatch(s, []arrow.Array{one.NewArray(), lists.NewArray()}, 1<<16)
	for _, f := range []Format{Arrow, ArrowStream, Parquet, Lance} {
		var out bytes.Buffer
		sink, err := openBatchSink(f, &out, s, SinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(batch); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		checkHalfFloats(t, f, out.Bytes())
	}
	var plain bytes.Buffer // without the Arrow schema, by Parquet's own type
	if err := pqarrow.WriteTable(array.NewTableFromRecords(s, []arrow.RecordBatch{batch}), &plain, 1<<16, nil, pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	checkHalfFloats(t, Parquet, plain.Bytes())
}

func checkHalfFloats(t *testing.T, f Format, file []byte) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "h")
	if err := os.WriteFile(at, file, 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := OpenSource(t.Context(), blobio.NewClient(blobio.ClientOptions{}), []string{at}, SourceOptions{Format: f, BatchRows: 1 << 16})
	if err != nil {
		t.Fatal(f, err)
	}
	defer src.Close()
	for row := 0; row < 1<<16; {
		b, err := src.Next(t.Context())
		if err != nil {
			t.Fatal(f, err)
		}
		items := b.Column(1).(array.ListLike)
		for i := range int(b.NumRows()) {
			start, _ := items.ValueOffsets(i)
			for _, got := range []float32{b.Column(0).(*array.Float32).Value(i), items.ListValues().(*array.Float32).Value(int(start))} {
				if want := halfValue(uint16(row)); float64(got) != want && !(math.IsNaN(want) && got != got) || math.Signbit(float64(got)) != (row>>15 == 1) {
					t.Fatalf("%s: %#04x is %v, not %v", f, row, got, want)
				}
			}
			row++
		}
		b.Release()
	}
}

// halfValue is the number that half precision defines, by arithmetic.
func halfValue(half uint16) float64 {
	sign, exponent, fraction := 1-2*float64(half>>15), int(half>>10&31), float64(half&1023)
	switch {
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

package arrowtype

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func init() { bufpool.Spoil(0xA5) }

// canonicalColumn is a batch of one column, and its schema; row states the value of each row, false for null.
func canonicalColumn[T any](t testing.TB, types string, rows int, row func(i int) (T, bool), put func(array.Builder, T)) (*schema.Schema, arrow.RecordBatch) {
	t.Helper()
	s, err := schema.Parse(types)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, Schema(s))
	for i := range rows {
		v, ok := row(i)
		if !ok {
			b.Field(0).AppendNull()
			continue
		}
		field := b.Field(0)
		if e, ok := field.(*array.ExtensionBuilder); ok {
			field = e.StorageBuilder()
		}
		put(field, v)
	}
	return s, b.NewRecordBatch()
}

func decimalColumn(t testing.TB, rows int, row func(i int) (decimal.Value, bool)) (*schema.Schema, arrow.RecordBatch) {
	return canonicalColumn(t, "v: Decimal", rows, row, func(b array.Builder, v decimal.Value) { b.(*array.FixedSizeBinaryBuilder).Append(v[:]) })
}

func timeColumn(t testing.TB, rows int, row func(i int) (int64, bool)) (*schema.Schema, arrow.RecordBatch) {
	return canonicalColumn(t, "v: DateTime", rows, row, func(b array.Builder, v int64) {
		switch b := b.(type) {
		case *array.Int64Builder:
			b.Append(v)
		case *array.Uint64Builder:
			b.Append(uint64(v))
		}
	})
}

// exported converts the rows from 7 on, so that nothing begins at the beginning.
func exported(s *schema.Schema, batch arrow.RecordBatch, t arrow.DataType) (arrow.Array, error) {
	e, err := NewExporter(s, ExportOptions{})
	if err != nil {
		return nil, err
	}
	return e.out.array(batch.NewSlice(7, batch.NumRows()).Column(0), t, place{n: s.Fields[0], path: "v", row: sameRow})
}

// Decimals become the numbers that they are, whether they go the short way or not, beside nulls too.
func TestDecimalsInBulk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := []string{"0.00", "-0.00", "0", "-7.5", "1E+2", "999999999999999999.00", "-9999999999999999.99", "12345678901234567890.12", "0.10", "-0.01"}
	for _, nulls := range []bool{false, true} {
		s, batch := decimalColumn(t, 5000, func(i int) (decimal.Value, bool) {
			if nulls && i%5 == 0 {
				return decimal.Value{}, false
			}
			if random.IntN(30) == 0 {
				v, err := decimal.Parse(values[random.IntN(len(values))])
				if err != nil {
					t.Fatal(err)
				}
				return v, true
			}
			v, _ := decimal.FromInt64(random.Int64N(2e17)-1e17, 2)
			return v, true
		})
		got, err := exported(s, batch, &arrow.Decimal128Type{Precision: 38, Scale: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Len() {
			stored := batch.Column(0).(*DecimalArray)
			if stored.IsNull(i+7) != got.IsNull(i) {
				t.Fatalf("row %d: null is %v", i, got.IsNull(i))
			}
			n := got.(*array.Decimal128).Value(i).BigInt()
			want := new(big.Int)
			if stored.IsValid(i + 7) {
				want, _ = decimal.From(stored.Value(i + 7)).Scaled(2)
			}
			if n.Cmp(want) != 0 {
				t.Fatalf("row %d: %s, want %s", i, n, want)
			}
		}
	}
}

// A number with more digits than the type has is refused with its row, wherever it stands.
func TestDecimalsTooLong(t *testing.T) {
	for _, bad := range []int{7, 8, 2000, 4999} {
		for precision, most := range map[int32]int64{5: 99_999, 18: 999_999_999_999_999_999} {
			for _, text := range []string{"1000000000000000000.00", "0.001", "NaN", "1000.00"} {
				wrong, err := decimal.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				fits := text == "1000.00" && precision == 18
				s, batch := decimalColumn(t, 5000, func(i int) (decimal.Value, bool) {
					if i == bad {
						return wrong, true
					}
					v, _ := decimal.FromInt64([]int64{most, -most, 0}[i%3], 2)
					return v, true
				})
				_, err = exported(s, batch, &arrow.Decimal128Type{Precision: precision, Scale: 2})
				var row *RowError
				if fits != (err == nil) || !fits && (!errors.As(err, &row) || row.Row != int64(bad-7)) {
					t.Errorf("%s with %d digits in row %d: %v", text, precision, bad, err)
				}
			}
		}
	}
}

// Times of whole units, with digits that are cut, out of range and beside nulls.
func TestTimesInBulk(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const day = literal.TicksPerDay
	for _, c := range []struct {
		t       arrow.DataType
		unit    int64 // in ticks, 0 for those that a tick has many of
		perTick int64
	}{
		{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, 1, 100}, {&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, 10, 1},
		{&arrow.TimestampType{Unit: arrow.Millisecond}, 10_000, 1}, {&arrow.TimestampType{Unit: arrow.Second}, 10_000_000, 1}, {arrow.FixedWidthTypes.Date32, day, 1},
	} {
		for _, whole := range []bool{true, false} {
			for _, nulls := range []bool{true, false} {
				s, batch := timeColumn(t, 3000, func(i int) (int64, bool) {
					if nulls && i%7 == 2 {
						return 0, false
					}
					ticks := literal.UnixEpoch + (random.Int64N(40_000)-10_000)*day + random.Int64N(day)
					if whole {
						ticks -= (ticks - literal.UnixEpoch) % c.unit
					}
					return ticks, true
				})
				got, err := exported(s, batch, c.t)
				if err != nil {
					t.Fatal(err)
				}
				stored := batch.Column(0).(*DateTimeArray)
				for i := range got.Len() {
					want := int64(0)
					if stored.IsValid(i + 7) {
						want = (stored.Ticks()[i+7] - literal.UnixEpoch) / c.unit * c.perTick
					}
					var n int64
					switch got := got.(type) {
					case *array.Timestamp:
						n = int64(got.Values()[i])
					case *array.Date32:
						n = int64(got.Values()[i])
					}
					if n != want || got.IsNull(i) != stored.IsNull(i+7) {
						t.Fatalf("%s, row %d: %d, want %d", c.t, i, n, want)
					}
				}
			}
		}
	}
	for _, year := range []int64{0, 3_155_378_975_999_999_999} { // the first and the last tick
		s, batch := timeColumn(t, 100, func(i int) (int64, bool) {
			if i == 50 {
				return year, true
			}
			return literal.UnixEpoch, true
		})
		var row *RowError
		if _, err := exported(s, batch, &arrow.TimestampType{Unit: arrow.Nanosecond}); !errors.As(err, &row) || row.Row != 43 || !errors.Is(err, ErrUnit) {
			t.Errorf("%d ticks in nanoseconds: %v", year, err)
		}
	}
}

// Batches that are released give their memory to those that follow.
func TestExportedMemoryComesAgain(t *testing.T) {
	const rows = 50_000
	s, batch := decimalColumn(t, rows, func(i int) (decimal.Value, bool) { v, _ := decimal.FromInt64(int64(i), 2); return v, true })
	e, err := NewExporter(s, ExportOptions{Decimal: &arrow.Decimal128Type{Precision: 18, Scale: 2}})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	for i := range 20 {
		if i == 1 {
			runtime.ReadMemStats(&before)
		}
		out, err := e.Export(batch)
		if err != nil {
			t.Fatal(err)
		}
		numbers := out.Column(0).(*array.Decimal128)
		if numbers.Value(rows-1).LowBits() != rows-1 {
			t.Fatal(numbers.Value(rows - 1))
		}
		memory := numbers.Data().Buffers()[1].Bytes()
		out.Release()
		if memory[0] != 0xA5 {
			t.Fatal("the memory of a batch was not given back")
		}
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 16*rows {
		t.Errorf("19 batches of %d bytes took %d bytes of new memory", 16*rows, after.TotalAlloc-before.TotalAlloc)
	}
}

func BenchmarkExport(b *testing.B) {
	defer bufpool.StopSpoiling()()
	const rows = 65_536
	decimals, prices := decimalColumn(b, rows, func(i int) (decimal.Value, bool) { v, _ := decimal.FromInt64(int64(i)*97, 2); return v, true })
	times, days := timeColumn(b, rows, func(i int) (int64, bool) { return literal.UnixEpoch + int64(i%9000)*literal.TicksPerDay, true })
	for _, c := range []struct {
		name  string
		s     *schema.Schema
		batch arrow.RecordBatch
	}{{"decimals", decimals, prices}, {"times", times, days}} {
		b.Run(c.name, func(b *testing.B) {
			e, err := NewExporter(c.s, ExportOptions{Decimal: &arrow.Decimal128Type{Precision: 18, Scale: 2}})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				out, err := e.Export(c.batch)
				if err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/value")
		})
	}
}

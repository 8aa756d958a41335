package filter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Comparing a whole array selects the rows for which comparing each value by itself does, for all types of numbers, operators and
// literals at and beyond the ends of their ranges, with and without nulls.
func TestCompareAllIsCompareEach(t *testing.T) {
	s, err := schema.Parse("a: Int8, b: Int16, c: Int32, d: Int64, e: UInt8, f: UInt16, g: UInt32, h: UInt64, i: Float32, j: Float64")
	if err != nil {
		t.Fatal(err)
	}
	types := []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}
	literals := []string{"0", "-1", "7", "6.5", "-6.5", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535", "65536", "2147483647", "2147483648",
		"-2147483648", "4294967295", "4294967296", "9223372036854775807", "9223372036854775806.5", "9223372036854775807.5", "-9223372036854775808", "9223372036854775808",
		"18446744073709551615", "18446744073709551615.5", "1e30", "-1e30", "NULL"}
	floats := []string{"'NaN'", "'Infinity'", "'-Infinity'", "5e-324", "-5e-324", "1.7976931348623157e308", "3.4028234663852886e38", "0.1"}
	r := rand.New(rand.NewPCG(6, 6))
	for k, typ := range types {
		name := string(rune('a' + k))
		for _, nulls := range []bool{false, true} {
			values := numbersOf(typ, r, 200, nulls)
			n, list := values.Len(), literals
			if arrow.IsFloating(typ.ID()) {
				list = append(append([]string{}, literals...), floats...)
			}
			for _, lit := range list {
				for _, op := range []string{"=", "!=", "<", "<=", ">", ">="} {
					expr := fmt.Sprintf("%s %s %s", name, op, lit)
					e, err := Parse(expr)
					if err != nil {
						t.Fatal(err)
					}
					b, err := Bind(e, s)
					if err != nil {
						t.Fatal(expr, err)
					}
					leaf := b.root.(leafPredicate)
					got, want := make([]byte, (n+7)/8), newTruths(n)
					if err := b.SelectOf(values, got); err != nil {
						t.Fatal(err)
					}
					if err := leaf.evalEach(&rows{}, values, n, func(row int) int { return row }, want.sure); err != nil {
						t.Fatal(err)
					}
					for i := range n {
						if set := got[i/8]>>(i%8)&1 == 1; set != (want.sure[i/wordBits]>>(i%wordBits)&1 == 1) {
							t.Fatalf("%s of %v: row %d, %s, is selected: %v", expr, typ, i, values.ValueStr(i), set)
						}
					}
				}
			}
		}
	}
}

// Comparing texts by = and != is comparing each, with and without nulls, and of slices of arrays.
func TestCompareTexts(t *testing.T) {
	s, err := schema.Parse("a: String")
	if err != nil {
		t.Fatal(err)
	}
	build := array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range 200 {
		if i%7 == 0 {
			build.AppendNull()
		} else {
			build.Append([]string{"", "x", "xy", "yx", "xyz"}[i%5])
		}
	}
	all := build.NewArray()
	none := array.NewLargeStringBuilder(memory.DefaultAllocator).NewArray()
	for _, a := range []arrow.Array{all, array.NewSlice(all, 3, 150), none, array.NewSlice(all, 5, 5)} {
		for _, expr := range []string{"a = 'xy'", "a != 'xy'", "a = ''", "a != ''", "a = 'none'", "a = NULL", "a != NULL"} {
			e, err := Parse(expr)
			if err != nil {
				t.Fatal(err)
			}
			b, err := Bind(e, s)
			if err != nil {
				t.Fatal(err)
			}
			got, want := make([]byte, (a.Len()+7)/8), newTruths(a.Len())
			if err := b.SelectOf(a, got); err != nil {
				t.Fatal(err)
			}
			if err := b.root.(leafPredicate).evalEach(&rows{}, a, a.Len(), func(row int) int { return row }, want.sure); err != nil {
				t.Fatal(err)
			}
			for i := range a.Len() {
				is := a.IsValid(i) && want.sure[i/wordBits]>>(i%wordBits)&1 == 1
				if set := got[i/8]>>(i%8)&1 == 1; set != is {
					t.Fatalf("%s: row %d, %s, is selected: %v", expr, i, a.ValueStr(i), set)
				}
			}
		}
	}
}

// Equals knows the value of a comparison by = of texts, and of nothing else.
func TestEquals(t *testing.T) {
	s, err := schema.Parse("a: String, b: Int32, c: Guid")
	if err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]string{
		"a = 'xy'": "xy", "a = ''": "", "c = '00112233-4455-6677-8899-aabbccddeeff'": "16 bytes",
		"a != 'xy'": "-", "a = NULL": "-", "NOT a = 'xy'": "-", "a = 'xy' OR a = 'z'": "-", "a IN ('xy')": "-", "b = 3": "-", "a IS NULL": "-", "a > 'x'": "-",
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Bind(e, s)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := b.Equals()
		if ok != (want != "-") || ok && string(got) != want && fmt.Sprint(len(got), " bytes") != want {
			t.Errorf("%s: %q, %v", expr, got, ok)
		}
	}
}

// Interval knows the numbers of a comparison with a literal, and of nothing else: what holds for null too, or reads more, has none.
func TestInterval(t *testing.T) {
	s, err := schema.Parse("a: Int64, b: UInt8, c: Float64, d: Decimal, e: DateTime, f: String")
	if err != nil {
		t.Fatal(err)
	}
	greatest := math.MaxFloat64
	for expr, want := range map[string]*simd.Interval{
		"a = -3": {Low: math.MaxUint64 - 2}, "a != -3": {Low: math.MaxUint64 - 2, Others: true},
		"a < -3": {Low: 1 << 63, Span: 1<<63 - 4}, "a > 9223372036854775807": {None: true}, "a = 0.5": {None: true}, "a != 0.5": {Low: 1 << 63, Span: math.MaxUint64},
		"b <= 6.5": {Span: 6}, "b >= 250": {Low: 250, Span: math.MaxUint64 - 250}, "b < 0": {None: true},
		"c < 0.5": {From: math.Inf(-1), To: math.Nextafter(0.5, 0)}, "c > 1.7976931348623157e308": {From: math.Inf(1), To: math.Inf(1)},
		"c <= 1.7976931348623157e308": {From: math.Inf(-1), To: greatest}, "c != 'NaN'": {None: true, Others: true}, "c = 'NaN'": {None: true},
		"a = NULL": nil, "NOT a = 3": nil, "a = 3 OR a = 5": nil, "a IN (3)": nil, "a IS NULL": nil, "d < 3": nil, "e < '2020-01-01'": nil, "f < 'x'": nil,
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Bind(e, s)
		if err != nil {
			t.Fatal(expr, err)
		}
		got, ok := b.Interval()
		if ok != (want != nil) {
			t.Errorf("%s has an interval: %v", expr, ok)
			continue
		}
		if !ok || want.None && got.None && got.Others == want.Others { // its ends say nothing
			continue
		}
		if *got != *want {
			t.Errorf("%s: %+v, not %+v", expr, *got, *want)
		}
	}
}

// numbersOf is an array of a type: the ends of all ranges, numbers around zero, and random ones.
func numbersOf(typ arrow.DataType, r *rand.Rand, n int, nulls bool) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	ends := []uint64{0, 1, 6, 7, 1<<7 - 1, 1 << 7, 1<<8 - 1, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1<<64 - 6, 1<<64 - 7}
	floats := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324, -5e-324, math.MaxFloat64, math.MaxFloat32, 0.1, float64(float32(0.1)), 7, 6.5}
	for i := range n {
		if nulls && r.IntN(4) == 0 {
			b.AppendNull()
			continue
		}
		v, f := r.Uint64()>>r.IntN(64), r.NormFloat64()*10
		if i < len(ends) {
			v = ends[i]
		}
		if i < len(floats) {
			f = floats[i]
		}
		switch b := b.(type) {
		case *array.Int8Builder:
			b.Append(int8(v))
		case *array.Int16Builder:
			b.Append(int16(v))
		case *array.Int32Builder:
			b.Append(int32(v))
		case *array.Int64Builder:
			b.Append(int64(v))
		case *array.Uint8Builder:
			b.Append(uint8(v))
		case *array.Uint16Builder:
			b.Append(uint16(v))
		case *array.Uint32Builder:
			b.Append(uint32(v))
		case *array.Uint64Builder:
			b.Append(v)
		case *array.Float32Builder:
			b.Append(float32(f))
		case *array.Float64Builder:
			b.Append(f)
		}
	}
	return b.NewArray()
}

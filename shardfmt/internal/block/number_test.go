package block

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// numberVector is a sub-block and the values it stands for: output of the reference, docs/format/blocks.md.
type numberVector struct {
	name string
	dump string
	want any // slice of the element type
}

var numberVectors = []numberVector{
	{"Plain i32", "01 00 01 00 00 00 fe ff ff ff 03 00 00 00", []int32{1, -2, 3}},
	{"Plain f64", "01 00 00 00 00 00 00 00 f8 3f", []float64{1.5}},
	{"SingleValue u16", "07 00 34 12", repeat(uint16(0x1234), 3)},
	{"SingleValue i64", "07 00 fe ff ff ff ff ff ff ff", repeat(int64(-2), 5)},
	{"SingleValue f64", "07 00 00 00 00 00 00 00 f8 3f", repeat(1.5, 2)},
	{"SingleValue of 65536", "07 00 d2 04 00 00 00 00 00 00", repeat(int64(1234), 65536)},
	{"Lz4 u8", `11 00 00 00 00 00 00 00 00 08 00 00 1f 01 01 00 ff ff ff ff ff ff ff ee 50 01 01 01 01 01`,
		repeat(uint8(1), 2048)},
	{"Lz4 i64", `11 00 00 00 00 00 00 00 00 08 00 00 13 00 01 00 13 01 08 00 13 02 08 00 13 03 08 00 04 02 00
		0f 20 00 ff ff ff ff ff ff ff c7 50 00 00 00 00 00`, generate(256, func(i int) int64 { return int64(i % 4) })},
	{"FOR i64, nested Plain", `03 00  0a 00 00 00 00 00 00 00  00 00 00 00 00 00
		01 00  00 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00`, []int64{10, 12, 11}},
	{"Delta i64", `05 00 e8 03 00 00 00 00 00 00 00 00 00 00 00 00 07 00 05 00 00 00 00 00 00 00`,
		generate(10, func(i int) int64 { return int64(1000 + 5*i) })},
	{"Delta i16, nested Plain", `05 00 01 00 00 00 00 00 01 00 01 00 02 00 04 00 08 00 10 00 20 00 40 00 7f ff`,
		[]int16{1, 2, 4, 8, 16, 32, 64, 128, -1}},
	{"RunLength i32", `06 00 08 00 00 00 02 00 00 00 00 00 00 00 00 00
		07 00 00 00 09 00 00 00 03 00 00 00 02 00 00 00`, []int32{7, 7, 7, 9, 9}},
	{"RunLength i32, padded", `06 00 0c 00 00 00 03 00 00 00 00 00 00 00 00 00 07 00 00 00 09 00 00 00 08 00 00 00
		00 00 00 00 02 00 00 00 02 00 00 00 02 00 00 00`, []int32{7, 7, 9, 9, 8, 8}},
	{"RunLength u8, lengths nested", `06 00 02 00 00 00 02 00 00 00 00 01 00 00 00 00 01 02 00 00 00 00 00 00
		07 00 03 00 00 00`, []uint8{1, 1, 1, 2, 2, 2}},
	{"RunLength i64, two levels", `06 00 14 00 00 00 80 02 00 00 01 01 00 00 00 00 09 00 01 00 00 00 00 00
		05 00 00 00 00 00 00 00 07 00 01 00 00 00 00 00 07 00 64 00 00 00`,
		generate(64000, func(i int) int64 { return int64(i / 100) })},
	{"TruncateU8 i64", "08 00 00 00 00 00 00 00 01 ff 7f 80", []int64{1, -1, 127, -128}},
	{"TruncateU16 i64", "09 00 00 00 00 00 00 00 01 00 ff ff 2c 01", []int64{1, -1, 300}},
	{"TruncateU32 i64, Delta", `0a 00 01 00 00 00 00 00 05 00 a0 86 01 00 00 00 07 00 01 00 00 00`,
		generate(9, func(i int) int64 { return int64(100000 + i) })},
	{"TruncateU32 i64 of 64000", `0a 00 01 00 00 00 00 00 05 00 81 96 98 00 00 00 07 00 01 00 00 00`,
		generate(64000, func(i int) int64 { return int64(10000001 + i) })},
	{"ZigZag i32, nested Plain", `12 00 01 00 00 00 00 00 01 00 00 00 00 00 01 00 00 00 02 00 00 00 03 00 00 00
		04 00 00 00`, []int32{0, -1, 1, -2, 2}},
	{"ZigZag i32, raw", `12 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 02 00 00 00 03 00 00 00
		04 00 00 00`, []int32{0, -1, 1, -2, 2}},
	{"ZigZag i32, four levels", `12 00 01 00 00 00 00 00 06 00 34 00 00 00 ff 00 00 00 01 01 00 00 00 00
		05 00 fd 00 00 00 00 00 06 00 0c 00 00 00 03 00 00 00 00 00 00 00 00 00 fe ff ff ff ff ff ff ff 02 00 00 00
		00 00 00 00 7e 00 00 00 01 00 00 00 7f 00 00 00 00 00 00 00 07 00 fa 00 00 00`,
		generate(255*250, func(i int) int32 { return int32(i/250 - 127) })},
	{"Sparse i32", `13 00 03 00 00 00 0c 00 00 00 00 00 00 00 00 00 03 00 00 00 07 00 00 00 08 00 00 00  00 00 00 00
		0b 00 00 00 fb ff ff ff 0c 00 00 00`, []int32{0, 0, 0, 11, 0, 0, 0, -5, 12, 0}},
	{"Sparse i32, nested", `13 00 03 00 00 00 0e 00 00 00 01 01 00 00 00 00 01 00 03 00 00 00 07 00 00 00 08 00 00 00
		00 00 08 00 00 00 00 00 00 00 0b fb 0c`, []int32{0, 0, 0, 11, 0, 0, 0, -5, 12, 0}},
	{"Sparse i32, nothing", "13 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", make([]int32, 10)},
	{"BlockDictionary i32", `0e 00 1a 00 00 00 03 00 00 00 00 00 00 00 00 00
		01 00 01 00 00 00 02 00 00 00 01 00 00 00 01 00 00 00 02 00 00 00 03 00 00 00
		07 00 00 00 09 00 00 00 05 00 00 00`, []int32{7, 9, 7, 7, 9, 5}},
	{"BlockDictionary i32 with null", `0e 00 1a 00 00 00 03 00 00 00 00 00 00 00 00 00 01 00 01 00 00 00 00 00 00 00
		01 00 00 00 01 00 00 00 02 00 00 00 02 00 00 00 07 00 00 00 09 00 00 00 00 00 00 00`,
		[]int32{7, 0, 7, 7, 9, 9}},
	{"Alp f64", `0c 00 2a 00 00 00 01 00 0e 0c 00 00 00 00 00 00
		01 00 7b 00 00 00 00 00 00 00 c8 01 00 00 00 00 00 00 eb fc ff ff ff ff ff ff
		7b 00 00 00 00 00 00 00 10 27 00 00 00 00 00 00 03 00 00 00  18 2d 44 54 fb 21 09 40`,
		[]float64{1.23, 4.56, -7.89, math.Pi, 100}},
	{"Alp f32", `0c 00 16 00 00 00 03 00 02 00 00 00 00 00 00 00 01 00 96 00 00 00 96 00 00 00 96 00 00 00
		e1 00 00 00 96 00 00 00 00 00 00 00 01 00 00 00 04 00 00 00 00 00 c0 7f 00 00 80 7f ca f2 49 71`,
		[]float32{float32(math.NaN()), float32(math.Inf(1)), 1.5, 2.25, 1e30}},
	{"Alp f64, three levels", `0c 00 14 00 00 00 00 00 0e 0c 00 00 00 00 00 00 09 00 01 00 00 00 00 00
		05 00 e8 03 00 00 00 00 07 00 01 00`, generate(1024, func(i int) float64 { return float64(1000+i) / 100 })},
	{"Alp f32, Delta", `0c 00 0e 00 00 00 00 00 06 05 00 00 00 00 00 00 05 00 e8 03 00 00 00 00 07 00 01 00 00 00`,
		generate(1024, func(i int) float32 { return float32(1000+i) / 10 })},
	{"AlpRd f64", `0d 00 0a 00 00 00 22 00 00 00 01 00 34 04 00 00 ff 03 00 04 ff 0b 01 04
		01 00 00 00 01 00 02 00 00 00 01 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 04 00
		00 00 00 00 00 00 00 00 9c 75 00 88 3c e4 07 00 03 00 00 00 e3 07`, []float64{1.25, 2.5, -1, 1e300}},
	{"RunLength u32 for SingleValue", `06 00 08 00 00 00 02 00 00 00 00 01 00 00 00 00 05 00
		00 00 06 00 00 00 02 00 02 00 00 00 00 00 03 00 00 00 02 00 00 00` + strings.Repeat(" 00", 248),
		[]uint32{5, 5, 5, 6, 6}},
	{"Zstd i64", `10 00 00 00 00 00 00 00 28 b5 2f fd 00 58 bd 00 00 40 00 00 01 00 02 00 03 00 05 00 d5 1f
		ca 07 40 62 80 31 18 78 00 58`, generate(512, func(i int) int64 { return int64(i % 4) })},
}

func repeat[T any](v T, n int) []T { return generate(n, func(int) T { return v }) }

func generate[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func TestDecodeNumbers(t *testing.T) {
	for _, c := range numberVectors {
		t.Run(c.name, func(t *testing.T) {
			eachNumbers(t, c, numberChecks{checkNumbers[int8], checkNumbers[int16], checkNumbers[int32],
				checkNumbers[int64], checkNumbers[uint8], checkNumbers[uint16], checkNumbers[uint32],
				checkNumbers[uint64], checkNumbers[float32], checkNumbers[float64]})
		})
	}
}

// numberChecks is one check for every element type.
type numberChecks struct {
	i8  func(testing.TB, []byte, []int8)
	i16 func(testing.TB, []byte, []int16)
	i32 func(testing.TB, []byte, []int32)
	i64 func(testing.TB, []byte, []int64)
	u8  func(testing.TB, []byte, []uint8)
	u16 func(testing.TB, []byte, []uint16)
	u32 func(testing.TB, []byte, []uint32)
	u64 func(testing.TB, []byte, []uint64)
	f32 func(testing.TB, []byte, []float32)
	f64 func(testing.TB, []byte, []float64)
}

// eachNumbers runs the check for the vector's element type.
func eachNumbers(t testing.TB, c numberVector, check numberChecks) {
	t.Helper()
	sub := unhex(t, c.dump)
	switch want := c.want.(type) {
	case []int8:
		check.i8(t, sub, want)
	case []int16:
		check.i16(t, sub, want)
	case []int32:
		check.i32(t, sub, want)
	case []int64:
		check.i64(t, sub, want)
	case []uint8:
		check.u8(t, sub, want)
	case []uint16:
		check.u16(t, sub, want)
	case []uint32:
		check.u32(t, sub, want)
	case []uint64:
		check.u64(t, sub, want)
	case []float32:
		check.f32(t, sub, want)
	case []float64:
		check.f64(t, sub, want)
	default:
		t.Fatalf("no element type %T", want)
	}
}

// checkNumbers decodes sub as len(want) values and compares.
func checkNumbers[T Number](t testing.TB, sub []byte, want []T) {
	t.Helper()
	got := make([]T, len(want))
	if err := DecodeNumbers(got, sub, new(Scratch)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(simd.AsBytes(got), simd.AsBytes(want)) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// treeOf reads the tree of the vector of that name.
func treeOf(t testing.TB, name string) (tree *Tree, sub []byte) {
	t.Helper()
	for _, c := range numberVectors {
		if c.name == name {
			eachNumbers(t, c, numberChecks{describeInto[int8](&tree), describeInto[int16](&tree), describeInto[int32](&tree),
				describeInto[int64](&tree), describeInto[uint8](&tree), describeInto[uint16](&tree),
				describeInto[uint32](&tree), describeInto[uint64](&tree), describeInto[float32](&tree),
				describeInto[float64](&tree)})
			return tree, unhex(t, c.dump)
		}
	}
	t.Fatalf("no vector %q", name)
	return nil, nil
}

func describeInto[T Number](tree **Tree) func(testing.TB, []byte, []T) {
	return func(t testing.TB, sub []byte, want []T) {
		var err error
		if *tree, err = Describe(sub, ElemOf[T](), len(want), 0); err != nil {
			t.Fatal(err)
		}
	}
}

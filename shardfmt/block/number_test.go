package block

import (
	"slices"
	"testing"
)

// numberVector is a sub-block and the values it stands for: output of the reference, format note 02.
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
			switch want := c.want.(type) {
			case []int8:
				checkNumbers(t, c.dump, want)
			case []int16:
				checkNumbers(t, c.dump, want)
			case []int32:
				checkNumbers(t, c.dump, want)
			case []int64:
				checkNumbers(t, c.dump, want)
			case []uint8:
				checkNumbers(t, c.dump, want)
			case []uint16:
				checkNumbers(t, c.dump, want)
			case []uint32:
				checkNumbers(t, c.dump, want)
			case []uint64:
				checkNumbers(t, c.dump, want)
			case []float32:
				checkNumbers(t, c.dump, want)
			case []float64:
				checkNumbers(t, c.dump, want)
			default:
				t.Fatalf("no element type %T", want)
			}
		})
	}
}

// checkNumbers decodes the dump as len(want) values and compares.
func checkNumbers[T Number](t *testing.T, dump string, want []T) {
	t.Helper()
	got := make([]T, len(want))
	if err := DecodeNumbers(got, unhex(t, dump), new(Scratch)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

package halffloat

import (
	"math"
	"testing"
)

// value is what the format defines, by arithmetic in float64, without the bits of float32.
func value(half uint16) float64 {
	exponent, fraction := int(half>>10&31), float64(half&1023)
	v := math.Ldexp(1+fraction/1024, exponent-15)
	switch {
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		v = math.Inf(1)
	}
	if half>>15 == 1 {
		v = -v
	}
	return v
}

func TestEveryHalfFloat(t *testing.T) {
	for i := range 1 << 16 {
		half := uint16(i)
		got, want := Float32(half), value(half)
		if math.IsNaN(want) {
			if got == got || math.Float32bits(got)>>13&1023 != uint32(half&1023) || math.Signbit(float64(got)) != (half>>15 == 1) {
				t.Fatalf("%#04x: %v (%#x), want a NaN of the same payload", half, got, math.Float32bits(got))
			}
		} else if float64(got) != want || math.Signbit(float64(got)) != math.Signbit(want) {
			t.Fatalf("%#04x: %v, want %v", half, got, want)
		}
		if back, exact := FromFloat32(got); !exact || back != half {
			t.Fatalf("%#04x: %v comes back as %#04x, exact %v", half, got, back, exact)
		}
	}
}

func TestNoHalfFloat(t *testing.T) {
	for _, v := range []float32{
		0.1, 65505, 65520, 65536, -1e30, 2.9802322387695312e-08 /* 2^-25 */, 8.940696716308594e-08 /* 1.5·2^-24 */, math.SmallestNonzeroFloat32,
		1.0009766 + 1.0/4096, math.Float32frombits(0x7F800001), math.Float32frombits(0x7FC00001), math.MaxFloat32,
	} {
		if half, exact := FromFloat32(v); exact {
			t.Errorf("%v (%#x): %#04x is not it", v, math.Float32bits(v), half)
		}
	}
}

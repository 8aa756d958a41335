package simd

import "math"

// Powers of ten of ALP: a value is (float(integer) · 10^factor) · 10^-exponent (docs/format/blocks.md).
// The negative powers are the nearest floats to the decimal literals.
var (
	alpPower64 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
		1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23}
	alpInverse64 = [...]float64{1e-0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12,
		1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22, 1e-23}
	alpPower32   = [...]float32{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10}
	alpInverse32 = [...]float32{1e-0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10}
)

// AlpMaxExponent is the largest exponent and factor for floats of size bytes.
func AlpMaxExponent(size int) int {
	if size == 4 {
		return len(alpPower32) - 1
	}
	return len(alpPower64) - 1
}

// AlpFloats fills dst with the bits of the floats of ALP integers (two's complement): float32 for uint32,
// float64 for uint64. src has the length of dst and may be dst. Exponent and factor are at most AlpMaxExponent.
func AlpFloats[U Unsigned](dst, src []U, exponent, factor int) {
	switch d := any(dst).(type) {
	case []uint32:
		active.floats32(d, any(src).([]uint32), exponent, factor)
	case []uint64:
		active.floats64(d, any(src).([]uint64), exponent, factor)
	}
}

func alpFloats32(dst, src []uint32, exponent, factor int) {
	f, e := alpPower32[factor], alpInverse32[exponent]
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = math.Float32bits(float32(float32(float32(int32(v))*f) * e))
	}
}

func alpFloats64(dst, src []uint64, exponent, factor int) {
	f, e := alpPower64[factor], alpInverse64[exponent]
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = math.Float64bits(float64(float64(float64(int64(v))*f) * e))
	}
}

// AlpIntegers is the way back for float64: it fills dst with the integers that stand for floats, of which src has the bits, and sets a bit in missed for each
// that has none below 2^51 in size, or whose bits don't come back from it; its integer is of no use. missed has (len(src)+7)/8 bytes.
func AlpIntegers(dst []uint64, missed []byte, src []uint64, exponent, factor int) {
	active.integers64(dst[:len(src)], missed[:(len(src)+7)/8], src, exponent, factor)
}

// alpIntegers64 rounds by adding and taking off 3·2^51. The conversions keep the compiler from fusing operations.
func alpIntegers64(dst []uint64, missed []byte, src []uint64, exponent, factor int) {
	const round, limit = 3 << 51, 1 << 51
	up, down := alpPower64[exponent], alpInverse64[factor]
	f, e := alpPower64[factor], alpInverse64[exponent]
	clear(missed)
	for i, v := range src {
		x := float64(float64(math.Float64frombits(v)*up) * down)
		x = float64(float64(x+round) - round)
		if !(x > -limit && x < limit) {
			dst[i] = 0
			missed[i/8] |= 1 << (i % 8)
			continue
		}
		dst[i] = uint64(int64(x))
		if math.Float64bits(float64(float64(x*f)*e)) != v {
			missed[i/8] |= 1 << (i % 8)
		}
	}
}

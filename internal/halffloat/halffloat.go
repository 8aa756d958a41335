// Package halffloat converts IEEE 754 binary16 numbers to float32 and back, bit for bit: subnormal numbers and the payloads of NaNs too.
//
//	binary16  sign 1 | exponent 5, bias 15  | fraction 10
//	float32   sign 1 | exponent 8, bias 127 | fraction 23
package halffloat

import (
	"math"
	"math/bits"
)

const (
	fractionBits = 10
	fractionMask = 1<<fractionBits - 1
	exponentMask = 0x1F
	biasDistance = 127 - 15
	// widening is the number of bits that the fraction of a float32 has more.
	widening = 23 - fractionBits
)

// Float32 returns the value of a half float, which every float32 holds exactly.
func Float32(half uint16) float32 {
	sign := uint32(half>>15) << 31
	exponent, fraction := uint32(half>>fractionBits)&exponentMask, uint32(half)&fractionMask
	switch {
	case exponent == exponentMask: // infinity, NaN
		return math.Float32frombits(sign | 0xFF<<23 | fraction<<widening)
	case exponent > 0:
		return math.Float32frombits(sign | (exponent+biasDistance)<<23 | fraction<<widening)
	case fraction == 0:
		return math.Float32frombits(sign)
	}
	// fraction · 2^-24: its highest bit becomes the one that a normal number does not store.
	shift := uint32(bits.LeadingZeros32(fraction)) - (31 - fractionBits)
	return math.Float32frombits(sign | (biasDistance+1-shift)<<23 | fraction<<shift&fractionMask<<widening)
}

// FromFloat32 returns the half float of the same value, and false where there is none. A NaN keeps the upper bits of its payload; it
// has none of the same value where those are zero or others are lost.
func FromFloat32(v float32) (half uint16, exact bool) {
	b := math.Float32bits(v)
	sign, exponent, fraction := uint16(b>>31)<<15, int(b>>23&0xFF)-biasDistance, b&(1<<23-1)
	switch {
	case exponent == 0xFF-biasDistance:
		half = sign | exponentMask<<fractionBits | uint16(fraction>>widening)
	case exponent >= exponentMask:
		return 0, false
	case exponent > 0:
		half = sign | uint16(exponent)<<fractionBits | uint16(fraction>>widening)
	case exponent > -fractionBits:
		half = sign | uint16((fraction|1<<23)>>(widening+1-exponent))
	default:
		half = sign
	}
	return half, math.Float32bits(Float32(half)) == b
}

package fileio

import (
	"encoding/binary"
	"math/bits"
)

// Most numbers in text are a few digits, perhaps with a point among them. These are read eight characters at a time; whatever else
// there may be, wrong or right, goes the long way.

// plainDigits is how many digits always fit an int64 and their magnitude a uint64.
const plainDigits = 18

// plainInteger reads [-]digits as JSON writes them, without leading zeros.
func plainInteger(t []byte) (n int64, ok bool) {
	digits, negative := unsigned(t)
	if len(digits) == 0 || len(digits) > plainDigits || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	for len(digits) > 8 { // twice at most
		head := (len(digits)-1)%8 + 1
		v, ok := eightDigits(padded(ending(digits[:head]), head))
		if !ok {
			return 0, false
		}
		n, digits = n*1e8+int64(v), digits[head:]
	}
	v, ok := eightDigits(padded(ending(digits), len(digits)))
	if n = n*1e8 + int64(v); negative {
		n = -n
	}
	return n, ok
}

// unsigned takes the sign off.
func unsigned(t []byte) (rest []byte, negative bool) {
	if len(t) > 0 && t[0] == '-' {
		return t[1:], true
	}
	return t, false
}

// ending is a text of 1 to 8 characters in the upper bytes of a word, the last one uppermost. Below them is 0.
func ending(t []byte) uint64 {
	if cap(t) >= 8 { // what stands behind the text is shifted out
		return binary.LittleEndian.Uint64(t[:8:8]) << (64 - 8*len(t))
	}
	x := uint64(0)
	for _, c := range t {
		x = x>>8 | uint64(c)<<56
	}
	return x
}

// everyByte times c is a word of eight bytes c.
const everyByte = 0x0101010101010101

// padded fills a word below its upper n bytes with zeros as text has them.
func padded(x uint64, n int) uint64 { return x | everyByte*'0'>>(8*n) }

// eightDigits reads a word of eight digits, the first one lowest, as two numbers of one digit each, of two, and of four (Lemire,
// Number Parsing at a Gigabyte per Second).
func eightDigits(x uint64) (v uint64, ok bool) {
	x ^= everyByte * '0'
	if (x|(x+everyByte*(0x7f-9)))&(everyByte*0x80) != 0 {
		return 0, false
	}
	const low = 0x000000ff000000ff
	x = x*10 + x>>8
	return uint64(uint32((x&low*(100+1_000_000<<32) + x>>16&low*(1+10_000<<32)) >> 32)), true
}

// powers of ten that a float64 holds exactly, as many as plainFloat divides by.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// plainFloat reads [-]digits[.digits] as JSON writes them, of at most 15 characters: then both the digits and the power of ten
// are exact, and one division rounds as the number itself would be (Clinger, How to Read Floating Point Numbers Accurately).
func plainFloat(t []byte) (v float64, ok bool) {
	t, negative := unsigned(t)
	if len(t) == 0 || len(t) >= len(powers) || len(t) > 1 && t[0] == '0' && t[1] != '.' {
		return 0, false
	}
	head := max(0, len(t)-8)
	n, fraction, ok := withPoint(t[head:])
	if head > 0 {
		m, before, whole := withPoint(t[:head])
		if !whole || before >= 0 && fraction >= 0 {
			return 0, false
		}
		if fraction >= 0 {
			m *= 1e7
		} else {
			m *= 1e8
		}
		n += m
		if before >= 0 {
			fraction = before + 8
		}
	}
	if !ok || fraction == 0 || fraction == len(t)-1 { // the point is last, or first
		return 0, false
	}
	if v = float64(n); fraction > 0 {
		v /= powers[fraction]
	}
	if negative {
		v = -v
	}
	return v, true
}

// withPoint reads 1 to 8 characters that are digits and perhaps one point: the digits as a number, and how many of them stand
// behind the point, −1 without one.
func withPoint(t []byte) (n uint64, fraction int, ok bool) {
	x, digits := ending(t), len(t)
	fraction = -1
	points := x ^ everyByte*'.'
	if points = (points - everyByte) &^ points & (everyByte * 0x80); points != 0 {
		at := bits.TrailingZeros64(points) &^ 7 // of the first one
		x = x&(1<<at-1)<<8 | x&^(1<<(at+8)-1)
		digits--
		fraction = 7 - at/8
	}
	n, ok = eightDigits(padded(x, digits))
	return n, fraction, ok
}

package literal

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
)

// ErrGuid is text that is not a guid.
var ErrGuid = errors.New("not a guid")

// AppendGuid appends 16 bytes as lower-case hyphenated text, first byte first.
func AppendGuid(dst []byte, g []byte) []byte {
	dst = append(dst, "00000000-0000-0000-0000-000000000000"...)
	text := dst[len(dst)-36:]
	hex.Encode(text, g[:4])
	hex.Encode(text[9:], g[4:6])
	hex.Encode(text[14:], g[6:8])
	hex.Encode(text[19:], g[8:10])
	hex.Encode(text[24:], g[10:16])
	return dst
}

// ParseGuid reads a hyphenated guid, or one of 32 hexadecimal digits, in either case. The error is ErrGuid.
func ParseGuid(s string) (g [16]byte, err error) {
	digits := s
	if IsHyphenated(s) {
		digits = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if len(digits) != 32 {
		return g, ErrGuid
	}
	if _, err := hex.Decode(g[:], []byte(digits)); err != nil {
		return g, ErrGuid
	}
	return g, nil
}

// IsHyphenated reports whether s has the shape 8-4-4-4-12 of hexadecimal digits.
func IsHyphenated(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (s[i] == '-') || !hyphen && !isHex(s[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// SwapGuid turns the stored (RFC) byte order into Microsoft's and back: the first three groups are reversed.
func SwapGuid(g [16]byte) [16]byte {
	g[0], g[1], g[2], g[3] = g[3], g[2], g[1], g[0]
	g[4], g[5] = g[5], g[4]
	g[6], g[7] = g[7], g[6]
	return g
}

// AppendFloat appends the shortest text of v in its own width (32 or 64 bits), always with a point or an
// exponent. What is no number is NaN, Infinity or -Infinity, without quotes.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	if a := math.Abs(v); a != 0 && (a < small(bits) || a >= large(bits)) {
		at := len(dst)
		return trimExponent(strconv.AppendFloat(dst, v, 'e', -1, bits), at)
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
	for _, c := range dst[at:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// small and large are where the notation changes to an exponent: where the golden rows of the reference's
// test data have it, so that these are written byte for byte.
func small(bits int) float64 {
	if bits == 32 {
		return float64(float32(1e-6))
	}
	return 1e-5
}

func large(bits int) float64 {
	if bits == 32 {
		return 1e13
	}
	return 1e16
}

// trimExponent turns e+22 into e22 and e-07 into e-7 in the text that starts at at.
func trimExponent(dst []byte, at int) []byte {
	e := at
	for dst[e] != 'e' {
		e++
	}
	out := dst[:e+1]
	digits := dst[e+2:]
	if dst[e+1] == '-' {
		out = append(out, '-')
	}
	if digits[0] == '0' && len(digits) > 1 {
		digits = digits[1:]
	}
	return append(out, digits...)
}

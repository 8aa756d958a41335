package decimal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// ErrInexact is a number that a decimal can't hold without rounding: more than 34 significant digits, or
// an exponent out of range.
var ErrInexact = errors.New("does not fit a decimal of 34 digits exactly")

// ErrSyntax is text that is not a decimal number.
var ErrSyntax = errors.New("not a decimal number")

// String is the value by IEEE 754's to-scientific-string: digits as stored, trailing zeros kept, exponent
// notation where the exponent is positive or the adjusted exponent is below −6.
func (v Value) String() string { return string(v.Append(nil)) }

// Append appends the text of v.
func (v Value) Append(dst []byte) []byte {
	if dst, ok := v.appendSmall(dst); ok {
		return dst
	}
	return v.append(dst)
}

// appendSmall is Append of a finite value of at most 18 digits without an exponent in its text: the digits are looked up three at a time.
func (v *Value) appendSmall(dst []byte) (_ []byte, ok bool) {
	low, high := v.Words()
	fraction := bias - int(high>>61&3<<12|high>>46&0xFFF)
	if !small(low, high) || fraction < 0 {
		return dst, false
	}
	top := max(0, bits.Len64(low)-1) / 10 // the first declet that is not zero, or the last one
	var buf [3*6 + 1]byte
	for i, at := top, 0; i >= 0; i, at = i-1, at+3 {
		binary.LittleEndian.PutUint32(buf[at:], declets3[low>>(10*i)&1023]) // the fourth byte is that of the next
	}
	first := declets3[low>>(10*top)&1023] >> 24
	digits := buf[first : 3*(top+1)]
	if len(digits)-1-fraction < -6 {
		return dst, false
	}
	if high&signBit != 0 {
		dst = append(dst, '-')
	}
	return appendPlain(dst, digits, fraction), true
}

func (v Value) append(dst []byte) []byte {
	p := v.parts()
	if p.negative {
		dst = append(dst, '-')
	}
	switch p.kind {
	case infinite:
		return append(dst, "Infinity"...)
	case signallingNaN:
		dst = append(dst, 's')
		fallthrough
	case quietNaN:
		dst = append(dst, "NaN"...)
		if p.hi != 0 || p.lo != 0 {
			dst = p.appendDigits(dst)
		}
		return dst
	}
	var buf [MaxDigits + 1]byte
	d := p.appendDigits(buf[:0])
	adjusted := p.exponent + len(d) - 1
	if p.exponent > 0 || adjusted < -6 {
		return appendScientific(dst, d, adjusted)
	}
	return appendPlain(dst, d, -p.exponent)
}

func appendScientific(dst, d []byte, adjusted int) []byte {
	dst = append(dst, d[0])
	if len(d) > 1 {
		dst = append(append(dst, '.'), d[1:]...)
	}
	if adjusted == 0 {
		return dst
	}
	dst = append(dst, 'E')
	if adjusted > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(adjusted), 10)
}

// appendPlain writes digits of which the last fraction ones stand behind the point.
func appendPlain(dst, d []byte, fraction int) []byte {
	if fraction == 0 {
		return append(dst, d...)
	}
	if whole := len(d) - fraction; whole > 0 {
		dst = append(append(dst, d[:whole]...), '.')
		return append(dst, d[whole:]...)
	}
	dst = append(dst, "0."...)
	for range fraction - len(d) {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}

// appendDigits appends the coefficient without leading zeros, at least one digit.
func (p *parts) appendDigits(dst []byte) []byte {
	if p.hi == 0 {
		return strconv.AppendUint(dst, p.lo, 10)
	}
	dst = strconv.AppendUint(dst, p.hi, 10)
	at := len(dst)
	dst = strconv.AppendUint(dst, loUnit+p.lo, 10) // 1 and 18 digits: the 1 keeps the zeros
	return append(dst[:at], dst[at+1:]...)
}

// Parse reads a number ([+-]digits[.digits][E[+-]digits]), "NaN", "Infinity" or "Inf" (in any case, with a
// sign). Digits and exponent are kept as written as far as they fit. The error is ErrSyntax, or ErrInexact
// where the number is one but a decimal can't hold it.
func Parse(s string) (Value, error) { return parse(s, false) }

// ParseRounded is Parse, but digits that don't fit are rounded half to even, and what is too large becomes
// an infinity.
func ParseRounded(s string) (Value, error) { return parse(s, true) }

// ParseBytes is Parse of text that the caller may change afterwards.
func ParseBytes(s []byte) (Value, error) {
	if v, ok := parsePlain(s); ok {
		return v, nil
	}
	return parse(string(s), false)
}

func parse(s string, round bool) (Value, error) {
	if v, ok := parsePlain(s); ok {
		return v, nil
	}
	body, negative := s, false
	if body != "" && (body[0] == '-' || body[0] == '+') {
		negative, body = body[0] == '-', body[1:]
	}
	if v, ok := special(body, negative); ok {
		return v, nil
	}
	d, exponent, ok := scan(body)
	if !ok {
		return Value{}, fmt.Errorf("%.60q: %w", s, ErrSyntax)
	}
	v, exact := fit(d, exponent, negative)
	if !exact && !round {
		return Value{}, fmt.Errorf("%.60q: %w", s, ErrInexact)
	}
	return v, nil
}

func special(body string, negative bool) (Value, bool) {
	p := parts{negative: negative}
	switch {
	case strings.EqualFold(body, "nan"):
		p.kind = quietNaN
	case strings.EqualFold(body, "snan"):
		p.kind = signallingNaN
	case strings.EqualFold(body, "infinity"), strings.EqualFold(body, "inf"):
		p.kind = infinite
	default:
		return Value{}, false
	}
	return pack(p), true
}

// scan reads digits, point and exponent: the number is d × 10^exponent.
func scan(s string) (d []byte, exponent int, ok bool) {
	mantissa, power, hasPower := s, "", false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, power, hasPower = s[:i], s[i+1:], true
	}
	seen, point := 0, -1
	for i := range len(mantissa) {
		switch c := mantissa[i]; {
		case c >= '0' && c <= '9':
			seen++
			if c != '0' || len(d) > 0 {
				d = append(d, c)
			}
		case c == '.' && point < 0:
			point = i
		default:
			return nil, 0, false
		}
	}
	if seen == 0 {
		return nil, 0, false
	}
	if hasPower {
		if exponent, ok = scanPower(power); !ok {
			return nil, 0, false
		}
	}
	if point >= 0 {
		exponent -= len(mantissa) - point - 1
	}
	return d, exponent, true
}

// scanPower reads a signed exponent; what is far beyond the range is cut, which makes no difference.
func scanPower(s string) (int, bool) {
	unsigned := strings.TrimLeft(s, "+-")
	if len(s)-len(unsigned) > 1 || unsigned == "" || strings.Trim(unsigned, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(unsigned)
	if err != nil || n > math.MaxInt32/2 {
		n = math.MaxInt32 / 2
	}
	if s[0] == '-' {
		n = -n
	}
	return n, true
}

// parsePlain reads what most numbers are: [-]digits[.digits] with at most 18 digits. It states false for everything else,
// wrong or right.
func parsePlain[T string | []byte](s T) (Value, bool) {
	at, p := 0, parts{}
	if len(s) > 0 && s[0] == '-' {
		at, p.negative = 1, true
	}
	if len(s)-at > 19 {
		return Value{}, false
	}
	point, seen := -1, 0
	for ; at < len(s); at++ {
		if c := s[at] - '0'; c <= 9 {
			p.lo = p.lo*10 + uint64(c)
			seen++
		} else if s[at] == '.' && point < 0 {
			point = at
		} else {
			return Value{}, false
		}
	}
	if point >= 0 {
		p.exponent = point + 1 - len(s)
	}
	if seen == 0 || seen > 18 {
		return Value{}, false
	}
	return pack(p), true
}

package decimal

import (
	"bytes"
	"math/big"
	"strconv"
)

// FromInt is an integer, exponent 0.
func FromInt(n int64) Value {
	if n < 0 {
		p := fromUint(uint64(-n))
		p.negative = true
		return pack(p)
	}
	return FromUint(uint64(n))
}

// FromUint is an integer, exponent 0.
func FromUint(n uint64) Value { return pack(fromUint(n)) }

func fromUint(n uint64) parts { return parts{hi: n / loUnit, lo: n % loUnit} }

// FromScaled is unscaled × 10^−scale with the scale kept: 12300 at scale 2 is 123.00. exact is false where
// digits had to be rounded off (half to even).
func FromScaled(unscaled *big.Int, scale int) (v Value, exact bool) {
	return fit([]byte(new(big.Int).Abs(unscaled).String()), -scale, unscaled.Sign() < 0)
}

// Scaled is the integer v × 10^scale. ok is false where v is not a finite number or has more fraction digits.
func (v Value) Scaled(scale int) (unscaled *big.Int, ok bool) {
	c, exponent, ok := v.Coefficient()
	if !ok || c.Sign() == 0 {
		return c, ok
	}
	shift := exponent + scale
	if shift > maxShift || shift < -MaxDigits {
		return nil, false
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift >= 0 {
		return c.Mul(c, power), true
	}
	q, r := c.QuoRem(c, power, new(big.Int))
	return q, r.Sign() == 0
}

// maxShift bounds the numbers that Scaled makes: no fixed-point type of Arrow has more digits.
const maxShift = 128

// fit makes a decimal of digits × 10^exponent. exact is false where digits were rounded off or the exponent
// is out of range.
func fit(d []byte, exponent int, negative bool) (v Value, exact bool) {
	d = bytes.TrimLeft(d, "0")
	exact = true
	if drop := max(len(d)-MaxDigits, MinExponent-exponent); drop > 0 && len(d) > 0 {
		d, exact = roundOff(d, drop)
		exponent += drop
		if len(d) > MaxDigits { // 99…9 became 100…0
			d, exponent = d[:MaxDigits], exponent+1
		}
	}
	if len(d) == 0 {
		// Zero keeps its exponent as far as there is one.
		exponent = min(max(exponent, MinExponent), MaxExponent)
		return pack(parts{negative: negative, exponent: exponent}), exact
	}
	if up := exponent - MaxExponent; up > 0 {
		if len(d)+up > MaxDigits {
			return pack(parts{kind: infinite, negative: negative}), false
		}
		d = append(d[:len(d):len(d)], bytes.Repeat([]byte{'0'}, up)...)
		exponent = MaxExponent
	}
	p := parts{negative: negative, exponent: exponent}
	split := max(len(d)-18, 0)
	p.hi, p.lo = number(d[:split]), number(d[split:])
	return pack(p), exact
}

// roundOff drops the last n digits, half to even.
func roundOff(d []byte, n int) (rounded []byte, exact bool) {
	if n > len(d) {
		return nil, false // less than a tenth of the last place
	}
	keep, rest := d[:len(d)-n], d[len(d)-n:]
	if len(bytes.Trim(rest, "0")) == 0 {
		return keep, true
	}
	tail := bytes.TrimRight(rest, "0")
	odd := len(keep) > 0 && keep[len(keep)-1]&1 == 1
	if rest[0] < '5' || rest[0] == '5' && len(tail) == 1 && !odd {
		return keep, false
	}
	up, _ := new(big.Int).SetString("0"+string(keep), 10)
	return bytes.TrimLeft([]byte(up.Add(up, big.NewInt(1)).String()), "0"), false
}

// number is the value of at most 18 digits.
func number(d []byte) uint64 {
	n, _ := strconv.ParseUint(string(d), 10, 64)
	return n
}

package decimal

import (
	"encoding/binary"
)

// KeySize is how many bytes a key has.
const KeySize = 1 + 2 + (MaxDigits+1)/2

// AppendKey appends KeySize bytes that sort as values do, the same for equal ones however they are written (1.0 and 1.00); ok is false for a
// NaN, which has no place among them.
//
//	0   0 −infinity, 1 below zero, 2 zero, 3 above zero, 4 infinity
//	1   exponent of the first digit and 6176, the greatest first
//	3   the digits without zeros at the end, two a byte, zeros behind them
//
// From byte 1 on all bits are turned round below zero.
func AppendKey(dst []byte, v Value) (key []byte, ok bool) {
	p := v.parts()
	var out [KeySize]byte
	switch {
	case p.nan():
		return dst, false
	case p.kind == infinite:
		if out[0] = 4; p.negative {
			out[0] = 0
		}
		return append(dst, out[:]...), true
	case p.hi|p.lo == 0:
		out[0] = 2
		return append(dst, out[:]...), true
	}
	var room [2 * MaxDigits]byte
	d := p.appendDigits(room[:0])
	binary.BigEndian.PutUint16(out[1:], uint16(p.exponent+len(d)-1+bias))
	for i, c := range d {
		out[3+i/2] |= (c - '0') << (4 - 4*(i&1))
	}
	out[0] = 3
	if p.negative {
		out[0] = 1
		for i := range out[1:] {
			out[1+i] = ^out[1+i]
		}
	}
	return append(dst, out[:]...), true
}

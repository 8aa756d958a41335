package decimal

import "encoding/binary"

// Values that are looked at one after the other by the million are better kept as two words: bytes are put together again each time.

// Words are the bytes of v as two numbers, least significant byte first.
func (v *Value) Words() (low, high uint64) {
	return binary.LittleEndian.Uint64(v[:8]), binary.LittleEndian.Uint64(v[8:])
}

// FromWords is the value that has these Words.
func FromWords(low, high uint64) (v Value) {
	binary.LittleEndian.PutUint64(v[:8], low)
	binary.LittleEndian.PutUint64(v[8:], high)
	return v
}

// ShortWords are the Words of the Short of a value given by its own.
func ShortWords(low, high uint64) (uint64, uint64) {
	if small(low, high) && low != 0 {
		if declets[low&1023]%10 != 0 {
			if preferred(low) {
				return low, high
			}
		} else if low, high, ok := stripped(low, high); ok {
			return low, high
		}
	}
	short := FromWords(low, high).Short()
	return short.Words()
}

// stripped is a small value that is not zero without the zeros at its end; not ok if that changes the first two bits of the exponent,
// which stand apart from the others.
func stripped(low, high uint64) (_, _ uint64, ok bool) {
	const first, most = 46, 1<<12 - 1 // of the exponent's other bits
	n, zeros := threes(low), uint64(0)
	for n%10 == 0 {
		n, zeros = n/10, zeros+1
	}
	return codeThrees(n), high + zeros<<first, high>>first&most+zeros <= most
}

// small reports whether a value is finite and has at most 18 digits.
func small(low, high uint64) bool {
	return low>>60 == 0 && high&(7<<58|1<<46-1) == 0 && high>>61&3 != 3
}

// preferred reports whether each of the six declets in the low 60 bits of c is the preferred one of its number: those that are not have
// three large digits, whose bits vwxst are all set, and one of the bits pq, which say nothing then.
func preferred(c uint64) bool {
	const ones = 1 | 1<<10 | 1<<20 | 1<<30 | 1<<40 | 1<<50
	return c>>1&(c>>2)&(c>>3)&(c>>5)&(c>>6)&(c>>8|c>>9)&ones == 0
}

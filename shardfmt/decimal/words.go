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
	if small(low, high) && preferred(low) && declets[low&1023]%10 != 0 {
		return low, high
	}
	short := FromWords(low, high).Short()
	return short.Words()
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

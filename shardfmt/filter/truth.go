package filter

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// truths are what an expression is for rows, false, unknown or true: two bits for each row, in two bitmaps, so that AND is that of
// both bitmaps and OR theirs. Bits beyond the last row mean nothing.
type truths struct {
	sure  []uint64 // true
	maybe []uint64 // true or unknown
}

// wordBits are the rows of a word.
const wordBits = 64

// newTruths has space for n rows; all are false.
func newTruths(n int) truths {
	words := (n + wordBits - 1) / wordBits
	both := make([]uint64, 2*words)
	return truths{both[:words], both[words:]}
}

// and joins other to t, which is as long.
func (t truths) and(other truths) {
	for i := range t.sure {
		t.sure[i] &= other.sure[i]
		t.maybe[i] &= other.maybe[i]
	}
}

// or joins other to t, which is as long.
func (t truths) or(other truths) {
	for i := range t.sure {
		t.sure[i] |= other.sure[i]
		t.maybe[i] |= other.maybe[i]
	}
}

// not exchanges true and false.
func (t truths) not() {
	for i, sure := range t.sure {
		t.sure[i], t.maybe[i] = ^t.maybe[i], ^sure
	}
}

// settle makes truths of what a test states in sure: what is not true is false, or unknown if the test reports it of it, and what is
// null is unknown.
func (t truths) settle(n int, unknown bool, null nulls) {
	if unknown {
		for i := range t.maybe {
			t.maybe[i] = ^uint64(0)
		}
	} else {
		copy(t.maybe, t.sure)
	}
	if !null.any() {
		return
	}
	valid, from, ok := null.bitmap()
	for i := range t.sure {
		var bits uint64
		if at, count := i*wordBits, min(wordBits, n-i*wordBits); ok {
			bits = ^simd.BitsAt(valid, from+at, count)
		} else {
			bits = null.bits(at, count)
		}
		t.sure[i] &^= bits
		t.maybe[i] |= bits
	}
}

// put writes which of n rows are true as a bitmap, least significant bit first, and 0 for those beyond.
func (t truths) put(bitmap []byte, n int) {
	if rest := n % wordBits; rest > 0 {
		t.sure[len(t.sure)-1] &= 1<<rest - 1
	}
	var last [wordBits / 8]byte
	for i, w := range t.sure {
		if at := bitmap[i*len(last):]; len(at) >= len(last) {
			binary.LittleEndian.PutUint64(at, w)
		} else {
			binary.LittleEndian.PutUint64(last[:], w)
			copy(at, last[:])
		}
	}
}

// setBits sets the bits of those of n rows that a test holds for.
func setBits(out []uint64, n int, holds func(row int) bool) {
	for k := range out {
		w := uint64(0)
		for i := range min(wordBits, n-k*wordBits) {
			if holds(k*wordBits + i) {
				w |= 1 << i
			}
		}
		out[k] = w
	}
}

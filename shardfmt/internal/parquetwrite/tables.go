package parquetwrite

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"slices"
)

// leastSlots is the size of an empty table.
const leastSlots = 1 << 10

// wordTable finds the codes of words by open addressing: a slot has the code after that of an entry, 0 if it is free.
type wordTable struct {
	slots []uint32
	shift int
	words []uint64
	short bool // they have 32 bits
}

func (t *wordTable) len() int { return len(t.words) }

func (t *wordTable) size() int64 { return int64(8 * len(t.words)) }

func (t *wordTable) reset() {
	t.words = t.words[:0]
	t.resize(leastSlots)
}

// resize makes space for half as many entries as slots, a power of two.
func (t *wordTable) resize(slots int) {
	if cap(t.slots) < slots {
		t.slots = make([]uint32, slots)
	} else {
		t.slots = t.slots[:slots]
		clear(t.slots)
	}
	t.shift = 64 - bits.Len(uint(slots-1))
	for code, word := range t.words {
		i := t.place(word)
		for t.slots[i] != 0 {
			i = (i + 1) & (slots - 1)
		}
		t.slots[i] = uint32(code + 1)
	}
}

// place is where the search for a word begins: the upper bits of its product with 2^64 over the golden ratio.
func (t *wordTable) place(word uint64) int { return int(word * 0x9E3779B97F4A7C15 >> t.shift) }

// find gives the code of a word, a new one if need be.
func (t *wordTable) find(word uint64) uint32 {
	mask := len(t.slots) - 1
	for i := t.place(word) & mask; ; i = (i + 1) & mask {
		code := t.slots[i]
		if code == 0 {
			t.words = append(t.words, word)
			t.slots[i] = uint32(len(t.words))
			if len(t.words)*2 > len(t.slots) {
				t.resize(2 * len(t.slots))
			}
			return uint32(len(t.words) - 1)
		}
		if t.words[code-1] == word {
			return code - 1
		}
	}
}

// codeWords gives words their codes.
func codeWords[T uint32 | uint64](t *wordTable, codes []uint16, values []T) {
	if len(codes) == 0 {
		return
	}
	last, code := values[0], uint16(t.find(uint64(values[0])))
	for i, word := range values[:len(codes)] {
		if word != last {
			last, code = word, uint16(t.find(uint64(word)))
		}
		codes[i] = code
	}
}

// textTable finds the codes of texts. A slot has the upper half of a text's hash above the code after its code, 0 if it is free.
type textTable struct {
	slots   []uint64
	bytes   []byte  // of all entries
	offsets []int64 // of entries in bytes, and the end
}

// seed is that of all tables: which codes there are doesn't depend on it.
var seed = maphash.MakeSeed()

func (t *textTable) reset() {
	t.bytes = t.bytes[:0]
	t.offsets = append(t.offsets[:0], 0)
	t.slots = slices.Grow(t.slots[:0], leastSlots)[:leastSlots]
	clear(t.slots)
}

func (t *textTable) len() int { return len(t.offsets) - 1 }

func (t *textTable) size() int64 { return int64(len(t.bytes) + 8*t.len()) }

func (t *textTable) entry(code uint32) []byte { return t.bytes[t.offsets[code]:t.offsets[code+1]] }

// find gives the code of a text, a new one if need be.
func (t *textTable) find(text []byte) uint32 {
	hash := maphash.Bytes(seed, text)
	tag, mask := hash&^(1<<32-1), len(t.slots)-1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		slot := t.slots[i]
		if slot == 0 {
			t.bytes = append(t.bytes, text...)
			t.offsets = append(t.offsets, int64(len(t.bytes)))
			t.slots[i] = tag | uint64(t.len())
			if t.len()*2 > len(t.slots) {
				t.grow()
			}
			return uint32(t.len() - 1)
		}
		if code := uint32(slot) - 1; slot&^(1<<32-1) == tag && bytes.Equal(t.entry(code), text) {
			return code
		}
	}
}

// grow doubles the slots.
func (t *textTable) grow() {
	n := 2 * len(t.slots)
	t.slots = slices.Grow(t.slots[:0], n)[:n]
	clear(t.slots)
	for code := range t.len() {
		hash := maphash.Bytes(seed, t.entry(uint32(code)))
		i := int(hash) & (n - 1)
		for t.slots[i] != 0 {
			i = (i + 1) & (n - 1)
		}
		t.slots[i] = hash&^(1<<32-1) | uint64(code+1)
	}
}

// codeTexts gives each text between offsets its code.
func codeTexts[T int32 | int64](t *textTable, codes []uint16, bytes []byte, offsets []T) {
	for i := range codes {
		codes[i] = uint16(t.find(bytes[offsets[i]:offsets[i+1]]))
	}
}

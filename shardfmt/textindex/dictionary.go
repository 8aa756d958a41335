package textindex

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
)

// dictionary numbers terms in the order in which they come: a hash table with open addressing over their bytes, which lie one behind the
// other. No term is an allocation of its own, and a short one is told from the others by its slot alone. The hashes have seeds, so that nobody can
// choose terms that collide; no order depends on them.
type dictionary struct {
	seed  maphash.Seed // of long terms
	mixer uint64       // of short ones
	data  []byte
	ends  []int  // of each term in data
	slots []slot // a power of two of them, of which more than a quarter is free
}

// slot is a term of the table.
type slot struct {
	// key is a short term's bytes, a long one's hash.
	key uint64
	// next is the number of the term and one; 0 is a free slot.
	next uint32
	size uint32 // bytes of the term
}

const (
	// firstSlots is the size of an empty table.
	firstSlots = 1 << 10
	// shortTerm is the size up to which a term is a key as it is.
	shortTerm = 8
)

func newDictionary() dictionary {
	return dictionary{seed: maphash.MakeSeed(), mixer: rand.Uint64(), slots: make([]slot, firstSlots)}
}

// count is how many terms there are.
func (d *dictionary) count() int { return len(d.ends) }

// term gives the bytes of a term, which stay as they are.
func (d *dictionary) term(id uint32) []byte {
	start := 0
	if id > 0 {
		start = d.ends[id-1]
	}
	return d.data[start:d.ends[id]:d.ends[id]]
}

// shortKey holds all bytes of a term of at most shortTerm: terms of one size have different keys.
func shortKey(t []byte) uint64 {
	switch n := len(t); {
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(t)) | uint64(binary.LittleEndian.Uint32(t[n-4:]))<<32
	case n > 0:
		return uint64(t[0]) | uint64(t[n/2])<<8 | uint64(t[n-1])<<16
	}
	return 0
}

// id is the number of a term, a new one if it was not there.
func (d *dictionary) id(t []byte) uint32 {
	size := uint32(len(t))
	if size > shortTerm {
		return d.longID(t, size)
	}
	key, mask := shortKey(t), uint64(len(d.slots)-1)
	for i := d.place(key, size) & mask; ; i = (i + 1) & mask {
		s := &d.slots[i]
		if s.key == key && s.size == size && s.next != 0 {
			return s.next - 1
		}
		if s.next == 0 {
			return d.add(t, i, key)
		}
	}
}

func (d *dictionary) longID(t []byte, size uint32) uint32 {
	key, mask := maphash.Bytes(d.seed, t), uint64(len(d.slots)-1)
	for i := d.place(key, size) & mask; ; i = (i + 1) & mask {
		s := &d.slots[i]
		if s.next == 0 {
			return d.add(t, i, key)
		}
		if s.key == key && s.size == size && string(d.term(s.next-1)) == string(t) {
			return s.next - 1
		}
	}
}

// place is where a term is looked for first, whatever the size of the table: the halves of a product with an odd number, folded.
func (d *dictionary) place(key uint64, size uint32) uint64 {
	high, low := bits.Mul64(key^d.mixer, 0x9E3779B97F4A7C15+uint64(size)<<1)
	return high ^ low
}

// add takes a new term into a free slot.
func (d *dictionary) add(t []byte, at uint64, key uint64) uint32 {
	d.data = append(d.data, t...)
	d.ends = append(d.ends, len(d.data))
	n := uint32(len(d.ends))
	d.slots[at] = slot{key, n, uint32(len(t))}
	if 4*len(d.ends) > 3*len(d.slots) {
		d.grow()
	}
	return n - 1
}

// grow doubles the table.
func (d *dictionary) grow() {
	old := d.slots
	d.slots = make([]slot, 2*len(old))
	mask := uint64(len(d.slots) - 1)
	for _, s := range old {
		if s.next == 0 {
			continue
		}
		i := d.place(s.key, s.size) & mask
		for d.slots[i].next != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = s
	}
}

// texts gives the terms as strings that share one copy of the bytes.
func (d *dictionary) texts() []string {
	all, out, start := string(d.data), make([]string, len(d.ends)), 0
	for i, end := range d.ends {
		out[i], start = all[start:end], end
	}
	return out
}

package textindex

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
)

// dictionary numbers terms in the order in which they come: a hash table with open addressing over their bytes, which lie one behind the
// other. No term is an allocation of its own, and a short one is distinguished from the others by its slot alone. The hashes have seeds, so that nobody can
// choose terms that collide; no order depends on them.
type dictionary struct {
	seed  maphash.Seed // of long terms
	mixer uint64       // of short ones
	data  []byte
	ends  []int  // of each term in data
	slots []slot // a power of two of them, of which more than a quarter is free
	// fetched keeps fetch from being left out as of no use.
	fetched uint32
}

// slot is a term of the table, 16 bytes.
type slot struct {
	// key is a short term's bytes, a long one's hash.
	key uint64
	// next is the number of the term and one; 0 is a free slot. isLong is set for a long term.
	next uint32
	// seen is the visit in which the term came last, see Builder.
	seen uint32
}

const isLong = 1 << 31

// id is the number of the slot's term.
func (s *slot) id() uint32 { return s.next&^isLong - 1 }

const (
	// firstSlots is the size of an empty table.
	firstSlots = 1 << 10
	// shortTerm is the size up to which a term is a key as it is.
	shortTerm = 8
	// maxTerms is how many numbers there are.
	maxTerms = isLong - 1
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

// shortKey holds all bytes of a term of at most shortTerm, the first one lowest, and zeros behind them.
func shortKey(t []byte) uint64 {
	switch n := len(t); {
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(t)) | uint64(binary.LittleEndian.Uint32(t[n-4:]))<<(8*n-32)
	case n > 0:
		return uint64(t[0]) | uint64(t[n/2])<<(8*(n/2)) | uint64(t[n-1])<<(8*(n-1))
	}
	return 0
}

// isShort reports whether a term is identified by its key alone: if it is short, and no zero at its end could be one behind it.
func isShort(t []byte) bool { return len(t) <= shortTerm && (len(t) == 0 || t[len(t)-1] != 0) }

// word is a term of a value that is to be found.
type word struct {
	key, place uint64
	start      uint32 // in the value
	size       uint32 // of the term, with isLong set for a long one
}

// keys appends the words of a value that lie between marks.
func (d *dictionary) keys(dst []word, value []byte, marks []uint32) []word {
	for ; len(marks) >= 2; marks = marks[2:] {
		w := word{start: marks[0], size: min(marks[1]-marks[0], tokenizer.MaxBytes)}
		switch end := int(w.start + w.size); {
		case w.size > shortTerm:
			w.key = maphash.Bytes(d.seed, value[w.start:end])
			w.size |= isLong
		case end >= 8:
			w.key = binary.LittleEndian.Uint64(value[end-8:]) >> (64 - 8*w.size)
		default:
			w.key = shortKey(value[:end][w.start:])
		}
		w.place = d.place(w.key)
		dst = append(dst, w)
	}
	return dst
}

// fetch brings the slots of words into the cache.
func (d *dictionary) fetch(words []word) {
	slots, mask := d.slots, uint64(len(d.slots)-1)
	any := uint32(0)
	for i := range words {
		any |= slots[words[i].place&mask].next
	}
	d.fetched = any
}

// lookup is the slot of a word of a value, which gets a number if it has none. The slot is of use until the next call.
func (d *dictionary) lookup(w word, value []byte) *slot {
	mask := uint64(len(d.slots) - 1)
	for i := w.place & mask; ; i = (i + 1) & mask {
		s := &d.slots[i]
		if s.key == w.key && s.next&isLong == w.size&isLong && s.next != 0 {
			if w.size&isLong == 0 {
				return s
			}
			if t := value[w.start:][:w.size&^isLong]; string(d.term(s.id())) == string(t) {
				return s
			}
		}
		if s.next == 0 {
			return d.add(value[w.start:][:w.size&^isLong], i, w.key, w.size&isLong)
		}
	}
}

// find is lookup of any term.
func (d *dictionary) find(t []byte) *slot {
	w := word{size: uint32(len(t))}
	if isShort(t) {
		w.key = shortKey(t)
	} else {
		w.key, w.size = maphash.Bytes(d.seed, t), w.size|isLong
	}
	w.place = d.place(w.key)
	return d.lookup(w, t)
}

// place is where a key is looked for first, whatever the size of the table: the halves of a product with an odd number, folded.
func (d *dictionary) place(key uint64) uint64 {
	high, low := bits.Mul64(key^d.mixer, 0x9E3779B97F4A7C15)
	return high ^ low
}

// add takes a new term into a free slot.
func (d *dictionary) add(t []byte, at uint64, key uint64, long uint32) *slot {
	d.data = append(d.data, t...)
	d.ends = append(d.ends, len(d.data))
	d.slots[at] = slot{key: key, next: uint32(len(d.ends)) | long}
	if 4*len(d.ends) > 3*len(d.slots) {
		return d.grow(uint32(len(d.ends)) | long)
	}
	return &d.slots[at]
}

// grow doubles the table, and gives the slot with a number.
func (d *dictionary) grow(next uint32) (of *slot) {
	old := d.slots
	d.slots = make([]slot, 2*len(old))
	mask := uint64(len(d.slots) - 1)
	for _, s := range old {
		if s.next == 0 {
			continue
		}
		i := d.place(s.key) & mask
		for d.slots[i].next != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = s
		if s.next == next {
			of = &d.slots[i]
		}
	}
	return of
}

// forget marks all terms as not seen.
func (d *dictionary) forget() {
	for i := range d.slots {
		d.slots[i].seen = 0
	}
}

// full reports whether n terms more might be too many.
func (d *dictionary) full(n int) bool { return n > maxTerms-len(d.ends) }

// texts gives the terms as strings that share one copy of the bytes.
func (d *dictionary) texts() []string {
	all, out, start := string(d.data), make([]string, len(d.ends)), 0
	for i, end := range d.ends {
		out[i], start = all[start:end], end
	}
	return out
}

// mostVisits is how many visits seen counts.
const mostVisits = math.MaxUint32

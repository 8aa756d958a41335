package block

import (
	"unsafe"

	"github.com/klauspost/compress/huff0"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// maxDepth bounds how deep sub-blocks nest. The reference's writer goes to five levels.
const maxDepth = 16

// Scratch is the working memory of decoders: give the same one to every call of a column, and after the
// first blocks nothing is allocated any more. The zero value is ready. Not for concurrent use.
type Scratch struct {
	// Opaque are the dictionaries that compressed blocks may name, nil if there are none.
	Opaque *Opaque
	// Lend, if not nil, gives words of memory that stay valid as long as the Scratch is used, and hold anything.
	Lend func(words int) []uint64

	slab  []uint64 // what take hands out
	used  int      // words of slab in use
	depth int      // sub-blocks entered
	// walked is the bytes of values that picking few of a block has decoded beside them.
	walked uint64
	rooms  *[2]simd.Room // see room
	fsst   *fsst         // see fsstOf
	// huffman is the table of the literals available (see planes.go).
	huffman *huff0.Scratch
}

// mark is a state of a Scratch to which release goes back.
type mark struct {
	slab *uint64
	used int
}

func (s *Scratch) mark() mark { return mark{unsafe.SliceData(s.slab), s.used} }

// release gives back all that was taken since m. Slices taken before m stay valid, even when the slab was
// replaced by a larger one in between.
func (s *Scratch) release(m mark) {
	s.used = 0
	if unsafe.SliceData(s.slab) == m.slab {
		s.used = m.used
	}
}

// take is n numbers of unspecified content, valid until release. n is bounded by the caller.
func take[U simd.Unsigned](s *Scratch, n int) []U {
	words := (n*simd.SizeOf[U]() + 7) / 8
	if s.used+words > len(s.slab) {
		s.grow(max(2*len(s.slab), words, leastSlab))
		s.used = 0
	}
	b := s.slab[s.used : s.used+words]
	s.used += words
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// room is memory for the unpacked values of a chunk, of which a decoder may use two. Not every column needs its 16 KiB.
func (s *Scratch) room(i int) *simd.Room {
	if s.rooms == nil {
		const words = 2 * len(simd.Room{})
		if s.Lend != nil {
			s.rooms = (*[2]simd.Room)(unsafe.Pointer(unsafe.SliceData(s.Lend(words)[:words])))
		} else {
			s.rooms = new([2]simd.Room)
		}
	}
	return &s.rooms[i]
}

// leastSlab is how many words a slab has at least.
const leastSlab = 1024

// grow replaces the slab by one of some words.
func (s *Scratch) grow(words int) {
	if s.Lend != nil {
		s.slab = s.Lend(words)
	} else {
		s.slab = bufpool.Of[uint64](words)
	}
}

// enter counts a level of nesting; leave takes it back.
func (s *Scratch) enter() error {
	if s.depth == maxDepth {
		return corrupt.At(0, "encodings nest deeper than %d", maxDepth)
	}
	s.depth++
	return nil
}

func (s *Scratch) leave() { s.depth-- }

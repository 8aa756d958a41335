package encode

import (
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// plan is a sub-block to be: an encoding with its parameters, its nested streams, and its exact size. Plans
// and what they point to live until the encoder's next block.
type plan struct {
	code block.Code
	// size of the sub-block in bytes, exact.
	size int
	// weight is what reading it costs, as a factor on size (see rules).
	weight float64
	// kids are the plans of the nested streams, nil for one that is stored raw or doesn't exist, and in the
	// streams themselves, as the bytes of their words, in this machine's order.
	kids [2]*plan
	in   [2][]byte
	// width and ref of bit-packed values; ref is also the reference of FOR and the base of Delta.
	width int
	ref   uint64
	// payload is what a compressor made of the values, symbols the table of FSST.
	payload []byte
	symbols *symbols
	// exponent, factor or (ALP-RD) the width of the right parts; positions and values of the exceptions.
	exponent, factor uint8
	where            []uint32
	exceptions       []byte
	// runs is the number of runs whose lengths are planes (see planes.go); 0 where it is that of the lengths.
	runs int
	// lefts is the dictionary of ALP-RD.
	lefts []uint16
	// outline of the stream, and whether the plan repeats that of an earlier block (see planRepeated).
	outline  outline
	repeated bool
}

// cost is what plans are compared by.
func (p *plan) cost() float64 { return float64(p.size) * p.weight }

// stream gives nested stream i as words.
func stream[U word](p *plan, i int) []U {
	b := p.in[i]
	return castBytes[U](b)
}

// String is the tree of encodings, as Delta[FLBitPack]; raw streams are named raw.
func (p *plan) String() string {
	if p.in[0] == nil {
		return p.code.String()
	}
	var s strings.Builder
	s.WriteString(p.code.String())
	for i, kid := range p.kids {
		switch {
		case p.in[i] == nil:
			continue
		case i == 0:
			s.WriteByte('[')
		default:
			s.WriteString(", ")
		}
		if kid == nil {
			s.WriteString("raw")
		} else {
			s.WriteString(kid.String())
		}
	}
	return s.String() + "]"
}

// slab hands out plans; they all go back with the next block.
type slab struct {
	chunks [][]plan
	used   int
}

const slabChunk = 64

func (s *slab) take() *plan {
	i := s.used / slabChunk
	if i == len(s.chunks) {
		s.chunks = append(s.chunks, make([]plan, slabChunk))
	}
	p := &s.chunks[i][s.used%slabChunk]
	s.used++
	*p = plan{weight: 1}
	return p
}

// newPlan makes a plan without parameters.
func (e *Encoder) newPlan(code block.Code, size int) *plan {
	p := e.plans.take()
	p.code, p.size, p.weight = code, size, e.rules.weight[code]
	return p
}

// nest adds a nested stream to p: the kid's plan, or raw when that is nil, whose size is then raw bytes.
func nest[U word](p *plan, i int, vals []U, kid *plan) int {
	p.in[i] = simd.AsBytes(vals)
	if p.in[i] == nil {
		p.in[i] = []byte{}
	}
	p.kids[i] = kid
	if kid == nil {
		return len(p.in[i])
	}
	p.weight *= kid.weight
	return kid.size
}

// better is the cheaper of two plans, the first when they are equal. Either may be nil.
func better(a, b *plan) *plan {
	if a == nil || b != nil && b.cost() < a.cost() {
		return b
	}
	return a
}

// unlessRaw is kid, or nil if the stream is not smaller encoded.
func unlessRaw(kid *plan, raw int) *plan {
	if kid != nil && kid.cost() < float64(raw) {
		return kid
	}
	return nil
}

// align8 rounds up to a multiple of eight.
func align8(n int) int { return (n + 7) &^ 7 }

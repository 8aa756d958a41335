package encode

import (
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// The blocks of a column mostly look like each other, and weighing all encodings takes several times what one of them does. So
// the tree that was chosen for a block is remembered, with a few figures of each of its streams, and the next blocks whose figures
// are alike get the same one, unweighed, as long as it makes of them what it made of that block.

const (
	// weighEvery is how many blocks come to one that is weighed, at most. Floats that get the same tree again are weighed half as often as before, down
	// to one block of weighRarely: to find a cut of ALP-RD takes as long as to carry it out for eight blocks.
	weighEvery, weighRarely = 8, 64
	// alikeShare is by what share of the values, as a divisor, counts of streams that are alike may differ.
	alikeShare = 32
	// repeatLoss is the share of the size, as a divisor, by which a tree may do worse than on the block it was chosen for.
	repeatLoss = 50
	// mostShapes are the streams of a tree at most: it is four deep, and each has two nested in it at most.
	mostShapes = 1 + 2 + 4 + 8
)

// outline is what streams that are alike agree in.
type outline struct {
	n int
	// width is the bits of their range, stepWidth those of the range of differences.
	width, stepWidth int
	// changes and stepChanges count the values and the differences that differ from the one before.
	changes, stepChanges int
}

func (s *stats[U]) outline() outline {
	return outline{s.n, widthOf(s.span), widthOf(s.diffSpan), s.changes, s.diffChanges}
}

// alike reports whether streams likely need the same encoding.
func (a *outline) alike(b *outline) bool {
	near := func(x, y int) bool {
		d := (x*b.n - y*a.n) * alikeShare
		return max(d, -d) <= a.n*b.n
	}
	return b.n <= 2*a.n && a.n <= 2*b.n && within1(a.width, b.width) && within1(a.stepWidth, b.stepWidth) &&
		near(a.changes, b.changes) && near(a.stepChanges, b.stepChanges)
}

func within1(a, b int) bool { return a-b <= 1 && b-a <= 1 }

// shape is a stream of a tree: its encoding, what it came to, and its nested streams, nil where there is none or it is raw.
type shape struct {
	code    block.Code
	size    int
	entries int // of a dictionary
	outline outline
	kids    [2]*shape
}

// raw is the shape of a nested stream without an encoding.
var raw = new(shape)

// remembered is the tree of the last block that was weighed, and for how many more blocks it serves: for all of every but the first.
type remembered struct {
	left, every int
	shapes      [mostShapes]shape
	used        int
}

// forget is for another buffer.
func (r *remembered) forget() { r.left, r.used = 0, 0 }

// keep remembers the tree of a block.
func (r *remembered) keep(p *plan, k kind) {
	if r.every *= 2; k != float || r.used == 0 || !p.same(&r.shapes[0]) {
		r.every = weighEvery
	}
	r.every = min(r.every, weighRarely)
	r.left, r.used = r.every-1, 0
	r.shapeOf(p)
}

// same reports whether a plan has the encodings of a shape.
func (p *plan) same(s *shape) bool {
	for i, kid := range p.kids {
		if (kid == nil) != (s.kids[i] == nil) || kid != nil && !kid.same(s.kids[i]) {
			return false
		}
	}
	return p.code == s.code
}

func (r *remembered) shapeOf(p *plan) *shape {
	s := &r.shapes[r.used]
	r.used++
	*s = shape{code: p.code, size: p.size, outline: p.outline, entries: len(p.in[1])}
	for i, kid := range p.kids {
		if kid != nil {
			s.kids[i] = r.shapeOf(kid)
		}
	}
	return s
}

// planRepeated is planWords for the outermost stream of blocks that come one after the other. The profiles with Zstd weigh every block: their frames
// follow the values more closely than an outline reports. Nulls are part of the outline by what their slots are filled with.
func planRepeated[U word](e *Encoder, last **remembered, in *input[U], sc scope) *plan {
	if !e.learns() || e.rules.general == block.Zstd || e.o.Profile == Plain {
		return planWords(e, in, sc)
	}
	if e.atRest && e.caching {
		last = &e.rest
	}
	if *last == nil {
		*last = new(remembered)
	}
	r := *last
	if r.left > 0 && !e.eager || r.used > 0 && e.recalled {
		r.left--
		sc.shape = &r.shapes[0]
	}
	p := planWords(e, in, sc)
	if !p.repeated || e.eager {
		r.keep(p, in.kind)
	}
	return p
}

// repeat plans a stream as sc.shape has it, or packed if that is smaller; nil if the shape doesn't fit, or has become larger.
func repeat[U word](e *Encoder, in *input[U], sc scope) *plan {
	shape, here := sc.shape, in.stats.outline()
	if shape == nil || shape == raw || !shape.outline.alike(&here) {
		return nil
	}
	p := planAs(e, in, sc)
	if p == nil || p.code != shape.code || p.size*shape.outline.n > (shape.size+shape.size/repeatLoss)*len(in.vals) {
		return nil
	}
	if in.kind != float { // of which packing is known for nothing: the block before may have been the one with a value far off
		p = better(p, planPacked(e, &in.stats, in.kind, sc))
	}
	p.outline, p.repeated = here, true
	return p
}

// planAs plans a stream by the encoding of sc.shape; nil if it can't.
func planAs[U word](e *Encoder, in *input[U], sc scope) *plan {
	vals, k, s := in.vals, in.kind, &in.stats
	plain := e.newPlan(block.Plain, 2+len(vals)*sizeOf[U]())
	switch sc.shape.code {
	case block.Plain:
		return plain
	case block.FLBitPack, block.FusedFrameOfReference:
		return planPacked(e, s, k, sc)
	case block.Delta:
		if s.n >= minDelta && e.mayNest(sc, block.Delta) {
			return planDifferences(e, vals, k, sc)
		}
	case block.TruncateU8, block.TruncateU16, block.TruncateU32:
		return planTruncate(e, in, sc.shape.kids[0] != nil, sc)
	case block.ZigZag:
		if k == signed && e.mayNest(sc, block.ZigZag) {
			return planMapped(e, vals, sc)
		}
	case block.FrameOfReference:
		return planAroundMode(e, vals, s, sc)
	case block.RunLength:
		return planRuns(e, vals, s, k, sc)
	case block.Sparse:
		return planSparse(e, vals, s, k, sc)
	case block.BlockDictionary:
		entries := sc.shape.entries / sizeOf[U]()
		return planNumbered(e, in, min(len(vals)/2, entries+entries/4+8), plain, sc)
	case block.Alp:
		if k == float && e.alpKnown {
			return planDecimals(e, vals, e.alpExponent, e.alpFactor, sc)
		}
	case block.AlpRd:
		if k == float && e.cutFound.entries > 0 {
			return planCut(e, vals, &e.cutFound)
		}
	case block.Lz4:
		return planGeneralOnly(e, vals, math.MaxInt)
	}
	return nil
}

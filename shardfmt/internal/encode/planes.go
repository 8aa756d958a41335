package encode

import (
	"math"
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Codes of dates and the like say something in two bytes: the lower one is anything, the upper one is one of ten. All literals of a block of Zstd
// share one Huffman code, so both in a row take two bits more than each by itself. Planes store the upper bytes of all words first, and then the
// lower ones, each of which is followed by a copy of what its upper byte was stored with. What stands for the upper bytes alone is
// words too, which are none of the values; so they are values of runs of no length (docs/format/blocks.md: readers must not reject these):
//
//	RunLength   values: Zstd of n + 1 and n words; lengths: RunLength of 0, n + 1 times, and 1, n times
//
//	magic u32, descriptor A0 (one segment, size u32), size of the text u32
//	raw block   the first word of n + 1: zero but for byte k; the k lower bytes of the second, zero
//	block …     for each of the other n - 1 words its byte k as a literal, and a copy from one word before of all up to the next one's byte k
//	raw block   the end of the last word, zero
//	block …     for each of the n words its k lower bytes as literals, and a copy of the others from n + 1 words before
//
// The first of the sequences with a distance stands in a block of its own; all others repeat it, are the same in a block, and take no bits.
// shardfmt/internal/block/planes.go reads it, each plane by itself.

const (
	// leastPlanes are the fewest words worth two planes, each with codes of its own.
	leastPlanes = 4096
	// planesGain is the share of what else would be stored, as a divisor, that planes must save: packed words are read quicker.
	planesGain = 32
	// planesBlocks is about what the blocks of two planes take besides their literals.
	planesBlocks = 512
)

// planPlanes plans words of which byte k is the uppermost that states anything as two planes; nil if that doesn't save enough of size.
func planPlanes[U word](e *Encoder, vals []U, size int, sc scope) *plan {
	n := len(vals)
	if sizeOf[U]() < 4 || n < leastPlanes || e.rules.general != block.Zstd || !e.may(sc, block.RunLength) {
		return nil
	}
	all := U(0)
	for _, v := range vals {
		all |= v
	}
	k := (widthOf(all) - 1) / 8
	most := size - size/planesGain
	if k < 1 || k > 2 || sizeOf[U]()-k < minMatch || planesSize(vals, k) >= most {
		return nil
	}
	values, lengths := e.newPlan(block.Zstd, 0), e.newPlan(block.RunLength, 0)
	values.payload = planesFrame(e, vals, k)
	values.size = headerOf(0) + len(values.payload)
	ones, times := take[uint32](&e.arena, 2), take[uint32](&e.arena, 2)
	ones[0], ones[1], times[0], times[1] = 0, 1, uint32(n+1), uint32(n)
	lengths.size = headerOf(10) + align8(nest(lengths, 0, ones, nil)) + nest(lengths, 1, times, nil)
	p := e.newPlan(block.RunLength, 0)
	p.runs = 2*n + 1
	p.size = headerOf(10) + align8(nest(p, 0, vals, values)) + nest(p, 1, times, lengths)
	if p.size >= most {
		return nil
	}
	return p
}

// tooDeepForPlanes reports whether codes of a dictionary at a level can't be planes, and codes of one a level above can.
func (e *Encoder) tooDeepForPlanes(level int) bool {
	return e.rules.general == block.Zstd && level+2 == e.rules.depth
}

// planesSize is about what two planes come to: the information in their bytes.
func planesSize[U word](vals []U, k int) int {
	var counts [2][256]int
	for _, v := range vals {
		counts[0][uint8(v)]++
		counts[1][uint8(v>>(8*k))]++
	}
	low := information(counts[0][:])
	if k > 1 { // the bytes between are taken to be as even as any
		low = float64(8 * k * len(vals))
	}
	return int(low+information(counts[1][:]))/8 + planesBlocks
}

// planesFrame is the frame of two planes.
func planesFrame[U word](e *Encoder, vals []U, k int) []byte {
	n, size := len(vals), sizeOf[U]()
	dst := e.beginFrame((2*n + 1) * size)
	upper, lower := take[uint8](&e.arena, n), take[uint8](&e.arena, n*k)
	for i, v := range vals {
		upper[i] = uint8(v >> (8 * k))
		for j := range k {
			lower[i*k+j] = uint8(v >> (8 * j))
		}
	}
	first := make([]byte, size+k)
	first[k] = upper[0]
	dst = appendRawBlock(dst, first, false)
	dst = e.appendPlane(dst, upper[1:], 1, size, size-1, size, false)
	dst = appendRawBlock(dst, make([]byte, size-k), false)
	return e.appendPlane(dst, lower, k, size, size-k, (n+1)*size, true)
}

// appendPlane appends the blocks of a plane: so many literals and a match of so many bytes from a distance, for each word of size bytes.
func (e *Encoder) appendPlane(dst, literals []byte, each, size, match, distance int, last bool) []byte {
	stored := uint32(distance + 3)
	symbol := uint8(bits.Len32(stored) - 1)
	w := bitWriter{}
	w.add(stored-1<<symbol, symbol)
	dst = e.appendAlike(dst, literals[:each], each, match, symbol, w.close(), false)
	literals = literals[each:]
	for len(literals) > 0 {
		part := literals[:min(len(literals), zstdBlock/size*each)]
		literals = literals[len(part):]
		dst = e.appendAlike(dst, part, each, match, 0, []byte{1}, last && len(literals) == 0)
	}
	return dst
}

// appendAlike appends a block whose sequences are all alike: the symbol of their offset, and the stream of their bits.
func (e *Encoder) appendAlike(dst, literals []byte, each, match int, symbol uint8, stream []byte, last bool) []byte {
	at := len(dst)
	dst = e.appendAnyLiterals(append(dst, 0, 0, 0), literals)
	dst = appendAlikeSequences(dst, len(literals)/each, each, symbol, match, stream...)
	putBlockHeader(dst[at:], len(dst)-at-3, last)
	return dst
}

// inPlanes puts packed codes of a dictionary, or the steps between them, into planes, if that saves enough. It gives the size of the codes of p, the plan
// of the dictionary.
func inPlanes(e *Encoder, p *plan, codes []uint32, sc scope) (coded int) {
	packed := p.kids[0]
	if packed.code != block.FLBitPack && packed.code != block.FusedFrameOfReference {
		return packed.size
	}
	best := packed
	if planes := planPlanes(e, codes, best.size, sc); planes != nil {
		best = planes
	}
	if steps := planSteps(e, codes, best.size, sc); steps != nil {
		best = steps
	}
	if best != packed {
		p.in[0], p.kids[0] = simd.AsBytes(codes), best
		p.weight *= best.weight / packed.weight
	}
	return best.size
}

const (
	// mostSteps is the widest range of steps that are put into planes.
	mostSteps = 1 << 14
	// stepShift is by how much the smallest step is moved up at a time, so that the steps around zero have one upper byte.
	stepShift = 32
)

// planSteps plans the differences of codes as planes of what they are above the smallest: codes by value, of dates that come in any order but mostly near
// the one before, have little more than one byte to say then. nil if that doesn't save enough of size.
func planSteps(e *Encoder, codes []uint32, size int, sc scope) *plan {
	if len(codes) <= leastPlanes || e.rules.general != block.Zstd || !e.may(sc, block.Delta) {
		return nil
	}
	diffs := take[uint32](&e.arena, len(codes)-1)
	low, high := int32(0), int32(0)
	for i := range diffs {
		diffs[i] = codes[i+1] - codes[i]
		low, high = min(low, int32(diffs[i])), max(high, int32(diffs[i]))
	}
	if high-low >= mostSteps {
		return nil
	}
	shift, expect := bestShift(e, diffs, low, high)
	if expect >= size-size/planesGain {
		return nil
	}
	ref := uint32(low) - uint32(shift)
	above := take[uint32](&e.arena, len(diffs))
	for i, d := range diffs {
		above[i] = d - ref
	}
	planes := planPlanes(e, above, size-headerOf(4)-headerOf(4), sc)
	if planes == nil {
		return nil
	}
	rest := e.newPlan(block.FrameOfReference, 0)
	rest.ref = uint64(ref)
	rest.size = headerOf(4) + nest(rest, 0, above, planes)
	p := e.newPlan(block.Delta, 0)
	p.ref = uint64(codes[0])
	p.size = headerOf(4) + nest(p, 0, diffs, rest)
	return p
}

// bestShift finds by how much to move differences from low to high up, from 0, so that the information in their bytes is least, and about what planes of them
// come to.
func bestShift(e *Encoder, diffs []uint32, low, high int32) (shift, size int) {
	occurs := take[uint32](&e.arena, int(high-low)+1)
	clear(occurs)
	for _, d := range diffs {
		occurs[int32(d)-low]++
	}
	size = math.MaxInt
	for s := 0; s < 256; s += stepShift {
		var counts [2][256]int
		for i, n := range occurs {
			counts[0][uint8(i+s)] += int(n)
			counts[1][(i+s)>>8] += int(n)
		}
		if n := int(information(counts[0][:])+information(counts[1][:]))/8 + planesBlocks; n < size {
			shift, size = s, n
		}
	}
	return shift, size
}

// AppendPlanes appends vals as planes, without their encoding being weighed, or gives nil where they aren't worth it: for tests of what reads them.
func AppendPlanes[U uint32 | uint64](dst []byte, vals []U) []byte {
	e := encoderFor(&Options{Profile: HighCompression})
	defer encoders.Put(e)
	e.borrow()
	p := planPlanes(e, vals, len(vals)*sizeOf[U](), scope{})
	if p == nil {
		return nil
	}
	return appendTree(dst, vals, p)
}

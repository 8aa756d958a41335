package encode

import (
	"math"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// ALP-RD cuts the bits of a float in two: the left part (sign, exponent, a little of the mantissa) is one of
// a few, the right part is stored packed. It is exact for all bits, and the answer to floats that are no
// decimals but of like magnitude.

const (
	// leftBits is the widest left part.
	leftBits = 16
	// leftEntries is the most entries of the dictionary of left parts. A dictionary has four or eight, so
	// that what follows it is aligned.
	leftEntries = 8
	// alpRdSample is the number of values on which the cut is chosen.
	alpRdSample = 512
)

// rdCut is a cut: the width of the right parts, and the dictionary of the left ones, most frequent first, filled up with zeros to four or
// eight entries.
type rdCut struct {
	right   int
	lefts   [leftEntries]uint16
	entries int
}

// planAlpRd chooses the cut on a sample and splits the floats.
func planAlpRd[U word](e *Encoder, vals []U, best *plan) *plan {
	cut, expect := chooseCut(e, vals)
	if expect >= best.size {
		return nil
	}
	if !e.measuring {
		e.cutFound = cut
	}
	return planCut(e, vals, &cut)
}

// planCut splits the floats at a cut.
func planCut[U word](e *Encoder, vals []U, cut *rdCut) *plan {
	p := e.newPlan(block.AlpRd, 0)
	p.factor = uint8(cut.right)
	p.lefts = take[uint16](&e.arena, cut.entries)
	copy(p.lefts, cut.lefts[:])
	p.size = headerOf(12) + 2*len(p.lefts) + splitFloats(e, p, vals)
	if len(p.where) > alpExceptions {
		return nil
	}
	return p
}

// chooseCut gives the cut that is best for a sample, and the bytes that all values will take.
func chooseCut[U word](e *Encoder, vals []U) (_ rdCut, expect int) {
	m := min(len(vals), alpRdSample)
	step := len(vals) / m
	sample := take[U](&e.arena, m)
	at := int(e.o.Seed % uint64(step))
	for i := range sample {
		sample[i] = vals[at+i*step]
	}
	slices.Sort(sample)
	all := U(0)
	for _, v := range sample {
		all |= v
	}
	cheapest, cut := math.MaxInt, rdCut{}
	for width := 1; width <= leftBits; width++ {
		right := bitsOf[U]() - width
		entries, missed, information := frequentLefts(sample, right)
		size := m*(rightWidth(all, right)+codeWidth(entries)) + missed*8*6
		if e.rules.general == block.Zstd { // see planLefts
			size = min(size, m*rightWidth(all, right)+int(information)+missed*8*6)
		}
		if size < cheapest {
			cheapest, cut.right = size, right
		}
	}
	top, _, _ := topLefts(cut.lefts[:0], sample, cut.right)
	if cut.entries = leftEntries; len(top) <= leftEntries/2 {
		cut.entries = leftEntries / 2
	}
	return cut, cheapest * len(vals) / m / 8
}

// rightWidth is the bits that the right parts take packed, at least one; all are the bits that any value has.
func rightWidth[U word](all U, cut int) int { return widthOf((all | 1) & (U(1)<<cut - 1)) }

// codeWidth is the bits of a code of a dictionary, at least one.
func codeWidth(entries int) int { return max(1, widthOf(uint32(entries-1))) }

// frequentLefts counts the entries a dictionary gets, the values of the sorted sample it lacks, and the bits that report which entry the others have.
func frequentLefts[U word](sample []U, cut int) (entries, missed int, bits float64) {
	var room [leftEntries]uint16
	lefts, counts, missed := topLefts(room[:0], sample, cut)
	return len(lefts), missed, information(counts[:])
}

// topLefts appends the most frequent left parts of a sorted sample, and counts them and the values with another one.
func topLefts[U word](lefts []uint16, sample []U, cut int) (_ []uint16, counts [leftEntries]int, missed int) {
	missed = len(sample)
	for from := 0; from < len(sample); {
		left, to := sample[from]>>cut, from+1
		for to < len(sample) && sample[to]>>cut == left {
			to++
		}
		count := to - from
		from = to
		if len(lefts) == leftEntries {
			if counts[leftEntries-1] >= count {
				continue
			}
			missed += counts[leftEntries-1]
			lefts = lefts[:leftEntries-1]
		}
		missed -= count
		i := len(lefts)
		lefts = append(lefts, 0)
		for ; i > 0 && counts[i-1] < count; i-- {
			counts[i], lefts[i] = counts[i-1], lefts[i-1]
		}
		counts[i], lefts[i] = count, uint16(left)
	}
	return lefts, counts, missed
}

// splitFloats makes the two streams and the exceptions of p, and returns their size. The right parts are the values themselves, whose upper bits packing
// cuts off.
func splitFloats[U word](e *Encoder, p *plan, vals []U) int {
	codes, width := splitLefts(e, p, vals)
	all := uint16(1)
	for _, c := range codes {
		all |= c
	}
	left := packedPlan[uint16](e, len(vals), widthOf(all))
	if coded := planLefts(e, codes); coded != nil && coded.size < left.size-left.size/lowBytesGain {
		left = coded
	}
	return nest(p, 0, codes, left) + nest(p, 1, vals, packedPlan[U](e, len(vals), width)) + 4*len(p.where) + len(p.exceptions)
}

// splitLefts gives the codes of the left parts, 0 for those that p's dictionary lacks, which go to p with their places, and the bits of the right parts.
func splitLefts[U word](e *Encoder, p *plan, vals []U) (codes []uint16, width int) {
	cut := int(p.factor)
	codes = take[uint16](&e.arena, len(vals))
	missed := take[uint8](&e.arena, (len(vals)+7)/8)
	e.lefts.Set(p.lefts)
	var all uint64
	if sizeOf[U]() == 4 {
		all = uint64(simd.SplitLefts(codes, missed, simd.Cast[uint32](vals), cut, &e.lefts))
	} else {
		all = simd.SplitLefts(codes, missed, simd.Cast[uint64](vals), cut, &e.lefts)
	}
	p.where = setBits(e, missed, len(vals))
	misses := take[uint16](&e.arena, len(p.where))
	for i, at := range p.where {
		misses[i] = uint16(vals[at] >> cut)
	}
	p.exceptions = simd.AsBytes(misses)
	return codes, rightWidth(U(all), cut)
}

// planLefts plans the codes of the left parts by how often each occurs: as a dictionary of themselves, whose codes are words of which Zstd codes the
// lowest byte. Its size is a multiple of eight, since what follows isn't padded; nil if the profile has no Zstd.
func planLefts(e *Encoder, codes []uint16) *plan {
	if e.rules.general != block.Zstd || len(codes) < leastLowBytes {
		return nil
	}
	words, entries := take[uint32](&e.arena, len(codes)), take[uint16](&e.arena, leftEntries)
	for i, c := range codes {
		words[i] = uint32(c) + 1
	}
	for i := range entries {
		entries[i] = uint16(i)
	}
	payload := e.lowBytesFrame(lowBytes(e, words), 4)
	if payload == nil {
		return nil
	}
	payload = padFrame(payload)
	coded := e.newPlan(block.Zstd, headerOf(0)+len(payload))
	coded.payload = payload
	p := e.newPlan(block.BlockDictionary, 0)
	p.size = headerOf(9) + nest(p, 0, words, coded) + nest(p, 1, entries, nil)
	return p
}

// packedPlan is a FLBitPack of a given width.
func packedPlan[U word](e *Encoder, n, width int) *plan {
	p := e.newPlan(block.FLBitPack, headerOf(1)+simd.PackedBytes(n, width))
	p.width = width
	return p
}

package encode

import (
	"math"
	"slices"

	"github.com/shardcat/shardcat/internal/block"
	"github.com/shardcat/shardcat/internal/kernel"
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
	alpRdSample = 256
)

// planAlpRd chooses the cut on a sample and splits the floats.
func planAlpRd[U word](e *Encoder, vals []U, best *plan) *plan {
	right, lefts, expect := chooseCut(e, vals)
	if expect >= best.size {
		return nil
	}
	p := e.newPlan(block.AlpRd, 0)
	p.factor = uint8(right)
	p.lefts = lefts
	p.size = headerOf(12) + 2*len(lefts) + splitFloats(e, p, vals)
	if len(p.where) > alpExceptions {
		return nil
	}
	return p
}

// chooseCut gives the width of the right parts and the dictionary of the left ones, most frequent first,
// filled up with zeros to four or eight, and the bytes that all values will take.
func chooseCut[U word](e *Encoder, vals []U) (right int, lefts []uint16, expect int) {
	m := min(len(vals), alpRdSample)
	step := len(vals) / m
	sample := take[U](&e.arena, m)
	at := int(e.o.Seed % uint64(step))
	for i := range sample {
		sample[i] = vals[at+i*step]
	}
	slices.Sort(sample)
	cheapest := math.MaxInt
	for width := 1; width <= leftBits; width++ {
		cut := bitsOf[U]() - width
		entries, missed, information := frequentLefts(sample, cut)
		bits := m*(rightWidth(sample, cut)+codeWidth(entries)) + missed*8*6
		if e.rules.general == block.Zstd { // see planLefts
			bits = min(bits, m*rightWidth(sample, cut)+int(information)+missed*8*6)
		}
		if bits < cheapest {
			cheapest, right = bits, cut
		}
	}
	var room [leftEntries]uint16
	top, _, _ := topLefts(room[:0], sample, right)
	lefts = take[uint16](&e.arena, leftEntries)
	clear(lefts)
	if len(top) <= leftEntries/2 {
		lefts = lefts[:leftEntries/2]
	}
	copy(lefts, top)
	return right, lefts, cheapest * len(vals) / m / 8
}

// rightWidth is the bits that the right parts take packed, at least one.
func rightWidth[U word](vals []U, cut int) int {
	all := U(1)
	for _, v := range vals {
		all |= v
	}
	return widthOf(all & (U(1)<<cut - 1))
}

// codeWidth is the bits of a code of a dictionary, at least one.
func codeWidth(entries int) int { return max(1, widthOf(uint32(entries-1))) }

// frequentLefts counts the entries a dictionary gets, the values of the sorted sample it lacks, and the bits that say which entry the others have.
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

// splitFloats makes the two streams and the exceptions of p, and returns their size.
func splitFloats[U word](e *Encoder, p *plan, vals []U) int {
	cut := int(p.factor)
	codes, rights := take[uint16](&e.arena, len(vals)), take[U](&e.arena, len(vals))
	p.where = take[uint32](&e.arena, len(vals))[:0]
	misses := take[uint16](&e.arena, len(vals))[:0]
	largest := uint16(0)
	for i, v := range vals {
		rights[i] = v & (U(1)<<cut - 1)
		left := uint16(v >> cut)
		code := slices.Index(p.lefts, left)
		if code < 0 {
			p.where, misses = append(p.where, uint32(i)), append(misses, left)
			code = 0
		}
		codes[i] = uint16(code)
		largest = max(largest, codes[i])
	}
	p.exceptions = kernel.AsBytes(misses)
	left := packedPlan[uint16](e, len(vals), max(1, widthOf(largest)))
	if coded := planLefts(e, codes); coded != nil && coded.size < left.size-left.size/lowBytesGain {
		left = coded
	}
	right := packedPlan[U](e, len(vals), rightWidth(vals, cut))
	return nest(p, 0, codes, left) + nest(p, 1, rights, right) + 4*len(p.where) + len(p.exceptions)
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
	p := e.newPlan(block.FLBitPack, headerOf(1)+kernel.PackedBytes(n, width))
	p.width = width
	return p
}

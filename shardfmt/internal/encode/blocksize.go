package encode

import (
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// The size of numeric blocks. Small blocks are quicker to get a value from, and adapt better; large ones save
// what every block costs, and give a compressor more to find. Which of the two sizes is the better one is
// measured: a piece from the middle of the staged values is planned both ways. Wide blocks, of all that is
// staged, share one dictionary where each smaller block would repeat it; see worthWide.

const (
	// mapShare is the bytes of the block map that a block takes, where blocks differ in size.
	mapShare = 2 * 8
	// surveyEvery is how many flushes keep the size once chosen; where it is chosen again, twice as many, up to surveyRarely. The
	// profiles with Zstd stay with the first.
	surveyEvery, surveyRarely = 4, 16
	// surveyWideEvery is how many flushes go by between those of which a whole wide block is planned, in the profiles with Zstd.
	surveyWideEvery = 16
	// longAfter is the number of flushes after which Options.LongBlocks counts.
	longAfter = 8 << 20 / FlushValues
)

// flushBlock is the size of the blocks of one flush.
func flushBlock[T simd.Number](e *Encoder, vals []T, valid []byte) int {
	if e.o.Profile == Plain {
		return generalBlock
	}
	if len(vals) < 2*generalBlock {
		return max(e.blockSize, lightBlock)
	}
	e.flushes++
	switch {
	case e.o.LongBlocks && e.flushes > longAfter:
		e.blockSize = generalBlock
		return e.blockSize
	case e.flushes < e.surveyAt:
		return e.blockSize
	}
	before := e.blockSize
	if e.measuredWide && e.flushes%surveyWideEvery != 1 && len(vals) >= wideBlock {
		e.surveyAt = e.flushes + surveyEvery
		return e.blockSize
	}
	e.measuredWide = false
	at := (len(vals) - generalBlock) / 2 &^ 7
	piece, bits := vals[at:at+generalBlock], from(valid, at)
	large := measure(e, piece, bits)
	small := 0
	for i := lightBlock; i < generalBlock; i += 2 * lightBlock {
		small += measure(e, piece[i:i+lightBlock], from(bits, i))
	}
	e.blockSize = lightBlock
	if small *= generalBlock / lightBlock / 2; small > large+large/100 {
		e.blockSize, small = generalBlock, large
	}
	if worthWide(e, vals[:min(len(vals), wideBlock)], valid, small) {
		e.blockSize = wideBlock
	}
	if e.surveyPause *= 2; e.blockSize != before || e.rules.general == block.Zstd {
		e.surveyPause = surveyEvery
	}
	e.surveyPause = min(e.surveyPause, surveyRarely)
	e.surveyAt = e.flushes + e.surveyPause
	return e.blockSize
}

// measure is the size that vals would have as one block.
func measure[T simd.Number](e *Encoder, vals []T, valid []byte) int {
	e.borrow()
	e.eager, e.measuring = true, true
	defer func() { e.eager, e.measuring = false, false }()
	p := planNumbers(e, vals, valid)
	return align8(8+align8(e.presenceSize(valid, len(vals)))+p.size+4) + mapShare
}

// presenceSize is the size of the presence section of a block of n values.
func (e *Encoder) presenceSize(valid []byte, n int) int {
	if e.o.NoPresence {
		return 0
	}
	return presenceSize(valid, n, e.o.Profile)
}

// hardlyAnything is the share of the values that blocks take, as a divisor, below which most of it is what every block
// costs. The profiles with Zstd plan a whole wide block now and then anyway.
const hardlyAnything, hardlyAnythingZstd = 16, 32

// worthWide reports whether vals, as one block, promise to save what the profile requests of what they come to in
// smaller blocks, which is size for each generalBlock of them. Planning them for certain would cost as much as
// encoding them; so only those that hardly take anything are planned. Of the others the extremes are looked at, and the
// distinct ones counted.
func worthWide[T simd.Number](e *Encoder, vals []T, valid []byte, size int) bool {
	if e.rules.wideGain == 0 {
		return false
	}
	limit := size * len(vals) / generalBlock * (1000 - e.rules.wideGain) / 1000
	if e.rules.general == block.Zstd && e.flushes%surveyWideEvery == 1 {
		e.measuredWide = measuredWide(e, vals, valid, limit)
		return e.measuredWide
	}
	presence := align8(e.presenceSize(valid, len(vals)))
	share := hardlyAnything
	if e.rules.general == block.Zstd {
		share = hardlyAnythingZstd
	}
	if size < generalBlock*simd.SizeOf[T]()/share || presence > 0 && manyNulls(valid, len(vals)) {
		return measure(e, vals, valid) < limit
	}
	e.borrow()
	if align8(8+presence+wideSize(e, vals, limit)+4)+mapShare >= limit {
		return false
	}
	e.trials[block.BlockDictionary] = [4]trial{} // what it lost it lost to smaller blocks
	return true
}

// closeCall is the share of a size, as a divisor, by which a piece of the values may mislead about all of them.
const closeCall = 16

// measuredWide plans vals as one block, and reports whether it comes to less than limit. Where that is a close call, it is compared with smaller
// blocks from all over the values, of which limit knows one.
func measuredWide[T simd.Number](e *Encoder, vals []T, valid []byte, limit int) bool {
	e.light = true
	wide := measure(e, vals, valid)
	e.light = false
	if wide < limit || wide > limit+limit/closeCall || len(vals) < wideBlock {
		return wide < limit
	}
	pieces := 0
	for at := 0; at < wideBlock; at += 2 * generalBlock {
		pieces += 2 * measure(e, vals[at:at+generalBlock], from(valid, at))
	}
	return wide < pieces*(1000-e.rules.wideGain)/1000
}

// manyNulls reports whether so many values are null, or so few, that small blocks store a byte for each and a wide one a bit.
func manyNulls(valid []byte, n int) bool {
	present := countOnes(valid, n)
	return min(present, n-present) > n/16
}

// wideSize is about what vals come to as one block, bit-packed, Huffman-coded or with a dictionary; limit or more if that can't be
// less. Null slots count as values.
func wideSize[T simd.Number](e *Encoder, vals []T, limit int) int {
	k := kindOf[T]()
	switch simd.SizeOf[T]() {
	case 1:
		return wideSizeOf(e, simd.Cast[uint8](vals), k, limit)
	case 2:
		return wideSizeOf(e, simd.Cast[uint16](vals), k, limit)
	case 4:
		return wideSizeOf(e, simd.Cast[uint32](vals), k, limit)
	}
	return wideSizeOf(e, simd.Cast[uint64](vals), k, limit)
}

// shareOfEntries is how many values there must be, at least, for each entry of a dictionary that pays.
const shareOfEntries = 8

// codesSize is what the codes of n values come to, packed, with a dictionary of so many entries.
func codesSize(n, entries int) int {
	return headerOf(9) + headerOf(1) + simd.PackedBytes(n, widthOf(uint32(entries)))
}

// mostEntries is how many entries a dictionary that pays may have, at most: so many that the codes of n values come to less than limit. There is no
// need to count further.
func mostEntries(n, limit int) int {
	most := n / shareOfEntries
	for most > 0 && codesSize(n, most) >= limit {
		most = 1<<(widthOf(uint32(most))-1) - 1 // a bit less
	}
	return most
}

func wideSizeOf[U word](e *Encoder, vals []U, k kind, limit int) int {
	if k != float {
		s := scan(vals)
		limit = min(limit, headerOf(sizeOf[U]()+1)+simd.PackedBytes(len(vals), widthOf(s.span)))
		if p := planLowBytes(e, vals, &s, k, scope{}); p != nil {
			limit = min(limit, p.size)
		}
	}
	most := mostEntries(len(vals), limit)
	if most == 0 {
		return limit
	}
	entries := distinct(e, vals, most)
	if entries == nil {
		return limit
	}
	codes := codesSize(len(vals), len(entries))
	raw := len(entries) * sizeOf[U]()
	if k == float {
		return min(limit, codes+raw)
	}
	slices.Sort(entries)
	if p := maybeRaw(e, entries, k, scope{}); p != nil {
		raw = min(raw, p.size)
	}
	return min(limit, codes+raw)
}

// smallBuffer is the bytes of values from which on a buffer's last blocks are treated like the others: what
// could still be saved is no longer worth the time.
const smallBuffer = 128 << 10

// small: the buffer is, so far.
func (e *Encoder) small() bool { return e.cut < smallBuffer }

// lastBlocks cuts the last values, generalBlock or less than size, into blocks of the given size; those of a small
// buffer as they are, or in small blocks, with or without a last one that takes what doesn't fill a chunk of
// FastLanes, whichever is smallest.
func lastBlocks[T simd.Number](e *Encoder, vals []T, valid []byte, size int) []int {
	e.last = e.last[:0]
	if len(vals) == 0 {
		return nil
	}
	if e.o.Profile == Plain || len(vals) <= simd.ChunkLen {
		return append(e.last, len(vals))
	}
	if !e.small() || size == wideBlock {
		return e.evenly(len(vals), size)
	}
	ways := [...]int{len(vals), lightBlock, len(vals) &^ (simd.ChunkLen - 1)}
	if e.recalled {
		return e.evenly(len(vals), ways[e.kept.way])
	}
	best, way := measure(e, vals, valid), 0
	for i, size := range ways {
		if size >= len(vals) || size == ways[way] {
			continue
		}
		total := 0
		for at := 0; at < len(vals); at += size {
			total += measure(e, vals[at:min(at+size, len(vals))], from(valid, at))
		}
		if total < best {
			best, way = total, i
		}
	}
	if e.caching {
		e.kept.way = way
	}
	return e.evenly(len(vals), ways[way])
}

// evenly cuts n values into blocks of a size.
func (e *Encoder) evenly(n, size int) []int {
	for ; n > 0; n -= size {
		e.last = append(e.last, min(n, size))
	}
	return e.last
}

package encode

import (
	"encoding/binary"
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// Decimals of a column mostly have their upper bytes in common, and LZ4 pays three bytes for each of them to report it. A frame of even records states it
// once for all: a frame of Zstd (RFC 8878) with one sequence for each record, whose first bytes are literals, as many for every record, and whose
// others are copied from the record before. All sequences of a block are the same, so they take no bits, and literals stay as they are: nothing
// is searched for, and who reads it puts a constant behind each few bytes. That is quicker than LZ4 either way, and two fifths smaller.
//
//	magic u32, descriptor A0 (one segment, size u32), size of the text u32
//	raw blocks:   the first record, and those behind it that differ in more bytes
//	block:        one sequence with the distance of a record, which is the first of the repeated offsets from here on
//	block …:      literals of records, then whole records that differ in more bytes, which no sequence uses up; as many sequences as
//	              the first ones, tables of one symbol each: literals k, offset the first repeated one, a match of 16 - k
//
// shardfmt/internal/block/evenrecords.go reads exactly this, block by block; any decoder of Zstd does.

const (
	// mostEven is the most literals of a record: one word is written for them.
	mostEven = 8
	// strayRecord is what a record comes to that differs in more bytes: itself, and the block that it ends.
	strayRecord = recordSize + 14
	// leastEven are the fewest records worth a frame.
	leastEven = 64
	// rawLiterals is the type of literals that are stored as they are, with their number in 20 bits.
	rawLiterals = 3 << 2
)

// planEvenRecords plans a frame of even records for the profiles with LZ4; nil if one in two records differs in too many bytes.
func (e *Encoder) planEvenRecords(s *byteValues) *plan {
	if s.fixed != recordSize || s.n < leastEven || len(s.data) > maxGeneral || e.rules.general != block.Lz4 {
		return nil
	}
	differing := take[uint8](&e.arena, s.n)
	literals, size := evenRecords(differing, s.data)
	if size > len(s.data)/2 {
		return nil
	}
	p := e.newPlan(block.Zstd, 0)
	p.payload = e.evenFrame(s.data, differing, literals)
	p.size = headerOf(6) + align8(len(p.payload))
	return p
}

// evenRecords finds in how many of its first bytes each record differs from the one before, how many literals are best for all, and about
// what that comes to.
func evenRecords(differing []uint8, text []byte) (literals, size int) {
	var counts [recordSize + 1]int
	lastLow, lastHigh := lz4Load(text, 0), lz4Load(text, 8)
	for i := range differing {
		low, high := lz4Load(text, i*recordSize), lz4Load(text, i*recordSize+8)
		n := differ(low^lastLow, high^lastHigh)
		lastLow, lastHigh = low, high
		differing[i] = uint8(n)
		counts[n]++
	}
	size, covered := math.MaxInt, counts[0]
	for n := 1; n <= mostEven; n++ {
		covered += counts[n]
		if c := covered*n + (len(differing)-covered)*strayRecord; c < size {
			literals, size = n, c
		}
	}
	return literals, size
}

// evenFrame is the frame of text whose records have so many literals.
func (e *Encoder) evenFrame(text []byte, differing []uint8, literals int) []byte {
	n := len(differing)
	dst := e.beginFrame(len(text))
	at := 1
	for at < n && int(differing[at]) > literals {
		at++
	}
	for from := 0; from < at; from += zstdBlock / recordSize {
		to := min(from+zstdBlock/recordSize, at)
		dst = appendRawBlock(dst, text[from*recordSize:to*recordSize], to == n)
	}
	for opened := false; at < n; opened = true {
		most := zstdBlock / recordSize
		if !opened {
			most = 1
		}
		even := at
		for even < n && even-at < most && int(differing[even]) <= literals {
			even++
		}
		stray := even
		for stray < n && stray-at < zstdBlock/recordSize && int(differing[stray]) > literals {
			stray++
		}
		dst = appendEvenBlock(dst, text[at*recordSize:stray*recordSize], even-at, literals, opened, stray == n)
		at = stray
	}
	return dst
}

// appendEvenBlock appends a block whose first records, even of them, have so many literals; the others are literals as a whole. Opened: the first
// repeated offset is that of a record.
func appendEvenBlock(dst, text []byte, even, literals int, opened, last bool) []byte {
	at := len(dst)
	size := even*literals + len(text) - even*recordSize
	h := uint32(size)<<4 | rawLiterals
	dst = append(dst, 0, 0, 0, byte(h), byte(h>>8), byte(h>>16))
	for i := range even {
		dst = binary.LittleEndian.AppendUint64(dst, lz4Load(text, i*recordSize))
		dst = dst[:len(dst)-8+literals]
	}
	dst = append(dst, text[even*recordSize:]...)
	if even == 0 {
		dst = append(dst, 0)
	} else {
		offset, stream := uint8(0), byte(1)
		if !opened {
			offset, stream = 4, 1<<4|(recordSize+3)&15 // a distance of 16 is stored as 19: symbol 4 and its lower bits
		}
		dst = appendAlikeSequences(dst, even, literals, offset, recordSize-literals, stream)
	}
	putBlockHeader(dst[at:], len(dst)-at-3, last)
	return dst
}

// planRecordsLZ4 weighs LZ4 against a frame of even records: every now and then, as it seldom wins.
func (e *Encoder) planRecordsLZ4(s *byteValues, even *plan) *plan {
	if e.evenWait > 0 && !e.eager {
		e.evenWait--
		return even
	}
	best := better(even, e.planByteGeneral(s, nil, int(even.cost())+1))
	if e.learns() && best == even {
		e.evenWait = recordsPause
	}
	return best
}

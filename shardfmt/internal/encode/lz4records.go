package encode

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Decimals are records of 16 bytes of which a few low ones say something: the others are those of the record before, and the
// third one with all above it occurred a while ago. The general encoder looks at each byte for that; this one looks for whole
// records, for those without their first byte, and for those without their first two, and takes the end of the record before where
// there is none.

const (
	recordSize      = 16
	recordTableBits = 12
)

// lz4Records holds, by hash, the number of the last record plus 1, modulo 2^16, that ended in the same 16, 15 and 14 bytes: what
// else may be there is found out by comparing.
type lz4Records [3][1 << recordTableBits]uint16

// compress appends src, which is made of records, as an LZ4 block.
func (z *lz4Records) compress(dst, src []byte) []byte {
	*z = lz4Records{}
	anchor := 0
	var lastLow, lastHigh uint64
	for i := range len(src)/recordSize - 1 { // the last one is literals
		at := i * recordSize
		low, high := lz4Load(src, at), lz4Load(src, at+8)
		back, skip := z.look(src, i, low, high)
		if back == 0 && i > 0 {
			back, skip = 1, differ(low^lastLow, high^lastHigh)
		}
		lastLow, lastHigh = low, high
		start := max(at+skip, anchor)
		if back == 0 || start-at > recordSize-lz4MinMatch {
			continue
		}
		length := lz4Common(src, start-back*recordSize, start)
		if length < lz4MinMatch {
			continue
		}
		dst = appendShortSequence(dst, src, anchor, start, back*recordSize, length)
		anchor = start + length
	}
	return appendLiterals(dst, src[anchor:], 0)
}

// differ is how many bytes of a record there are up to the last one that differs, by the differing bits of its halves.
func differ(low, high uint64) int {
	if high != 0 {
		return 8 + (bits.Len64(high)+7)/8
	}
	return (bits.Len64(low) + 7) / 8
}

// look enters record i into the tables and gives how many records before it the most of its end occurred, and how many of its first
// bytes are others; 0 if not so much as 14 bytes are known.
func (z *lz4Records) look(src []byte, i int, low, high uint64) (back, skip int) {
	mixed := high * 0x9fb21c651e98df25
	for n := range len(z) {
		slot := &z[n][(low>>(8*n)^mixed)*0xcf1bbcdcb7a56463>>(64-recordTableBits)]
		d := int(uint16(i+1) - *slot)
		*slot = uint16(i + 1)
		if back > 0 || d == 0 || d > i || d > lz4Window/recordSize {
			continue
		}
		from := (i - d) * recordSize
		if (lz4Load(src, from)^low)>>(8*n) == 0 && lz4Load(src, from+8) == high {
			back, skip = d, n
		}
	}
	return back, skip
}

// appendShortSequence appends the literals from anchor to start and a match, quickly where both are short and memory is there.
func appendShortSequence(dst, src []byte, anchor, start, offset, length int) []byte {
	n, literals, rest := len(dst), start-anchor, length-lz4MinMatch
	if literals > 8 || rest >= 15 || cap(dst)-n < 16 || anchor+8 > len(src) {
		return appendSequence(dst, src[anchor:start], offset, length)
	}
	dst = dst[:n+16]
	dst[n] = byte(literals<<4 | rest)
	binary.LittleEndian.PutUint64(dst[n+1:], lz4Load(src, anchor))
	binary.LittleEndian.PutUint16(dst[n+1+literals:], uint16(offset))
	return dst[:n+3+literals]
}

const (
	// recordsPause is how many blocks go by between two for which the general encoder is tried beside the one of records, or the other way round.
	recordsPause = 15
	// recordsLoss is by what share of the size, as a divisor, records may be larger.
	recordsLoss = 100
)

// compressRecords compresses records by LZ4: with one encoder, and every now and then with both.
func (e *Encoder) compressRecords(text []byte) []byte {
	if e.recordsWait > 0 && !e.eager {
		e.recordsWait--
		if e.recordsLost {
			return e.compressLZ4(text, false, math.MaxInt)
		}
		return e.onlyRecords(text)
	}
	records := e.onlyRecords(text)
	whole := take[uint8](&e.arena, 4+lz4Bound(len(text)))
	whole = e.lz4.compress(whole[:4], text)
	lost := len(whole) < len(records)-len(records)/recordsLoss
	if e.learns() {
		e.recordsLost, e.recordsWait = lost, recordsPause
	}
	if lost || e.eager {
		if other := e.compressLZ4(text, false, math.MaxInt); len(other) < len(records) {
			return other
		}
	}
	return records
}

func (e *Encoder) onlyRecords(text []byte) []byte {
	room := take[uint8](&e.arena, 4+lz4Bound(len(text))+recordSize)
	binary.LittleEndian.PutUint32(room, uint32(len(text)))
	return e.records.compress(room[:4], text)
}

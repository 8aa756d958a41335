package colstream

import (
	"encoding/binary"
	"slices"
)

// MapBuilder collects the lengths of blocks and writes the block map. The zero value is ready.
type MapBuilder struct {
	// values and sizes are those of the blocks of the segment available.
	values, sizes []uint32
	// done are the finished segments, of so many blocks, positions and bytes; logical and records state about each where it ends.
	done             []byte
	blocks           int
	position, offset uint64
	logical, records []uint64
}

// Add appends a block of values positions (1 … 2^32−2) and size bytes (1 … 2^32−2).
func (w *MapBuilder) Add(values, size uint32) {
	w.values = append(w.values, values)
	w.sizes = append(w.sizes, size)
	if len(w.values) == SegmentBlocks {
		w.endSegment()
	}
}

func (w *MapBuilder) endSegment() {
	w.done = appendSegment(w.done, w.position, w.offset, w.values, w.sizes)
	w.position += sum(w.values)
	w.offset += sum(w.sizes)
	w.blocks += len(w.values)
	w.logical, w.records = append(w.logical, w.position), append(w.records, uint64(len(w.done)))
	w.values, w.sizes = w.values[:0], w.sizes[:0]
}

// held is about how many bytes the builder holds.
func (w *MapBuilder) held() int { return cap(w.done) + 8*cap(w.values) + 16*len(w.logical) }

// Blocks is the number of blocks added.
func (w *MapBuilder) Blocks() int { return w.blocks + len(w.values) }

// Append appends the block map to dst, which holds what lies before it from a multiple of 8 on. The builder is used up.
func (w *MapBuilder) Append(dst []byte) []byte {
	if len(w.values) > 0 {
		w.endSegment()
	}
	dst = append(dst, w.done...)
	for _, ends := range [][]uint64{w.logical, w.records} {
		dst = binary.LittleEndian.AppendUint64(dst, 0)
		for _, v := range ends {
			dst = binary.LittleEndian.AppendUint64(dst, v)
		}
	}
	footer := [...]uint64{w.position, uint64(w.blocks), uint64(len(w.logical)), SegmentBlocks, w.offset}
	for _, v := range footer {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// appendSegment appends one segment record.
func appendSegment(dst []byte, position, offset uint64, values, sizes []uint32) []byte {
	start := len(dst)
	minValues, minSize := slices.Min(values), slices.Min(sizes)
	vw, sw := leastWidth(slices.Max(values)-minValues), leastWidth(slices.Max(sizes)-minSize)
	dst = binary.LittleEndian.AppendUint64(dst, position)
	dst = binary.LittleEndian.AppendUint64(dst, offset)
	dst = binary.LittleEndian.AppendUint32(dst, minValues)
	dst = binary.LittleEndian.AppendUint32(dst, minSize)
	dst = append(dst, byte(8*vw), byte(8*sw))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(values)))
	dst = padFrom(appendDeltas(dst, values, minValues, vw), start, 4)
	return padFrom(appendDeltas(dst, sizes, minSize, sw), start, 8)
}

func appendDeltas(dst []byte, vals []uint32, least uint32, width int) []byte {
	for _, v := range vals {
		d := v - least
		switch width {
		case 1:
			dst = append(dst, byte(d))
		case 2:
			dst = binary.LittleEndian.AppendUint16(dst, uint16(d))
		default:
			dst = binary.LittleEndian.AppendUint32(dst, d)
		}
	}
	return dst
}

// leastWidth is the least number of bytes, of 1, 2 and 4, that hold v.
func leastWidth(v uint32) int {
	switch {
	case v <= 0xFF:
		return 1
	case v <= 0xFFFF:
		return 2
	default:
		return 4
	}
}

// padFrom appends zeros until dst[start:] is a multiple of a.
func padFrom(dst []byte, start, a int) []byte {
	return append(dst, make([]byte, alignUp(len(dst)-start, a)-(len(dst)-start))...)
}

func sum(v []uint32) (s uint64) {
	for _, x := range v {
		s += uint64(x)
	}
	return s
}

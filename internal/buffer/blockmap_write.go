package buffer

import (
	"encoding/binary"
	"slices"
)

// MapBuilder collects the lengths of blocks and writes the block map. The zero value is ready.
type MapBuilder struct {
	// SegmentBlocks is how many blocks a segment holds, SegmentBlocks of the package if 0.
	SegmentBlocks int

	values, sizes []uint32
}

// Add appends a block of values positions (1 … 2^32−2) and size bytes (1 … 2^32−2).
func (w *MapBuilder) Add(values, size uint32) {
	w.values = append(w.values, values)
	w.sizes = append(w.sizes, size)
}

// Blocks is the number of blocks added.
func (w *MapBuilder) Blocks() int { return len(w.values) }

// Append appends the block map to dst, whose length must be a multiple of 8.
func (w *MapBuilder) Append(dst []byte) []byte {
	per := w.SegmentBlocks
	if per == 0 {
		per = SegmentBlocks
	}
	base := len(dst)
	logical, records := []uint64{0}, []uint64{0}
	var position, offset uint64
	for at := 0; at < len(w.values); at += per {
		end := min(at+per, len(w.values))
		dst = appendSegment(dst, position, offset, w.values[at:end], w.sizes[at:end])
		position += sum(w.values[at:end])
		offset += sum(w.sizes[at:end])
		logical = append(logical, position)
		records = append(records, uint64(len(dst)-base))
	}
	for _, v := range slices.Concat(logical, records) {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	footer := [...]uint64{position, uint64(len(w.values)), uint64(len(logical) - 1), uint64(per), offset}
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

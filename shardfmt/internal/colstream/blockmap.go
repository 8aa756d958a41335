package colstream

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

const (
	mapFooterSize     = 40
	segmentHeaderSize = 28
)

// Map reports where the blocks of a stream lie. It is immutable and safe for concurrent use.
type Map struct {
	// position[i] is the first logical position of block i; the last entry is the number of values.
	position []uint64
	// offset[i] is where block i starts, in bytes from the start of the buffer; the last entry is where
	// the last block ends.
	offset []uint64
}

// Blocks is the number of blocks.
func (m *Map) Blocks() int { return len(m.position) - 1 }

// Values is the number of logical positions that the blocks cover.
func (m *Map) Values() uint64 { return m.position[len(m.position)-1] }

// Bytes is the length of all blocks together.
func (m *Map) Bytes() uint64 { return m.offset[len(m.offset)-1] }

// Span gives the logical positions [first, end) of block i.
func (m *Map) Span(i int) (first, end uint64) { return m.position[i], m.position[i+1] }

// Range gives the bytes [start, end) of block i, from the start of the buffer.
func (m *Map) Range(i int) (start, end uint64) { return m.offset[i], m.offset[i+1] }

// Find gives the block that holds a position; pos must be below Values.
func (m *Map) Find(pos uint64) int {
	return sort.Search(m.Blocks(), func(i int) bool { return m.position[i+1] > pos })
}

// mapFooter is the end of a block map.
type mapFooter struct {
	values, blocks, segments, segmentSize, dataSize uint64
}

// ParseMap reads a whole block map and checks that its parts agree: segments and records without gaps, all
// segments but the last of SegmentBlocks blocks, every block with at least one value and one byte, totals as in the footer.
// Errors are of package corrupt, with offsets relative to b.
func ParseMap(b []byte) (*Map, error) {
	f, list, err := parseMapFooter(b)
	if err != nil {
		return nil, err
	}
	m := &Map{
		position: make([]uint64, 1, f.blocks+1),
		offset:   make([]uint64, 1, f.blocks+1),
	}
	logical, records := b[list:], b[list+8*(int(f.segments)+1):]
	if u64(logical, 0) != 0 || u64(records, 0) != 0 {
		return nil, corrupt.At(int64(list), "block map: the first segment doesn't start at 0")
	}
	for s := 0; s < int(f.segments); s++ {
		start, end := u64(records, s), u64(records, s+1)
		if end <= start || end > uint64(list) {
			return nil, corrupt.At(int64(list), "block map: segment record %d is [%d, %d)", s, start, end)
		}
		if err := m.addSegment(b[start:end], f, s); err != nil {
			return nil, corrupt.Locate(err, "", int64(start))
		}
		if m.Values() != u64(logical, s+1) {
			return nil, corrupt.At(int64(list), "block map: segment %d ends at position %d, its blocks at %d",
				s, u64(logical, s+1), m.Values())
		}
	}
	return m, m.agree(f, len(b))
}

// agree compares the sums over all segments with the footer.
func (m *Map) agree(f mapFooter, size int) error {
	if m.Values() != f.values || uint64(m.Blocks()) != f.blocks || m.Bytes() != f.dataSize {
		return corrupt.At(int64(size-mapFooterSize),
			"block map: footer says %d values, %d blocks, %d bytes; the segments hold %d, %d, %d",
			f.values, f.blocks, f.dataSize, m.Values(), m.Blocks(), m.Bytes())
	}
	return nil
}

// parseMapFooter checks the counts of the footer against the bytes that exist and finds the segment list.
func parseMapFooter(b []byte) (f mapFooter, list int, err error) {
	if len(b) < mapFooterSize+16 || len(b)%8 != 0 {
		return f, 0, corrupt.At(0, "block map of %d bytes", len(b))
	}
	at := len(b) - mapFooterSize
	t := b[at:]
	f = mapFooter{u64(t, 0), u64(t, 1), u64(t, 2), u64(t, 3), u64(t, 4)}
	room := uint64(at)
	switch {
	case f.segments > (room-16)/(16+segmentHeaderSize), f.blocks > room/2:
		return f, 0, corrupt.At(int64(at), "block map: %d segments and %d blocks in %d bytes", f.segments, f.blocks, len(b))
	case f.values < f.blocks || f.blocks < f.segments || (f.segments == 0) != (f.blocks == 0):
		return f, 0, corrupt.At(int64(at), "block map: %d values in %d blocks in %d segments", f.values, f.blocks, f.segments)
	case f.segmentSize != SegmentBlocks:
		return f, 0, corrupt.At(int64(at+24), "block map: segments of %d blocks, not of %d", f.segmentSize, SegmentBlocks)
	case f.segments > 0 && (f.segments-1)*SegmentBlocks >= f.blocks, f.segments*SegmentBlocks < f.blocks:
		return f, 0, corrupt.At(int64(at+8), "block map: %d blocks in %d segments of %d", f.blocks, f.segments, SegmentBlocks)
	}
	return f, at - 16*(int(f.segments)+1), nil
}

// addSegment appends the blocks of segment s, whose record is r.
func (m *Map) addSegment(r []byte, f mapFooter, s int) error {
	if len(r) < segmentHeaderSize || len(r)%8 != 0 {
		return corrupt.At(0, "block map: segment record of %d bytes", len(r))
	}
	if u64(r, 0) != m.Values() || u64(r, 1) != m.Bytes() {
		return corrupt.At(0, "block map: segment %d starts at position %d, byte %d; the one before ends at %d, %d",
			s, u64(r, 0), u64(r, 1), m.Values(), m.Bytes())
	}
	n := uint64(binary.LittleEndian.Uint16(r[26:]))
	want := uint64(SegmentBlocks)
	if last := f.blocks - uint64(m.Blocks()); s == int(f.segments)-1 {
		want = last
	}
	if n != want {
		return corrupt.At(26, "block map: segment %d holds %d blocks instead of %d", s, n, want)
	}
	return m.addBlocks(r, int(n))
}

// addBlocks unpacks the two delta arrays of a segment record.
func (m *Map) addBlocks(r []byte, n int) error {
	vw, bw := int(r[24])/8, int(r[25])/8
	if !deltaWidth(r[24]) || !deltaWidth(r[25]) {
		return corrupt.At(24, "block map: deltas of %d and %d bits", r[24], r[25])
	}
	sizes := alignUp(segmentHeaderSize+n*vw, 4)
	if end := alignUp(sizes+n*bw, 8); end > len(r) {
		return corrupt.At(26, "block map: %d blocks don't fit into a record of %d bytes", n, len(r))
	}
	minValues, minBytes := uint64(binary.LittleEndian.Uint32(r[16:])), uint64(binary.LittleEndian.Uint32(r[20:]))
	for i := range n {
		values := minValues + delta(r[segmentHeaderSize:], i, vw)
		size := minBytes + delta(r[sizes:], i, bw)
		if values == 0 || size == 0 {
			return corrupt.At(segmentHeaderSize, "block map: empty block")
		}
		m.position = append(m.position, m.Values()+values)
		m.offset = append(m.offset, m.Bytes()+size)
	}
	return nil
}

// Canonical reports whether b is, byte for byte, the block map that a writer makes of m: least widths, least
// minima, zero padding. Only that protects the bytes of a block map, which has no checksum.
func (m *Map) Canonical(b []byte) bool {
	var w MapBuilder
	for i := range m.Blocks() {
		w.Add(uint32(m.position[i+1]-m.position[i]), uint32(m.offset[i+1]-m.offset[i]))
	}
	return bytes.Equal(w.Append(nil), b)
}

func deltaWidth(bits byte) bool { return bits == 8 || bits == 16 || bits == 32 }

// delta is element i of a packed array of w-byte values.
func delta(b []byte, i, w int) uint64 {
	switch w {
	case 1:
		return uint64(b[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b[2*i:]))
	default:
		return uint64(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// u64 is element i of an array of 64-bit values.
func u64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }

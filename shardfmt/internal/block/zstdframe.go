package block

import "encoding/binary"

// Some frames of Zstd (RFC 8878) are read here, block by block, by who knows how they were written (see evenrecords.go and planes.go). What has any
// other form, or is damaged, is left to the general decoder.

const (
	zstdFrameMagic      = 0xFD2FB528
	zstdFrameDescriptor = 0xA0 // one segment, size u32, no checksum, no dictionary
	zstdFrameHeader     = 9
	zstdBlockHeader     = 3
	// oneSymbolTables are the modes of a block's sequences that are all alike: tables of one symbol each.
	oneSymbolTables = 1<<6 | 1<<4 | 1<<2
)

// zstdBlocks are the blocks of a frame that were not read yet.
type zstdBlocks struct {
	src []byte
	// ended: the last block was read, and nothing follows.
	ended bool
}

// openFrame reads the header of a frame of size bytes of text.
func openFrame(src []byte, size uint64) (f zstdBlocks, ok bool) {
	if len(src) < zstdFrameHeader || binary.LittleEndian.Uint32(src) != zstdFrameMagic || src[4] != zstdFrameDescriptor ||
		uint64(binary.LittleEndian.Uint32(src[5:])) != size {
		return f, false
	}
	return zstdBlocks{src: src[zstdFrameHeader:]}, true
}

// next gives the content of the next block, which is raw or compressed.
func (f *zstdBlocks) next() (b []byte, raw, ok bool) {
	if f.ended || len(f.src) < zstdBlockHeader {
		return nil, false, false
	}
	h := uint32(f.src[0]) | uint32(f.src[1])<<8 | uint32(f.src[2])<<16
	size, kind := int(h>>3), h>>1&3
	if size > len(f.src)-zstdBlockHeader || size > zstdBlock || kind&1 == 1 {
		return nil, false, false
	}
	b, f.src = f.src[zstdBlockHeader:zstdBlockHeader+size], f.src[zstdBlockHeader+size:]
	if h&1 == 1 {
		if f.ended = true; len(f.src) > 0 {
			return nil, false, false
		}
	}
	return b, kind == 0, true
}

// sequences reads the number of sequences of a block from the start of its section.
func sequences(b []byte) (n int, rest []byte, ok bool) {
	switch {
	case b[0] < 128:
		return int(b[0]), b[1:], true
	case b[0] < 255 && len(b) > 1:
		return int(b[0]-128)<<8 | int(b[1]), b[2:], true
	case b[0] == 255 && len(b) > 2:
		return 0x7F00 + int(b[1]) + int(b[2])<<8, b[3:], true
	}
	return 0, nil, false
}

package layer

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Sizes and limits, in bytes unless stated otherwise.
const (
	blockUnit   = 512
	blockHeader = 32
	trailerSize = 512
	// maxBlock bounds a block as it is in memory: larger ones are legal, but nobody writes them.
	maxBlock = 256 << 20
	// maxDepth bounds a tree: 32 children a block at least make 2^80 rows.
	maxDepth = 16
	// maxColumns is how many the trailer has space for before the metadata: 40+24·(n−1)+64 <= 512.
	maxColumns = 17
)

// The magics.
const (
	magicData    = "LFDB"
	magicIndex   = "LFIB"
	magicRows    = "LFIR"
	magicTrailer = "LFFT"
	magicBloom   = "LFFB"
	magicModules = "LFMB"
	magicRoaring = "LFFR"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Compression of data and index blocks, by its number on the wire.
type Compression uint8

// The compressions. LZ4 and Zstd came after version 5 without a new number.
const (
	None Compression = iota
	Snappy
	LZ4
	Zstd
)

// String is the name of a compression.
func (c Compression) String() string {
	if int(c) < len(compressionNames) {
		return compressionNames[c]
	}
	return "unknown"
}

var compressionNames = []string{"none", "snappy", "lz4", "zstd"}

// seal puts the checksum and the magic in front of a block, whose first eight bytes are free.
func seal(b []byte, magic string) {
	copy(b[4:8], magic)
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
}

// checkSeal checks the checksum and the magic of a block.
func checkSeal(b []byte, magic string) error {
	if len(b) < 8 {
		return corrupt.At(0, "a block of %d bytes", len(b))
	}
	if got, want := crc32.Checksum(b[4:], castagnoli), binary.LittleEndian.Uint32(b); got != want {
		return corrupt.At(0, "the checksum of a block is %08x, expected %08x", got, want)
	}
	if string(b[4:8]) != magic {
		return corrupt.At(4, "a block %q, expected %q", b[4:8], magic)
	}
	return nil
}

// pad fills b with zeros to a multiple of 512 bytes.
func pad(b []byte) []byte { return append(b, make([]byte, roundUp(len(b), blockUnit)-len(b))...) }

// store makes what lies in the file of a block that is complete but for its seal.
func (c Compression) store(b []byte, magic string) []byte {
	if c == None {
		b = pad(b)
		seal(b, magic)
		return b
	}
	seal(b, magic)
	out := make([]byte, 4)
	switch c {
	case Snappy:
		out = append(out, snappy.Encode(nil, b)...)
	case LZ4:
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
		packed := make([]byte, lz4.CompressBlockBound(len(b)))
		n, _ := lz4.CompressBlock(b, packed, nil) // the space suffices
		out = append(out, packed[:n]...)
	default:
		out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
		out = zstdEncoder.EncodeAll(b, out)
	}
	binary.LittleEndian.PutUint32(out, uint32(len(out)-4))
	return pad(out)
}

var (
	zstdEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	zstdDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
)

// load gives the block that stored bytes stand for, checked.
func (c Compression) load(stored []byte, magic string) ([]byte, error) {
	b := stored
	if c != None {
		var err error
		if b, err = c.unpack(stored); err != nil {
			return nil, err
		}
	}
	return b, checkSeal(b, magic)
}

func (c Compression) unpack(stored []byte) ([]byte, error) {
	if len(stored) < 8 {
		return nil, corrupt.At(0, "a compressed block of %d bytes", len(stored))
	}
	n := binary.LittleEndian.Uint32(stored)
	if uint64(n) > uint64(len(stored)-4) || n < 4 {
		return nil, corrupt.At(0, "%d compressed bytes in a block of %d", n, len(stored))
	}
	packed := stored[4 : 4+n]
	var out []byte
	var err error
	switch c {
	case Snappy:
		if size, e := snappy.DecodedLen(packed); e != nil || size > maxBlock {
			return nil, corrupt.At(4, "a Snappy block of %d bytes", size)
		}
		out, err = snappy.Decode(nil, packed)
	case LZ4, Zstd:
		out, err = c.unpackSized(packed)
	default:
		return nil, corrupt.Unsupported(0, "compression %d", c)
	}
	if err != nil {
		return nil, &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 4, What: "a block can't be decompressed", Err: err}
	}
	return out, nil
}

// unpackSized unpacks what stands behind its size. LZ4 expands to 255 times its bytes at most.
func (c Compression) unpackSized(packed []byte) ([]byte, error) {
	size := binary.LittleEndian.Uint32(packed)
	if size > maxBlock {
		return nil, corrupt.At(4, "a block of %d bytes", size)
	}
	if c == Zstd {
		out, err := zstdDecoder.DecodeAll(packed[4:], nil)
		if err == nil && len(out) != int(size) {
			err = corrupt.At(4, "%d bytes, expected %d", len(out), size)
		}
		return out, err
	}
	if uint64(size) > uint64(len(packed))*255 {
		return nil, corrupt.At(4, "%d bytes out of %d", size, len(packed))
	}
	out := make([]byte, size)
	n, err := lz4.UncompressBlock(packed[4:], out)
	if err == nil && n != len(out) {
		err = corrupt.At(4, "%d bytes, expected %d", n, len(out))
	}
	return out, err
}

// packed is integers of one width in a block.
type packed struct {
	b     []byte
	width int
	// start and stride give the values of a series without bytes.
	start, stride uint64
}

// widthOf is the fewest bytes of 1, 2, 3, 4, 6 and 8 that hold a value.
func widthOf(v uint64) int {
	for _, w := range []int{1, 2, 3, 4, 6} {
		if v < 1<<(8*w) {
			return w
		}
	}
	return 8
}

// alignOf an array of a width.
func alignOf(width int) int {
	switch width {
	case 3:
		return 1
	case 6:
		return 2
	}
	return width
}

// newArray finds an array of n integers in a block.
func newArray(block []byte, at uint32, width uint8, n uint64) (packed, error) {
	switch width {
	case 1, 2, 3, 4, 6, 8:
	default:
		return packed{}, corrupt.At(int64(at), "integers of %d bytes", width)
	}
	if at < blockHeader || uint64(at) > uint64(len(block)) || n > (uint64(len(block))-uint64(at))/uint64(width) {
		return packed{}, corrupt.At(int64(at), "%d integers of %d bytes at byte %d of a block of %d", n, width, at, len(block))
	}
	return packed{b: block[at : uint64(at)+n*uint64(width)], width: int(width)}, nil
}

func (a packed) at(i int) uint64 {
	if a.b == nil {
		return a.start + uint64(i)*a.stride
	}
	var v uint64
	for j := a.width - 1; j >= 0; j-- {
		v = v<<8 | uint64(a.b[i*a.width+j])
	}
	return v
}

// appendArray aligns dst and appends integers of a width.
func appendArray(dst []byte, width int, n int, value func(i int) uint64) (out []byte, at int) {
	dst = append(dst, make([]byte, roundUp(len(dst), alignOf(width))-len(dst))...)
	at = len(dst)
	for i := range n {
		v := value(i)
		for range width {
			dst = append(dst, byte(v))
			v >>= 8
		}
	}
	return dst, at
}

// arrayEnd is where an array of n integers behind size bytes would end.
func arrayEnd(size, width, n int) int { return roundUp(size, alignOf(width)) + width*n }

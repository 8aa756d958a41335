package block

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Lz4 and Zstd of numbers (docs/format/blocks.md):
//
//	0  code u16, zero × 6
//	8  Lz4: uncompressed size u32, one raw LZ4 block; Zstd: one or more zstd frames; exactly to the end
const compressedHeader = 8

// What a compressed byte can become at most, which bounds what a declared size may make us allocate.
const (
	// lz4Expansion: a match length grows by 255 with each byte that extends it.
	lz4Expansion = 255
	// zstdBlock: four bytes of a zstd frame (an RLE block) can stand for a block of 128 KiB.
	zstdBlock    = 128 << 10
	zstdBlockMin = 4
	// maxExpanded caps the bytes of one compressed block, whatever its size; the reference's writer stays
	// below 1 MiB, but for a single value that is larger.
	maxExpanded = 1 << 30
)

// decompressNumbers decompresses exactly len(dst) numbers.
func decompressNumbers[U simd.Unsigned](dst []U, sub []byte, code Code, s *Scratch) error {
	if err := checkHeader(sub, code, compressedHeader); err != nil {
		return err
	}
	if err := s.decompress(simd.AsBytes(dst), sub[compressedHeader:], code); err != nil {
		return corrupt.Locate(err, "", compressedHeader)
	}
	simd.FromFile(dst)
	return nil
}

// decompress fills dst, exactly, from the Lz4 or Zstd payload src.
func (s *Scratch) decompress(dst, src []byte, code Code) error {
	if code == Zstd {
		return s.Opaque.unzstd(dst, src)
	}
	return s.Opaque.lz4(dst, src)
}

// lz4 fills dst, exactly, from an uncompressed size and a raw LZ4 block, which may name a dictionary.
func (o *Opaque) lz4(dst, src []byte) error {
	size, named, err := lz4Size(src)
	if err != nil {
		return err
	}
	if size != len(dst) {
		return corrupt.At(0, "Lz4: %d bytes declared, expected %d", size, len(dst))
	}
	if size == 0 {
		return nil
	}
	n, err := 0, error(nil)
	if named {
		n, err = o.unlz4(dst, src[4:])
	} else {
		n, err = unlz4(dst, src[4:])
	}
	if err != nil {
		return corrupt.Locate(err, "", 4)
	}
	if n != len(dst) {
		return corrupt.At(4, "LZ4 block of %d bytes, expected %d", n, len(dst))
	}
	return nil
}

// lz4Size is the uncompressed size that an Lz4 payload declares, refused if no LZ4 block of that length can
// hold it, and whether it names a dictionary.
func lz4Size(src []byte) (size int, named bool, err error) {
	if len(src) < 4 {
		return 0, false, corrupt.At(0, "Lz4: payload of %d bytes has no size", len(src))
	}
	declared := u32(src, 0)
	size, named = declared&^lz4Dictionary, declared&lz4Dictionary != 0
	if size > maxExpanded || int64(size) > lz4Expansion*int64(len(src)-4) {
		return 0, false, corrupt.At(0, "Lz4: %d bytes declared in %d compressed bytes", size, len(src)-4)
	}
	return size, named, nil
}

// unlz4 decodes one raw LZ4 block.
func unlz4(dst, src []byte) (int, error) {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return n, &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 0, What: "LZ4 block", Err: err}
	}
	return n, nil
}

// zstdMax is the most that a Zstd payload of n bytes may become.
func zstdMax(n int) int { return int(min((int64(n)/zstdBlockMin+1)*zstdBlock, maxExpanded)) }

// zstdDecoders hands out decoders that never grow the slice they are given: output past its capacity is an
// error, so a bomb can't be set off. Windows up to 128 MiB are honoured (zstd's level 22).
var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstdOptions()...)
	if err != nil {
		panic(err) // only wrong options
	}
	return d
}}

func zstdOptions() []zstd.DOption {
	return []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxWindow(128 << 20)}
}

// unzstd fills dst, exactly, from zstd frames.
func unzstd(d *zstd.Decoder, dst, src []byte) error {
	if len(dst) > zstdMax(len(src)) {
		return corrupt.At(0, "Zstd: %d bytes expected from %d compressed bytes", len(dst), len(src))
	}
	out, err := d.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return unknownDictionary(err)
	}
	if len(out) != len(dst) {
		return corrupt.At(0, "zstd frame of %d bytes, expected %d", len(out), len(dst))
	}
	return nil
}

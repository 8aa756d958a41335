package encode

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/shardfmt/block"
)

// The general compressors work on bytes. A numeric sub-block is
//
//	0  u16  16 (Zstd) or 17 (LZ4)
//	2  6    zero
//	8       payload, to the end
//
// The payload of LZ4 is the uncompressed size as u32, then one raw LZ4 block; that of Zstd a plain frame.

// maxGeneral is the largest text one block may hold: the size field of LZ4 has 32 bits, and readers bound
// what they allocate.
const maxGeneral = 1 << 30

// appendGeneral writes a numeric sub-block with the compressor of the profile.
func (e *Encoder) appendGeneral(dst, text []byte) ([]byte, error) {
	start := len(dst)
	code := e.general()
	dst = append(appendCode(dst, code), 0, 0, 0, 0, 0, 0)
	dst, err := e.compress(dst, code, text)
	if err != nil || len(dst)-start < 2+len(text) {
		return dst, err
	}
	return append(appendCode(dst[:start], block.Plain), text...), nil
}

// general is the compressor a profile prefers.
func (e *Encoder) general() block.Code {
	if e.o.Profile == HighCompression || e.o.Profile == MinimalSize {
		return block.Zstd
	}
	return block.Lz4
}

// compress appends the payload of a general compressor.
func (e *Encoder) compress(dst []byte, code block.Code, text []byte) ([]byte, error) {
	if len(text) > maxGeneral {
		return dst, fmt.Errorf("block of %d bytes: more than %d can't be compressed", len(text), maxGeneral)
	}
	if code == block.Zstd {
		return e.compressZstd(dst, text)
	}
	return e.compressLZ4(dst, text)
}

func (e *Encoder) compressZstd(dst, text []byte) ([]byte, error) {
	if e.zstd == nil {
		level := zstd.SpeedDefault
		if e.o.Profile == MinimalSize {
			level = zstd.SpeedBestCompression
		}
		var err error
		e.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return dst, err
		}
	}
	return e.zstd.EncodeAll(text, dst), nil
}

func (e *Encoder) compressLZ4(dst, text []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
	at, bound := len(dst), lz4.CompressBlockBound(len(text))
	dst = append(dst, make([]byte, bound)...)
	n, err := e.fast.CompressBlock(text, dst[at:])
	if err != nil {
		return dst, err
	}
	return dst[:at+n], nil
}

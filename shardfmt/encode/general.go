package encode

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/shardfmt/block"
	"github.com/shardcat/shardcat/shardfmt/kernel"
)

// The general compressors work on bytes. The payload of LZ4 is the uncompressed size as u32, then one raw
// LZ4 block; that of Zstd a plain frame. Both end where their section ends.

const (
	// minGeneral is the fewest bytes worth a compressor's while.
	minGeneral = 64
	// maxGeneral is the largest text of one block: the size field of LZ4 has 32 bits, and readers bound what
	// they allocate.
	maxGeneral = 1 << 30
)

// planGeneral compresses the words as they are; for the profile that tries everything also zigzagged.
func planGeneral[U word](e *Encoder, vals []U, k kind, best *plan, sc scope) *plan {
	raw := len(vals) * sizeOf[U]()
	if !sc.general || float64(best.size) < e.rules.generalAbove*float64(raw) || best.size < minGeneral ||
		!e.general.due(sc) {
		return nil
	}
	p := planGeneralOnly(e, vals, sc)
	if k == signed && e.may(sc, block.ZigZag) && sc.level+1 < e.rules.depth {
		p = better(p, planZigZag(e, vals, sc))
	}
	e.general.report(sc, p != nil && p.cost() < best.cost())
	return p
}

// planGeneralOnly compresses the words; nil if they are too many.
func planGeneralOnly[U word](e *Encoder, vals []U, sc scope) *plan {
	text := kernel.AsBytes(vals)
	payload := e.compress(text)
	if payload == nil {
		return nil
	}
	p := e.newPlan(e.rules.general, headerOf(0)+len(payload))
	p.payload = payload
	return p
}

// compress gives the payload that the profile's compressor makes of text, in the memory of the block at
// hand; nil if text is out of bounds.
func (e *Encoder) compress(text []byte) []byte {
	if len(text) == 0 || len(text) > maxGeneral {
		return nil
	}
	if e.rules.general == block.Zstd {
		return e.compressZstd(text)
	}
	return e.compressLZ4(text)
}

func (e *Encoder) compressZstd(text []byte) []byte {
	if e.zstd == nil {
		level := zstd.SpeedDefault
		if e.o.Profile == MinimalSize {
			level = zstd.SpeedBestCompression
		}
		var err error
		e.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options are constants
		}
	}
	room := take[uint8](&e.arena, len(text)+len(text)/64+128)
	return e.zstd.EncodeAll(text, room[:0])
}

func (e *Encoder) compressLZ4(text []byte) []byte {
	room := take[uint8](&e.arena, 4+lz4.CompressBlockBound(len(text)))
	binary.LittleEndian.PutUint32(room, uint32(len(text)))
	n, err := e.fast.CompressBlock(text, room[4:])
	if err != nil || n == 0 {
		return nil
	}
	return room[:4+n]
}

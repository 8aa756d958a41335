package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// FLBitPack (docs/format/blocks.md) and FusedFrameOfReference:
//
//	FLBitPack   0  code u16, width u8, zero × 5                             8  chunks, to the end
//	FFOR        0  code u16, reference T, width u8, zero up to 8 × k       8 or 16  chunks, to the end
//
// A chunk is 1024 values in 128·width bytes (package simd); the last one is filled up.
type packed[U simd.Unsigned] struct {
	chunks []byte
	width  int
	ref    U
}

// parsePacked reads either header and checks the chunks against n values.
func parsePacked[U simd.Unsigned](sub []byte, code Code, n int) (packed[U], error) {
	size := simd.SizeOf[U]()
	head, widthAt := header(1), codeSize
	if code == FusedFrameOfReference {
		head, widthAt = header(size+1), codeSize+size
	}
	if err := checkHeader(sub, code, head); err != nil {
		return packed[U]{}, err
	}
	p := packed[U]{chunks: sub[head:], width: int(sub[widthAt])}
	if code == FusedFrameOfReference {
		p.ref = simd.LoadOne[U](sub[codeSize:])
	}
	if p.width == 0 || p.width > 8*size {
		return packed[U]{}, corrupt.At(int64(widthAt), "%v: width %d of %d-bit values", code, p.width, 8*size)
	}
	chunk := simd.ChunkBytes(p.width)
	if len(p.chunks)%chunk != 0 || len(p.chunks)/chunk < (n+simd.ChunkLen-1)/simd.ChunkLen {
		return packed[U]{}, corrupt.At(int64(head), "%v: %d bytes in chunks of %d for %d values",
			code, len(p.chunks), chunk, n)
	}
	return p, nil
}

func decodePacked[U simd.Unsigned](dst []U, sub []byte, code Code, s *Scratch) error {
	p, err := parsePacked[U](sub, code, len(dst))
	if err != nil {
		return err
	}
	simd.Unpack(dst, p.chunks, p.width, p.ref, s.room(0))
	return nil
}

// at is value i without the rest.
func (p packed[U]) at(i int) U {
	size := simd.ChunkBytes(p.width)
	chunk := p.chunks[i/simd.ChunkLen*size:][:size]
	return simd.At[U](chunk, i%simd.ChunkLen, p.width) + p.ref
}

// packedPart reads the header of a nested bit-packed stream; ok is false for any other stream.
func packedPart[U simd.Unsigned](p part) (v packed[U], ok bool, err error) {
	if !p.nested {
		return v, false, nil
	}
	code, err := codeOf(p.b, p.elem.kind(), simd.SizeOf[U]())
	if err != nil || code != FLBitPack && code != FusedFrameOfReference {
		return v, false, nil // not ours to report
	}
	v, err = parsePacked[U](p.b, code, p.count)
	return v, err == nil, corrupt.Locate(err, "", int64(p.at))
}

// chunk unpacks the values from at on, a multiple of ChunkLen, into a buffer: up to ChunkLen of the first n.
// Encodings around a bit-packed stream take it chunk by chunk, while it is in the cache.
func (p packed[U]) chunk(at, n int, room *simd.Room) []U {
	size := simd.ChunkBytes(p.width)
	b := p.chunks[at/simd.ChunkLen*size:][:size]
	return simd.UnpackChunk(b, p.width, p.ref, room)[:min(n-at, simd.ChunkLen)]
}

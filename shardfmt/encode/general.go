package encode

import (
	"encoding/binary"

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

// planGeneral compresses the words as they are; for the profile that tries everything also
// with their signs folded in.
func planGeneral[U word](e *Encoder, vals []U, k kind, best *plan, sc scope) *plan {
	raw := len(vals) * sizeOf[U]()
	if !sc.general || float64(best.size) < e.rules.generalAbove*float64(raw) || best.size < minGeneral ||
		!e.general.due(sc) {
		return nil
	}
	p := planGeneralOnly(e, vals)
	if k == signed && sc.level < e.rules.generalBelow && e.mayNest(sc, block.ZigZag) {
		p = better(p, planZigZagGeneral(e, vals))
	}
	e.general.report(sc, p != nil && p.cost() < best.cost())
	return p
}

// planGeneralOnly compresses the words; nil if they are too many.
func planGeneralOnly[U word](e *Encoder, vals []U) *plan {
	text := kernel.AsBytes(vals)
	payload := e.compress(text, true)
	if payload == nil {
		return nil
	}
	p := e.newPlan(e.rules.general, headerOf(0)+len(payload))
	p.payload = payload
	return p
}

func planZigZagGeneral[U word](e *Encoder, vals []U) *plan {
	mapped := take[U](&e.arena, len(vals))
	for i, v := range vals {
		mapped[i] = zigZag(v)
	}
	kid := planGeneralOnly(e, mapped)
	if kid == nil {
		return nil
	}
	p := e.newPlan(block.ZigZag, 0)
	p.size = headerOf(1) + nest(p, 0, mapped, kid)
	return p
}

// compress gives the payload that the profile's compressor makes of text, in the memory of the block at
// hand; nil if text is out of bounds. Numbers say that text is made of words.
func (e *Encoder) compress(text []byte, numbers bool) []byte {
	if len(text) == 0 || len(text) > maxGeneral {
		return nil
	}
	if e.rules.general == block.Lz4 {
		room := take[uint8](&e.arena, 4+lz4Bound(len(text)))
		binary.LittleEndian.PutUint32(room, uint32(len(text)))
		return e.lz4.compress(room[:4], text)
	}
	levels := e.rules.textLevels
	if numbers {
		levels = e.rules.numberLevels
	}
	var best []byte
	for _, level := range levels {
		room := take[uint8](&e.arena, len(text)+len(text)/64+128)
		if made := e.zstdAt(level).EncodeAll(text, room[:0]); best == nil || len(made) < len(best) {
			best = made
		}
	}
	return best
}

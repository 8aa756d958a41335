package encode

import (
	"encoding/binary"
	"math"

	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
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
func planGeneral[U word](e *Encoder, in *input[U], best *plan, sc scope, tried *codeSet) *plan {
	raw := len(in.vals) * sizeOf[U]()
	if !sc.general || e.light && raw > zstdBlock || float64(best.size) < e.rules.generalAbove*float64(raw) || best.size < minGeneral ||
		!e.try(e.rules.general, sc, tried) {
		return nil
	}
	limit := math.MaxInt
	if w := e.rules.weight[e.rules.general]; w >= 1 {
		limit = int(best.cost()) + 1 // a larger one has lost
	}
	p := planGeneralOnly(e, in.vals, limit)
	if in.kind == signed && sc.level < e.rules.generalBelow && e.mayNest(sc, block.ZigZag) {
		p = better(p, planZigZagGeneral(e, in.vals))
	}
	return p
}

// planGeneralOnly compresses the words; nil if they are too many, or, where that is known early, if it comes to limit bytes or more.
func planGeneralOnly[U word](e *Encoder, vals []U, limit int) *plan {
	text := simd.AsBytes(vals)
	payload := e.compressBelow(text, sizeOf[U](), limit)
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
	kid := planGeneralOnly(e, mapped, math.MaxInt)
	if kid == nil {
		return nil
	}
	p := e.newPlan(block.ZigZag, 0)
	p.size = headerOf(1) + nest(p, 0, mapped, kid)
	return p
}

// compress gives the payload that the profile's compressor makes of text, in the memory of the block at
// hand; nil if text is out of bounds. If text is made of words, word is their size, else 0.
func (e *Encoder) compress(text []byte, word int) []byte {
	return e.compressBelow(text, word, math.MaxInt)
}

// compressBelow is compress of a text whose payload is of use only if it has less than limit bytes; it may be nil if it has more.
func (e *Encoder) compressBelow(text []byte, word, limit int) []byte {
	if len(text) == 0 || len(text) > maxGeneral {
		return nil
	}
	if e.rules.general == block.Lz4 {
		return e.compressLZ4(text, word > 0, limit)
	}
	levels := e.rules.textLevels
	switch {
	case word == 1:
		levels = e.rules.byteLevels
	case word > 1:
		levels = e.rules.numberLevels
	}
	var best []byte
	for _, level := range levels {
		room := take[uint8](&e.arena, len(text)+len(text)/64+128)
		z := e.zstdAt(level)
		if e.o.Dictionary != nil {
			z = e.o.Dictionary.at(level)
		}
		if made := z.EncodeAll(text, room[:0]); best == nil || len(made) < len(best) {
			best = made
		}
	}
	return best
}

// denseDepth is how many earlier places the exhaustive LZ4 looks at, and denseGain the share of the size, in
// percent, that it must get below to be worth its time; denseGainSmall is that of a small buffer, whose time is little.
const denseDepth, denseGain, denseGainSmall = 16, 92, 99

// denseHope is the share of the size, as a divisor, that the exhaustive LZ4 may save at most of what the quick one makes: where that comes to more
// than is of use with it, neither is.
const denseHope = 3

// compressLZ4 compresses, and, where that has paid so far for texts, looks for better matches with a second
// encoder.
func (e *Encoder) compressLZ4(text []byte, numbers bool, limit int) []byte {
	room := take[uint8](&e.arena, 4+lz4Bound(len(text)))
	binary.LittleEndian.PutUint32(room, uint32(len(text)))
	if e.measuring || !e.eager && !e.recalled && (numbers || !e.rules.dense) {
		return e.lz4.compressBelow(room[:4], text, limit)
	}
	if limit = min(limit, math.MaxInt/2); e.eager {
		limit = math.MaxInt / 2
	}
	quick := e.lz4.compressBelow(room[:4], text, limit+limit/denseHope)
	var tried codeSet
	if quick == nil || !e.try(denseLz4, scope{}, &tried) {
		return quick
	}
	second := take[uint8](&e.arena, 4+lz4.CompressBlockBound(len(text)))
	binary.LittleEndian.PutUint32(second, uint32(len(text)))
	e.denseLZ4.Level = denseDepth
	n, err := e.denseLZ4.CompressBlock(text, second[4:])
	if err != nil || n == 0 {
		return quick
	}
	won, gain := denseLz4, denseGain
	if e.caching {
		gain = denseGainSmall
	}
	if n >= len(quick)*gain/100 {
		won = block.Lz4
	}
	e.learn(scope{}, tried, won)
	if 4+n < len(quick) {
		return second[:4+n]
	}
	return quick
}

package encode

import (
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// Hint is what is known of values beyond their type. It narrows or widens what a profile tries.
type Hint uint8

const (
	// NoHint leaves everything to the profile.
	NoHint Hint = iota
	// Vector: the values are elements of embedding vectors, floats that neither repeat nor have few digits. Splitting off their upper bits is all that can
	// help; searching for anything else costs time and finds nothing.
	Vector
	// Sketch: the values are serialized sketches, arrays of counters with no common texts. A general compressor that codes single
	// bytes makes them small, so it is allowed where the profile has none or a faster one.
	Sketch
)

// hinted gives rules as a hint changes them. Plain stays plain.
func hinted(r *rules, h Hint) *rules {
	if h == NoHint || r == &profileRules[Plain] {
		return r
	}
	out := *r
	switch h {
	case Vector:
		out.tries, out.general = setOf(block.AlpRd, block.FLBitPack, block.SingleValue), 0
	case Sketch:
		out.tries = out.tries.without(block.Fsst, block.BlockDictionary)
		if out.general != block.Zstd {
			out.general, out.textLevels = block.Zstd, []zstd.EncoderLevel{zstd.SpeedDefault}
			out.numberLevels, out.byteLevels = out.textLevels, out.textLevels
		}
	}
	return &out
}

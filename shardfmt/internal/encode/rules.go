package encode

import (
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// rules is what a profile allows and how it weighs.
type rules struct {
	// depth is the number of encodings that may lie in each other, the outermost included.
	depth int
	// tries are the encodings that are considered.
	tries codeSet
	// general is the compressor, if tries has one: block.Lz4 or block.Zstd.
	general block.Code
	// dense: LZ4 may search exhaustively.
	dense bool
	// numberLevels, byteLevels and textLevels are the levels of Zstd that are tried for words, words of one byte and texts; the smallest result
	// stays.
	numberLevels, byteLevels, textLevels []zstd.EncoderLevel
	// generalAbove: the compressor is tried only when the values would shrink to no less than this share.
	generalAbove float64
	// generalBelow: the compressor may also work on nested streams, down to this depth.
	generalBelow int
	// wideGain is how much wide blocks must save, in thousandths of what smaller ones take; 0 allows none.
	wideGain int
	// weight is the factor by which the size of an encoding is multiplied before sizes are compared. It is
	// above 1 where reading costs more than the bytes tell. The factors of nested encodings multiply.
	weight [block.Sparse + 1]float64
}

// codeSet is a set of encodings.
type codeSet uint32

func setOf(codes ...block.Code) codeSet {
	var s codeSet
	for _, c := range codes {
		s |= 1 << c
	}
	return s
}

func (s codeSet) has(c block.Code) bool               { return s>>c&1 == 1 }
func (s codeSet) without(codes ...block.Code) codeSet { return s &^ setOf(codes...) }

// lightCodes are the encodings that need no compressor. Zstd and Lz4 come in by rules.general.
var lightCodes = setOf(block.FLBitPack, block.FrameOfReference, block.FusedFrameOfReference, block.Delta,
	block.RunLength, block.TruncateU8, block.TruncateU16, block.TruncateU32, block.BlockDictionary,
	block.Sparse, block.Alp, block.AlpRd, block.Fsst, block.ZigZag)

var profileRules = [...]rules{
	Plain: {depth: 1, tries: setOf(block.SingleValue), weight: weights(1, 1, 1)},
	MinimalCompression: {
		depth: 2, general: block.Lz4, generalAbove: 0.02, wideGain: 50,
		tries:  lightCodes.without(block.FrameOfReference, block.AlpRd, block.Fsst, block.ZigZag),
		weight: weights(1.02, 1.05, 1.04),
	},
	Balanced: {
		depth: 4, general: block.Lz4, dense: true, tries: lightCodes, weight: weights(1.005, 1.01, 1.03), wideGain: 50,
	},
	HighCompression: {
		depth: 4, general: block.Zstd, tries: lightCodes, weight: weights(1.002, 1.005, 1.01), wideGain: 3,
		numberLevels: []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault},
		byteLevels:   []zstd.EncoderLevel{zstd.SpeedDefault, zstd.SpeedBetterCompression},
		textLevels:   []zstd.EncoderLevel{zstd.SpeedDefault},
	},
	MinimalSize: {
		depth: 4, general: block.Zstd, generalBelow: 2, tries: lightCodes, wideGain: 3,
		weight:       weights(1, 1, 1),
		numberLevels: []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBestCompression},
		byteLevels:   []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBestCompression},
		textLevels:   []zstd.EncoderLevel{zstd.SpeedBetterCompression, zstd.SpeedBestCompression},
	},
}

// weights gives factors for encodings that nest another one, for compressors, and for those that turn words
// over bit by bit where Plain is a copy; the rest weighs 1.
func weights(nested, general, packed float64) [block.Sparse + 1]float64 {
	var w [block.Sparse + 1]float64
	for c := range w {
		w[c] = 1
	}
	for _, c := range []block.Code{block.FrameOfReference, block.Delta, block.RunLength, block.BlockDictionary,
		block.Sparse, block.ZigZag} {
		w[c] = nested
	}
	w[block.Zstd], w[block.Lz4] = general, general
	w[block.FLBitPack], w[block.FusedFrameOfReference] = packed, packed
	return w
}

// scope is where in a tree a stream lies.
type scope struct {
	// level is the number of encodings around the stream.
	level int
	// banned are encodings not to use here.
	banned codeSet
	// general: the compressor is allowed.
	general bool
	// shape, if not nil, is what the stream had in an earlier block, to be repeated; nested is which of its nested streams in goes to.
	shape  *shape
	nested int
}

// in is the scope of a stream nested in this one.
func (sc scope) in(r *rules) scope {
	sc.level++
	sc.general = sc.level <= r.generalBelow
	return sc.nestedShape()
}

// second is the scope of an encoding from which in goes to its second nested stream.
func (sc scope) second() scope {
	sc.nested = 1
	return sc
}

// nestedShape goes on to the shape of the nested stream.
func (sc scope) nestedShape() scope {
	if sc.shape != nil {
		if sc.shape = sc.shape.kids[sc.nested]; sc.shape == nil {
			sc.shape = raw
		}
	}
	sc.nested = 0
	return sc
}

// may: encoding c can be considered here. Encodings that always nest need a level below.
func (e *Encoder) may(sc scope, c block.Code) bool {
	return e.rules.tries.has(c) && !sc.banned.has(c) && sc.level < e.rules.depth
}

// mayNest is may for an encoding whose nested stream is mandatory.
func (e *Encoder) mayNest(sc scope, c block.Code) bool {
	return e.may(sc, c) && sc.level+1 < e.rules.depth
}

package encode

import (
	"fmt"
	"sync"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Encoder encodes the blocks of one buffer. It remembers what earlier blocks have taught, so that no
// encoding that keeps losing is tried on every block. Not for concurrent use.
type Encoder struct {
	o     Options
	rules *rules
	*bench
	// chosen is the plan of the last block, in the memory of the bench.
	chosen *plan
	learnt
	// blockSize is the size of numeric blocks that was chosen last, and flushes counts since when.
	blockSize, flushes int
	// measuredWide: wide blocks were chosen by planning one.
	measuredWide bool
	// surveyAt is the flush that chooses the size of blocks next, surveyPause how many went by since it was chosen last.
	surveyAt, surveyPause int
	// eager: everything is tried, and nothing remembered of it. So are blocks planned for their size alone,
	// and the last ones of a small buffer.
	eager, measuring bool
	// light: the library's Zstd is tried on little only; it takes longer than all else.
	light bool
	// trialStep is for how many of the blocks that trials count the current block stands.
	trialStep uint8
	// cut is the bytes of values cut into blocks so far.
	cut int
	// recalling is the use of Options.Choice for the last values of a small buffer.
	recalling
}

// learnt is what earlier blocks have taught.
type learnt struct {
	// trials is how dear encodings have fared on earlier blocks.
	trials trials
	// The exponent and factor of ALP that served last.
	alpKnown               bool
	alpExponent, alpFactor int
	// cutFound is the cut of ALP-RD that was chosen last.
	cutFound rdCut
	// The symbols of FSST that served last.
	symbols *symbols
	// textRate is what Zstd's own encoder made of the last text, in 1/1000 of its bytes; 0 before it was called.
	textRate int
	// The trees of the last blocks of numbers, and of the offsets of byte strings, that were weighed; rest is that of the last block of a buffer
	// of several, while its choices are cached.
	numbers, offsets, rest *remembered
	// recordsLost: the encoder of records did worse than the general one; recordsWait is how many blocks go by until both are tried.
	recordsLost bool
	recordsWait int
	// evenWait is how many blocks go by until LZ4 is tried beside a frame of even records.
	evenWait int
}

// NewEncoder makes an encoder for one buffer.
func NewEncoder(o Options) *Encoder {
	e := new(Encoder)
	e.Reset(o)
	return e
}

// Reset forgets what earlier blocks have taught: the encoder is as new, for another buffer.
func (e *Encoder) Reset(o Options) {
	*e = Encoder{o: o, rules: hinted(&profileRules[o.Profile], o.Hint), bench: e.bench, learnt: learnt{numbers: e.numbers, offsets: e.offsets}}
	for _, r := range []*remembered{e.numbers, e.offsets} {
		if r != nil {
			r.forget()
		}
	}
	if o.Dictionary != nil && e.rules.general != block.Zstd {
		e.rules = &profileRules[HighCompression]
	}
}

// Chosen is the tree of encodings of the last block, as "Delta[FLBitPack]". After CutNumbers and CutBytes
// have returned it is empty: ask while they hand out the block.
func (e *Encoder) Chosen() string {
	if e.chosen == nil {
		return ""
	}
	return e.chosen.String()
}

var encoders = sync.Pool{New: func() any { return new(Encoder) }}

// encoderFor gives an encoder for a single call.
func encoderFor(o *Options) *Encoder {
	e := encoders.Get().(*Encoder)
	if o == nil {
		o = new(Options)
	}
	e.Reset(*o)
	return e
}

// Numbers appends one value sub-block that holds vals. valid is a bitmap, least significant bit first, 1 for
// a value and 0 for a null; nil when nothing is null. The sub-block must be placed at a multiple of eight
// bytes from the start of its block. Buffers of many blocks are better off with an Encoder.
func Numbers[T simd.Number](dst []byte, vals []T, valid []byte, o *Options) ([]byte, error) {
	e := encoderFor(o)
	defer encoders.Put(e)
	return appendNumbers(e, dst, vals, valid)
}

// appendNumbers is Numbers with what an encoder has learnt. The encoder keeps its working memory, about a
// megabyte, for the next call; CutNumbers doesn't.
func appendNumbers[T simd.Number](e *Encoder, dst []byte, vals []T, valid []byte) ([]byte, error) {
	if err := checkValid(len(vals), valid); err != nil {
		return dst, err
	}
	if e.o.Tree != "" {
		return numbersAsAsked(dst, vals, valid, e.o.Tree)
	}
	e.borrow()
	e.chosen = planNumbers(e, vals, valid)
	switch simd.SizeOf[T]() {
	case 1:
		return appendTree(dst, castBytes[uint8](e.values), e.chosen), nil
	case 2:
		return appendTree(dst, castBytes[uint16](e.values), e.chosen), nil
	case 4:
		return appendTree(dst, castBytes[uint32](e.values), e.chosen), nil
	}
	return appendTree(dst, castBytes[uint64](e.values), e.chosen), nil
}

func checkValid(n int, valid []byte) error {
	if valid != nil && len(valid) < (n+7)/8 {
		return fmt.Errorf("validity bitmap of %d bytes for %d values", len(valid), n)
	}
	return nil
}

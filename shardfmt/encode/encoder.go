package encode

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/shardfmt/kernel"
)

// Encoder encodes the blocks of one buffer. It keeps its working memory and what earlier blocks have taught
// it, so that no block allocates and no encoding that keeps losing is tried on every block. Not for
// concurrent use.
type Encoder struct {
	o     Options
	rules *rules
	// arena and plans are the working memory of one block; chosen is its plan.
	arena  arena
	plans  slab
	chosen *plan
	// How dear encodings have fared on earlier blocks.
	general, dictionary, alp, alpRd, fsst trials
	// The exponent and factor of ALP that served last.
	alpKnown               bool
	alpExponent, alpFactor int
	lefts                  []uint16
	// The symbols of FSST that served last.
	symbolsKnown bool
	symbols      *symbolTable
	trainer      *trainer
	// sub and presence hold the block at hand while Cut… hands it out.
	sub, presence, valid []byte
	fast                 lz4.Compressor
	dense                lz4.CompressorHC
	zstd                 *zstd.Encoder
}

// NewEncoder makes an encoder for one buffer.
func NewEncoder(o Options) *Encoder {
	e := new(Encoder)
	e.Reset(o)
	return e
}

// Reset forgets what earlier blocks have taught, and keeps the working memory: the encoder is as new, for
// another buffer.
func (e *Encoder) Reset(o Options) {
	if e.o.Profile != o.Profile {
		e.zstd = nil
	}
	e.o, e.rules = o, &profileRules[o.Profile]
	e.general, e.dictionary, e.alp, e.alpRd, e.fsst = trials{}, trials{}, trials{}, trials{}, trials{}
	e.alpKnown, e.symbolsKnown = false, false
}

// begin frees the working memory for another block.
func (e *Encoder) begin() {
	e.arena.release(0)
	e.plans.used = 0
	e.chosen = nil
}

// Chosen is the tree of encodings of the last block, as "Delta[FLBitPack]"; empty before the first one.
func (e *Encoder) Chosen() string {
	if e.chosen == nil {
		return ""
	}
	return e.chosen.String()
}

var encoders = sync.Pool{New: func() any { return new(Encoder) }}

// borrow gives an encoder for a single call.
func borrow(o *Options) *Encoder {
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
func Numbers[T kernel.Number](dst []byte, vals []T, valid []byte, o *Options) ([]byte, error) {
	e := borrow(o)
	defer encoders.Put(e)
	return AppendNumbers(e, dst, vals, valid)
}

// Bytes appends one value sub-block that holds byte strings: value i is data[offsets[i]:offsets[i+1]], or,
// when fixed is positive, data[i*fixed:(i+1)*fixed] with offsets nil. valid is as for Numbers.
func Bytes(dst []byte, data []byte, offsets []int64, fixed int, valid []byte, o *Options) ([]byte, error) {
	e := borrow(o)
	defer encoders.Put(e)
	return e.AppendBytes(dst, data, offsets, fixed, valid)
}

// AppendNumbers is Numbers with the memory of an encoder.
func AppendNumbers[T kernel.Number](e *Encoder, dst []byte, vals []T, valid []byte) ([]byte, error) {
	if err := checkValid(len(vals), valid); err != nil {
		return dst, err
	}
	e.begin()
	k := kindOf[T]()
	switch kernel.SizeOf[T]() {
	case 1:
		return appendWords(e, dst, kernel.Cast[uint8](vals), k, valid), nil
	case 2:
		return appendWords(e, dst, kernel.Cast[uint16](vals), k, valid), nil
	case 4:
		return appendWords(e, dst, kernel.Cast[uint32](vals), k, valid), nil
	}
	return appendWords(e, dst, kernel.Cast[uint64](vals), k, valid), nil
}

func checkValid(n int, valid []byte) error {
	if valid != nil && len(valid) < (n+7)/8 {
		return fmt.Errorf("validity bitmap of %d bytes for %d values", len(valid), n)
	}
	return nil
}

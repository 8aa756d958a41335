package encode

import (
	"sort"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// How values become blocks (docs/format/fields.md). A buffer's values are staged until FlushValues, or, for byte
// values, FlushBytes; then Cut… takes whole blocks from the front. The remainder stays staged, until the
// final call takes it as a last, smaller block.
const (
	// FlushValues is the number of staged values at which to call Cut….
	FlushValues = 64 << 10
	// FlushBytes is the number of staged bytes at which to call CutBytes.
	FlushBytes = 4 << 20

	// lightBlock is the values of a numeric block that is bit-packed or the like: two FastLanes groups.
	lightBlock = 2 << 10
	// generalBlock is the values of a numeric block that a general compressor handles, or nobody.
	generalBlock = 8 << 10
	// wideBlock is the values of a numeric block with a dictionary that smaller ones would repeat: the most that
	// one block may hold.
	wideBlock = FlushValues

	// Byte blocks end at whichever comes first. LZ4 looks 64 KiB back, which only in the second half of a block are all there; and with its
	// block map one is still read in 128 KiB.
	bytesBlockValues, bytesBlockSize = 4 << 10, 112 << 10
	// … for the profile MinimalSize …
	wideBlockValues, wideBlockSize = 64 << 10, 1 << 20
	// … and as many values for HighCompression: Zstd finds a fortieth more in four times the text, and in four times as much
	// again hardly anything.
	zstdBlockSize = 256 << 10
)

// Block is one encoded block, without its frame. The slices are valid until the next call of the encoder.
type Block struct {
	// Values in the block.
	Values int
	// Presence section; empty when nothing is null, or the encoder has NoPresence.
	Presence []byte
	// Sub is the value sub-block.
	Sub []byte
}

// CutNumbers encodes whole blocks from the front of vals and hands each to emit; with final also the rest. It
// returns how many values it took: a multiple of eight, unless it took them all. valid is as for Numbers.
func CutNumbers[T simd.Number](e *Encoder, vals []T, valid []byte, final bool, emit func(Block) error) (int, error) {
	if err := checkValid(len(vals), valid); err != nil {
		return 0, err
	}
	defer e.giveBack()
	e.borrow()
	taken := 0
	next := func(n int) error {
		err := cutNumbers(e, vals[taken:taken+n], from(valid, taken), emit)
		taken += n
		e.cut += n * simd.SizeOf[T]()
		return err
	}
	size := flushBlock(e, vals, valid)
	if final {
		e.recall(len(vals), len(vals)*simd.SizeOf[T]())
	}
	for len(vals)-taken >= size && (!final || len(vals)-taken > generalBlock) {
		if err := next(size); err != nil {
			return taken - size, err
		}
	}
	if !final {
		return taken, nil
	}
	defer func() { e.eager = false }()
	last := lastBlocks(e, vals[taken:], from(valid, taken), size)
	for i, n := range last {
		e.eager, e.atRest = e.small() && n <= generalBlock && !e.recalled, i > 0 && i == len(last)-1
		if err := next(n); err != nil {
			return taken - n, err
		}
	}
	e.leave()
	return taken, nil
}

// cutNumbers encodes one block and hands it out.
func cutNumbers[T simd.Number](e *Encoder, vals []T, valid []byte, emit func(Block) error) (err error) {
	e.borrow()
	if e.sub, err = appendNumbers(e, e.sub[:0], vals, valid); err != nil {
		return err
	}
	return e.hand(len(vals), valid, emit)
}

// from is a validity bitmap from bit at on, a multiple of eight.
func from(valid []byte, at int) []byte {
	if valid == nil {
		return nil
	}
	return valid[at/8:]
}

// hand completes the block in e.sub and gives it to emit.
func (e *Encoder) hand(n int, valid []byte, emit func(Block) error) error {
	e.presence = e.presence[:0]
	if !e.o.NoPresence {
		e.presence = appendPresence(e.presence, valid, n, e.o.Profile)
	}
	return emit(Block{Values: n, Presence: e.presence, Sub: e.sub})
}

// CutBytes is CutNumbers for byte values. It returns how many values it took, any number.
func (e *Encoder) CutBytes(v Bytes, final bool, emit func(Block) error) (int, error) {
	n := v.len()
	if err := checkValid(n, v.Valid); err != nil {
		return 0, err
	}
	defer e.giveBack()
	defer func() { e.eager = false }()
	e.borrow()
	taken := 0
	if final {
		e.recall(n, v.size())
	}
	for taken < n {
		size, whole := e.blockEnd(&v, taken, n)
		if !whole && !final {
			break
		}
		e.eager, e.atRest = !e.recalled && (e.caching || !whole && e.small()), taken > 0 && !whole
		if err := e.cutBytes(&v, taken, size, emit); err != nil {
			return taken, err
		}
		taken += size
	}
	if final {
		e.leave()
	}
	return taken, nil
}

// BlockOfNumbers encodes vals as one block, whatever their number, and hands it to emit. valid is as for Numbers.
func BlockOfNumbers[T simd.Number](e *Encoder, vals []T, valid []byte, emit func(Block) error) error {
	if err := checkValid(len(vals), valid); err != nil {
		return err
	}
	defer e.giveBack()
	return cutNumbers(e, vals, valid, emit)
}

// BlockOfBytes is BlockOfNumbers for byte values.
func (e *Encoder) BlockOfBytes(v Bytes, emit func(Block) error) error {
	n := v.len()
	if err := checkValid(n, v.Valid); err != nil {
		return err
	}
	defer e.giveBack()
	e.borrow()
	return e.cutBytes(&v, 0, n, emit)
}

// blockEnd finds how many values from taken on make a block, and whether the block is full.
func (e *Encoder) blockEnd(v *Bytes, taken, n int) (size int, whole bool) {
	values, limit := bytesBlockValues, int64(bytesBlockSize)
	switch {
	case e.o.Profile == MinimalSize:
		values, limit = wideBlockValues, wideBlockSize
	case e.o.Profile == HighCompression:
		values, limit = wideBlockValues, zstdBlockSize
	}
	if v.Fixed > 0 {
		size = max(1, min(values, int(limit)/v.Fixed))
		return min(size, n-taken), n-taken >= size
	}
	size = min(values, n-taken)
	if start, ends := v.Offsets[taken], v.Offsets[taken+1:][:size]; size > 1 && ends[size-1]-start > limit {
		first := sort.Search(size, func(i int) bool { return ends[i]-start > limit })
		return e.wholeChunks(max(1, first)), true
	}
	return size, size == values
}

// wholeChunks leaves out of the values of a block those that fill less than half a chunk: the lengths of texts are mostly packed, in whole chunks.
func (e *Encoder) wholeChunks(n int) int {
	if rest := n % simd.ChunkLen; e.rules.general != block.Zstd && n > simd.ChunkLen && rest < simd.ChunkLen/2 {
		return n - rest
	}
	return n
}

// cutBytes encodes n values from taken on as one block and hands it out.
func (e *Encoder) cutBytes(v *Bytes, taken, n int, emit func(Block) error) error {
	part := *v
	if v.Fixed > 0 {
		part.Data = v.Data[taken*v.Fixed : (taken+n)*v.Fixed]
	} else {
		part.Offsets = v.Offsets[taken : taken+n+1]
	}
	if v.Valid != nil {
		e.valid = shiftBits(e.valid[:0], v.Valid, taken, n)
		part.Valid = e.valid
	}
	var err error
	e.cut += len(part.Data)
	if e.sub, err = e.AppendBytes(e.sub[:0], part); err != nil {
		return err
	}
	return e.hand(n, part.Valid, emit)
}

// shiftBits appends n bits of a bitmap, from bit at on, so that they start at bit 0.
func shiftBits(dst, bitmap []byte, at, n int) []byte {
	from, shift := at/8, at%8
	for i := range (n + 7) / 8 {
		b := bitmap[from+i] >> shift
		if shift > 0 && from+i+1 < len(bitmap) {
			b |= bitmap[from+i+1] << (8 - shift)
		}
		dst = append(dst, b)
	}
	return dst
}

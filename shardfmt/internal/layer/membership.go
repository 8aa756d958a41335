package layer

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Filter reports which keys are certainly not in the first column of a file.
type Filter interface {
	// MayContain is false only if the key is not there.
	MayContain(key Value) bool
}

// wordFilter is a Bloom filter over 64-bit words, in modules that one chain of hashes runs through; most have one.
type wordFilter struct {
	t      Type
	hashes int
	words  [][]uint64
}

// hashKey is what all filters start from: XXH3 of what Rust's Hash feeds it.
func hashKey(t Type, key Value) uint64 { return xxh3.Hash(t.appendHash(nil, key)) }

// bloomMultiplier makes the second hash of the first.
const bloomMultiplier = 0x517cc1b727220a95

// probe visits the bits of a hash until visit states false.
func (b *wordFilter) probe(h uint64, visit func(module int, word uint64, mask uint64) bool) bool {
	h1, h2 := h, (h>>32)*bloomMultiplier
	for m, words := range b.words {
		size := uint64(len(words)) * 64
		for range b.hashes {
			h1 = bits.RotateLeft64(h1+h2, 5)
			high, low := bits.Mul64(h1>>32, size)
			bit := high<<32 | low>>32
			if !visit(m, bit>>6, 1<<(bit&63)) {
				return false
			}
		}
	}
	return true
}

// MayContain implements Filter.
func (b *wordFilter) MayContain(key Value) bool {
	return b.probe(hashKey(b.t, key), func(m int, word, mask uint64) bool { return b.words[m][word]&mask != 0 })
}

func (b *wordFilter) insert(h uint64) {
	b.probe(h, func(m int, word, mask uint64) bool {
		b.words[m][word] |= mask
		return true
	})
}

// Sizes of a Bloom filter, as the database this format comes from chooses them.
const (
	bloomRate    = 0.0001 // of false positives
	bloomMinKeys = 64
)

// newBloom makes space for n keys.
func newBloom(t Type, n uint64) *wordFilter {
	n = max(n, bloomMinKeys)
	wanted := max(512, 8*math.Ceil(float64(n)*math.Log(bloomRate)/(-8*math.Ln2*math.Ln2)))
	words := int(math.Ceil(wanted / 64))
	return &wordFilter{t: t, hashes: max(1, int(math.Ln2*float64(64*words)/float64(n))), words: [][]uint64{make([]uint64, words)}}
}

// block is the filter as a block of the file.
func (b *wordFilter) block() []byte {
	out := make([]byte, 8, 20+8*len(b.words[0]))
	out = binary.LittleEndian.AppendUint32(out, uint32(b.hashes))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(b.words[0])))
	for _, w := range b.words[0] {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	out = pad(out)
	seal(out, magicBloom)
	return out
}

// parseBloom reads a Bloom filter.
func parseBloom(t Type, b []byte) (Filter, error) {
	hashes, words := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint64(b[12:])
	if hashes == 0 || hashes > 1024 || words == 0 || words > uint64(len(b)-20)/8 {
		return nil, corrupt.At(8, "a Bloom filter of %d hashes and %d words in %d bytes", hashes, words, len(b))
	}
	return &wordFilter{t, int(hashes), [][]uint64{wordsOf(b[20:], words)}}, nil
}

func wordsOf(b []byte, n uint64) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return out
}

// parseModules reads a Bloom filter in modules: u32 modules, u32 hashes of each, u64 words of each, for each u64 how
// many bits are set, the words.
func parseModules(t Type, b []byte) (Filter, error) {
	le := binary.LittleEndian
	modules, hashes, words := uint64(le.Uint32(b[8:])), le.Uint32(b[12:]), le.Uint64(b[16:])
	room := uint64(len(b)-24) / 8
	if modules == 0 || modules > room || words == 0 || words > (room-modules)/modules || hashes == 0 || hashes > 1024 {
		return nil, corrupt.At(8, "%d modules of %d words in %d bytes", modules, words, len(b))
	}
	f := &wordFilter{t: t, hashes: int(hashes)}
	at := 24 + 8*modules
	for m := range modules {
		part, set := wordsOf(b[at:], words), 0
		for _, w := range part {
			set += bits.OnesCount64(w)
		}
		if said := le.Uint64(b[24+8*m:]); said != uint64(set) {
			return nil, corrupt.At(int64(24+8*m), "module %d has %d bits, expected %d", m, set, said)
		}
		f.words = append(f.words, part)
		at += 8 * words
	}
	return f, nil
}

// roar is the exact set of the keys, as distances from a base.
type roar struct {
	t    Type
	base uint64
	bits *roaring.Bitmap
}

// MayContain implements Filter.
func (r *roar) MayContain(key Value) bool {
	n, _ := r.t.integer(key)
	d := n - r.base
	return d <= math.MaxUint32 && r.bits.Contains(uint32(d))
}

// integer is a key as 64 bits that keep distances; ok is false for types that are not integers of up to 64 bits.
func (t Type) integer(v Value) (n uint64, ok bool) {
	if t.Optional {
		return 0, false
	}
	switch t.Kind {
	case I8, I16, I32, I64:
		return uint64(v.Int), true
	case U8, U16, U32, U64:
		return v.Uint, true
	}
	return 0, false
}

// parseRoaring reads a roaring bitmap. Its base is not stored: it is the first key of the file less the lowest number.
func parseRoaring(t Type, b []byte, first Value) (Filter, error) {
	n := binary.LittleEndian.Uint64(b[8:])
	if n > uint64(len(b)-16) {
		return nil, corrupt.At(8, "a bitmap of %d bytes in a block of %d", n, len(b))
	}
	key, ok := t.integer(first)
	if !ok {
		return nil, corrupt.Unsupported(4, "a roaring filter over keys of type %s", t)
	}
	bitmap := roaring.New()
	if err := bitmap.UnmarshalBinary(b[16 : 16+n]); err != nil {
		return nil, &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 16, What: "the roaring bitmap can't be read", Err: err}
	}
	if bitmap.IsEmpty() {
		return nil, corrupt.At(16, "a roaring bitmap without numbers")
	}
	return &roar{t, key - uint64(bitmap.Minimum()), bitmap}, nil
}

// block is the bitmap as a block of the file.
func (r *roar) block() ([]byte, error) {
	r.bits.RunOptimize()
	body, err := r.bits.ToBytes()
	if err != nil {
		return nil, err
	}
	out := append(binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(len(body))), body...)
	out = pad(out)
	seal(out, magicRoaring)
	return out, nil
}

// Filter reads the filter of the file, nil if it has none.
func (f *File) Filter(ctx context.Context) (Filter, error) {
	if f.t.filter.size == 0 {
		return nil, nil
	}
	b, err := f.stored(ctx, f.t.filter)
	if err != nil {
		return nil, err
	}
	out, err := f.parseFilter(ctx, b)
	return out, corrupt.Locate(err, f.url, f.t.filter.offset)
}

// filterMagic is the magic of the filter block, by the features of the file.
func (f *File) filterMagic() string {
	switch {
	case f.t.incompatible&incompatibleRoar != 0:
		return magicRoaring
	case f.t.incompatible&incompatibleModule != 0:
		return magicModules
	}
	return magicBloom
}

func (f *File) parseFilter(ctx context.Context, b []byte) (Filter, error) {
	magic := f.filterMagic()
	if err := checkSeal(b, magic); err != nil {
		return nil, err
	}
	key := f.pair(0).Key
	switch magic {
	case magicBloom:
		return parseBloom(key, b)
	case magicModules:
		return parseModules(key, b)
	}
	first, _, ok, err := f.KeyRange(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return parseRoaring(key, b, first)
}

package stats

import (
	"math"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/internal/bloom"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Parameters of the Bloom filters that are written.
const (
	filterSeed = 0x4D75646169424646
	// defaultFPP is the target rate of false positives.
	defaultFPP = 0.01
	// filterValues is how many distinct values a filter that nobody requested may hold.
	filterValues = 1024
	// filterSize in bytes is the largest filter; it bounds those that were requested.
	filterSize = 1 << 20
	blockSize  = bloom.BlockSize
)

func insertHash(data []byte, h uint64) {
	bloom.Insert(data[bloom.Block(h, len(data)/blockSize)*blockSize:], h)
}

// widenedAlgorithm marks a filter whose values were hashed in another form than they are stored in: XXH3-64 all the same, but a
// reader that would ask with the stored bytes must not ask at all, and takes the name for one that it does not know.
const widenedAlgorithm = "xxh3_64_widened"

// Widened reports whether the values of a node are hashed in another form than they are stored in: numbers that are narrower than
// 64 bits, floats, decimals.
func Widened(n *schema.Node) bool {
	switch n.Basic {
	case schema.Int8, schema.Int16, schema.Int32, schema.Float32, schema.Float64:
		return true
	}
	return n.IsDecimal()
}

// BloomMayContain reports whether the filter of a node admits a value, given by the bytes that are hashed (see the package
// comment). A filter of an unknown kind or shape admits everything, and so does one that does not state in which form its values were
// hashed where that is not the stored one.
func BloomMayContain(n *schema.Node, f *metapb.SplitBlockBloomFilter, value []byte) bool {
	data, algorithm := f.GetData(), hashAlgorithm
	if Widened(n) {
		algorithm = widenedAlgorithm
	}
	if f.GetHashAlgorithm() != algorithm || len(data) == 0 || len(data)%blockSize != 0 {
		return true
	}
	h := xxh3.HashSeed(value, f.HashSeed)
	return bloom.Has(data[bloom.Block(h, len(data)/blockSize)*blockSize:], h)
}

// hashSet collects distinct hashes up to a limit, and gives up beyond.
type hashSet struct {
	limit int
	count int
	// slots is a power of two, at most half full; 0 is an empty slot, and the hash 0 is kept aside.
	slots   []uint64
	hasZero bool
	full    bool
	seed    uint64
}

func newHashSet(limit int, seed uint64) *hashSet {
	return &hashSet{limit: limit, slots: make([]uint64, 64), seed: seed}
}

// done reports whether the set takes nothing more.
func (s *hashSet) done() bool { return s == nil || s.full }

func (s *hashSet) add(value []byte) {
	if s.done() {
		return
	}
	h := xxh3.HashSeed(value, s.seed)
	if h == 0 {
		if !s.hasZero {
			s.hasZero = true
			s.grown()
		}
		return
	}
	if s.put(h) {
		s.grown()
	}
}

// put reports whether h is new.
func (s *hashSet) put(h uint64) bool {
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case h:
			return false
		case 0:
			s.slots[i] = h
			return true
		}
	}
}

func (s *hashSet) grown() {
	s.count++
	if s.count > s.limit {
		s.full, s.slots = true, nil
		return
	}
	if 2*s.count > len(s.slots) {
		old := s.slots
		s.slots = make([]uint64, 4*len(old))
		for _, h := range old {
			if h != 0 {
				s.put(h)
			}
		}
	}
}

// filter builds the message, or nil if nothing was added, too much was, or the filter would be too large.
func (s *hashSet) filter(fpp float64, size func(n int, fpp float64) int) *metapb.MembershipFilters {
	if s == nil || s.full || s.count == 0 {
		return nil
	}
	n := size(s.count, fpp)
	if n > filterSize {
		return nil
	}
	data := make([]byte, n)
	for _, h := range s.slots {
		if h != 0 {
			insertHash(data, h)
		}
	}
	if s.hasZero {
		insertHash(data, 0)
	}
	return &metapb.MembershipFilters{Sbbf: &metapb.SplitBlockBloomFilter{
		NumBlocks: uint64(n / blockSize), TargetFpp: fpp, NumValues: uint64(s.count),
		HashAlgorithm: hashAlgorithm, HashSeed: s.seed, Data: data,
	}}
}

// referenceFilterSize is the size in bytes the reference gives a filter of n values: a classic Bloom
// filter's bits, whole bits per key, whole blocks (note 03 §13).
func referenceFilterSize(n int, fpp float64) int {
	bitmap := math.Ceil(-float64(n) * math.Log(fpp) / (math.Ln2 * math.Ln2))
	perKey := int(math.Ceil(bitmap / float64(n)))
	return max(blockSize, (perKey*n/8+blockSize-1)/blockSize*blockSize)
}

// bookFilterSize is the size in bytes by the format's book: −8n / ln(1 − fpp^(1/8)) bits, a power of two.
func bookFilterSize(n int, fpp float64) int {
	bits := -8 * float64(n) / math.Log(1-math.Pow(fpp, 1.0/8))
	size := blockSize
	for size < filterSize*2 && float64(size)*8 < bits {
		size *= 2
	}
	return size
}

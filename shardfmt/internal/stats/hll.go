package stats

import (
	_ "embed"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Parameters of the HyperLogLog sketches that are written.
const (
	hashAlgorithm = "xxh3_64"
	sketchSeed    = 0x416D7564484C4C31
	sketchBits    = 7
)

// Precisions that are read: 2^4 to 2^18 counters.
const (
	minSketchBits = 4
	maxSketchBits = 18
)

// sketch is a HyperLogLog counter of distinct values: 128 registers, each the largest rank seen.
//
//	hash: | register, 7 bits | the rest, 57 bits: rank = leading zeros + 1 |
type sketch [1 << sketchBits]byte

func (s *sketch) addHash(h uint64) {
	// A bit set below the rest stops the count at 57, so that an empty rest has rank 58.
	rank := byte(bits.LeadingZeros64(h<<sketchBits|1<<(sketchBits-1))) + 1
	register := h >> (64 - sketchBits)
	if s[register] < rank {
		s[register] = rank
	}
}

// sketchRoom are words that are hashed together.
type sketchRoom [512]uint64

var sketchRooms = sync.Pool{New: func() any { return new(sketchRoom) }}

// sketchAll adds numbers; words writes those of some.
func sketchAll[T any](s *sketch, values []T, words func(*sketchRoom, []T) int) {
	room := sketchRooms.Get().(*sketchRoom)
	defer sketchRooms.Put(room)
	for len(values) > 0 {
		some := values[:min(len(values), len(room))]
		values = values[len(some):]
		s.addWords(room[:words(room, some)])
	}
}

// addWords hashes words in their place and adds them. Most of many have no rank above the least that any register has.
func (s *sketch) addWords(words []uint64) {
	simd.HashWords(words, words, wordSecret)
	most := uint64(1)<<(64-slices.Min(s[:])) - 1
	for _, h := range words {
		if h<<sketchBits <= most {
			s.addHash(h)
		}
	}
}

// info is the message of the sketch, with its estimate.
func (s *sketch) info() *metapb.CardinalityInfo {
	m := &metapb.HllSketchV1{
		HashAlgorithm: hashAlgorithm, HashSeed: sketchSeed, BitsPerIndex: sketchBits, Counters: s[:],
	}
	return estimated(m)
}

func estimated(m *metapb.HllSketchV1) *metapb.CardinalityInfo {
	count := estimate(m.Counters, m.BitsPerIndex)
	return &metapb.CardinalityInfo{Count: &count, IsEstimate: true, HllSketch: m}
}

// ValidSketch reports whether a stored sketch is one that can be read: a known hash, a known precision, the
// right number of counters.
func ValidSketch(m *metapb.HllSketchV1) bool {
	p := m.GetBitsPerIndex()
	return m.GetHashAlgorithm() == hashAlgorithm && p >= minSketchBits && p <= maxSketchBits && len(m.Counters) == 1<<p
}

// Estimate is the number of distinct values a sketch stands for. ok is false for a sketch that can't be read.
func Estimate(m *metapb.HllSketchV1) (count uint64, ok bool) {
	if !ValidSketch(m) {
		return 0, false
	}
	return estimate(m.Counters, m.BitsPerIndex), true
}

// MergeSketches is the cardinality of two sets together. ok is false where the sketches can't be read or
// differ in precision or seed. Neither argument is changed.
func MergeSketches(a, b *metapb.HllSketchV1) (merged *metapb.CardinalityInfo, ok bool) {
	if !ValidSketch(a) || !ValidSketch(b) || a.BitsPerIndex != b.BitsPerIndex || a.HashSeed != b.HashSeed {
		return nil, false
	}
	counters := make([]byte, len(a.Counters))
	for i := range counters {
		counters[i] = max(a.Counters[i], b.Counters[i])
	}
	return estimated(&metapb.HllSketchV1{
		HashAlgorithm: a.HashAlgorithm, HashSeed: a.HashSeed, BitsPerIndex: a.BitsPerIndex, Counters: counters,
	}), true
}

// linearLimit is, for each precision from 4, the estimate up to which linear counting is the better one.
var linearLimit = [...]float64{10, 20, 40, 80, 220, 400, 900, 1800, 3100, 6500, 11500, 20000, 50000, 120000, 350000}

// estimate follows HyperLogLog++ (Heule, Nunkesser, Hall 2013), but interpolates the bias linearly between
// two neighbours, as the reference does (note 03 §12). The explicit conversions keep a compiler from fusing
// operations, so that every machine rounds alike.
func estimate(registers []byte, precision uint32) uint64 {
	m := float64(len(registers))
	sum, empty := 0.0, 0
	for _, r := range registers {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	e := float64(float64(alpha(len(registers))*m)*m) / sum
	if e <= 5*m {
		e = max(0, e-bias(e, precision))
	}
	h := float64(m * math.Log(m/float64(empty))) // infinite if no register is empty
	if h <= linearLimit[precision-minSketchBits] {
		return uint64(math.Round(h))
	}
	return uint64(math.Round(e))
}

func alpha(registers int) float64 {
	switch registers {
	case 16:
		return 0.673
	case 32:
		return 0.697
	case 64:
		return 0.709
	}
	return 0.7213 / (1 + 1.079/float64(registers))
}

//go:embed hll_bias.txt
var biasText string

// biasTable gives for raw estimates in ascending order how far each is too high.
type biasTable struct{ raw, bias []float64 }

var biasTables = sync.OnceValue(func() *[maxSketchBits + 1]biasTable {
	var tables [maxSketchBits + 1]biasTable
	for line := range strings.Lines(biasText) {
		words := strings.Fields(line)
		p, err := strconv.Atoi(words[0])
		if err != nil {
			continue // a comment
		}
		numbers := make([]float64, len(words)-2)
		for i, w := range words[2:] {
			numbers[i], _ = strconv.ParseFloat(w, 64)
		}
		if words[1] == "raw" {
			tables[p].raw = numbers
		} else {
			tables[p].bias = numbers
		}
	}
	return &tables
})

func bias(e float64, precision uint32) float64 {
	t := &biasTables()[precision]
	i := sort.SearchFloat64s(t.raw, e)
	switch {
	case i == len(t.raw):
		return t.bias[i-1]
	case i == 0 || t.raw[i] == e:
		return t.bias[i]
	}
	fraction := (e - t.raw[i-1]) / (t.raw[i] - t.raw[i-1])
	return t.bias[i-1] + float64(fraction*(t.bias[i]-t.bias[i-1]))
}

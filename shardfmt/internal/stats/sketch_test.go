package stats

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// Vectors of docs/format/fields.md.
func TestSketchVectors(t *testing.T) {
	for _, c := range []struct {
		value    string
		hash     uint64
		register int
		rank     byte
	}{
		{"hello", 0xF21218EA1C620426, 121, 5},
		{"world", 0xAA9FA52E6A520F35, 85, 2},
		{"", 0x31433EF5389C7D79, 24, 1},
	} {
		if h := xxh3.HashStringSeed(c.value, sketchSeed); h != c.hash {
			t.Errorf("%q hashes to %x", c.value, h)
		}
		var s sketch
		s.add([]byte(c.value))
		if s[c.register] != c.rank {
			t.Errorf("%q: register %d is %d, want %d", c.value, c.register, s[c.register], c.rank)
		}
	}
	var s sketch
	s.add([]byte("hello"))
	s.add([]byte("world"))
	if got := *s.info().Count; got != 2 {
		t.Errorf("two values are estimated as %d", got)
	}
	s.addHash(0)
	if s[0] != 58 {
		t.Errorf("an empty rest has rank %d, want 58", s[0])
	}
}

// Every precision estimates what was counted, within five standard errors.
func TestEstimateAtEveryPrecision(t *testing.T) {
	for p := uint32(minSketchBits); p <= maxSketchBits; p++ {
		for _, n := range []int{0, 1, 1 << (p - 1), 3 << p, 20 << min(p, 14)} {
			m := &metapb.HllSketchV1{HashAlgorithm: hashAlgorithm, BitsPerIndex: p, Counters: make([]byte, 1<<p)}
			var b [8]byte
			for i := range n {
				binary.LittleEndian.PutUint64(b[:], uint64(i))
				h := xxh3.Hash(b[:])
				rank := byte(1)
				for rest := h << p; rest>>63 == 0 && rank <= byte(64-p); rest <<= 1 {
					rank++
				}
				m.Counters[h>>(64-p)] = max(m.Counters[h>>(64-p)], rank)
			}
			got, ok := Estimate(m)
			tolerance := 5 * 1.04 / math.Sqrt(float64(len(m.Counters))) * float64(n)
			if !ok || math.Abs(float64(got)-float64(n)) > tolerance+1 {
				t.Errorf("precision %d: %d values are estimated as %d", p, n, got)
			}
		}
	}
}

func TestMergeSketchesRefusesWhatDiffers(t *testing.T) {
	good := func() *metapb.HllSketchV1 {
		var s sketch
		s.add([]byte("x"))
		return s.info().HllSketch
	}
	if m, ok := MergeSketches(good(), good()); !ok || *m.Count != 1 {
		t.Error("equal sketches must merge")
	}
	for name, break_ := range map[string]func(*metapb.HllSketchV1){
		"seed":      func(m *metapb.HllSketchV1) { m.HashSeed++ },
		"algorithm": func(m *metapb.HllSketchV1) { m.HashAlgorithm = "md5" },
		"length":    func(m *metapb.HllSketchV1) { m.Counters = m.Counters[1:] },
		"precision": func(m *metapb.HllSketchV1) { m.BitsPerIndex, m.Counters = 8, make([]byte, 256) },
		"too small": func(m *metapb.HllSketchV1) { m.BitsPerIndex, m.Counters = 3, make([]byte, 8) },
	} {
		bad := good()
		break_(bad)
		if _, ok := MergeSketches(good(), bad); ok {
			t.Errorf("%s differs, and they merge", name)
		}
	}
	if _, ok := MergeSketches(nil, good()); ok {
		t.Error("no sketch merges")
	}
}

func (s *sketch) add(value []byte) { s.addHash(xxh3.HashSeed(value, sketchSeed)) }

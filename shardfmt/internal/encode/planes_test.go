package encode

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// TestPlanesOfDates: days in ticks, of which 2,500 occur equally often, take their information and half a percent, not the next whole number of bits.
func TestPlanesOfDates(t *testing.T) {
	const n, days = 65536, 2500
	r := rand.New(rand.NewPCG(7, 8))
	vals := make([]int64, n)
	for i := range vals {
		vals[i] = 630822816000000000 + int64(r.IntN(days))*864000000000
	}
	e := NewEncoder(Options{Profile: HighCompression})
	var size int
	var tree string
	err := BlockOfNumbers(e, vals, nil, func(b Block) error {
		size, tree = len(b.Sub), e.Chosen()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(tree, "BlockDictionary[RunLength[Zstd, RunLength[raw, raw]]") || size > n*1146/800 {
		t.Errorf("%s: %.2f bits a value", tree, float64(8*size)/n)
	}
}

// TestStepsOfDates: dates of which three in four are near the one before are stored by their steps, in less than the information of a date by itself.
func TestStepsOfDates(t *testing.T) {
	const n, days = 65536, 2500
	r := rand.New(rand.NewPCG(9, 10))
	vals := make([]int64, n)
	order := 0
	for i := range vals {
		if i%4 == 0 {
			order = r.IntN(days)
		}
		vals[i] = 630822816000000000 + int64(order+r.IntN(60))*864000000000
	}
	var sub []byte
	err := BlockOfNumbers(NewEncoder(Options{Profile: HighCompression}), vals, nil, func(b Block) error {
		sub = append(sub[:0], b.Sub...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sub) > n*95/80 {
		t.Errorf("%.2f bits a value", float64(8*len(sub))/n)
	}
	got := make([]int64, n)
	if err := block.DecodeNumbers(got, sub, new(block.Scratch)); err != nil || !slices.Equal(got, vals) {
		t.Errorf("decoded otherwise: %v", err)
	}
}

// TestStepsOfAnyCodes: the widest range of steps, and one that wraps around, come back.
func TestStepsOfAnyCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, most := range []int{300, 2000, mostSteps / 2, mostSteps} {
		codes := make([]uint32, 3*leastPlanes)
		for i := range codes {
			if codes[i] = uint32(1 + r.IntN(most)); i%8 > 0 {
				codes[i] = min(codes[i-1]+uint32(r.IntN(3)), uint32(most))
			}
		}
		e := NewEncoder(Options{Profile: HighCompression})
		e.borrow()
		p := planSteps(e, codes, 2*len(codes), scope{level: 1})
		if p == nil {
			if most < mostSteps/2 {
				t.Errorf("%d codes: no steps", most)
			}
			continue
		}
		sub := appendTree(nil, codes, p)
		if len(sub) != p.size {
			t.Errorf("%d codes: %d bytes, planned %d", most, len(sub), p.size)
		}
		got := make([]uint32, len(codes))
		if err := block.DecodeNumbers(got, sub, new(block.Scratch)); err != nil || !slices.Equal(got, codes) {
			t.Errorf("%d codes: decoded otherwise: %v", most, err)
		}
	}
}

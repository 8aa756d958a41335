package encode

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// cutAll cuts numbers as the last ones of a buffer, requires them back, and gives the bytes of the blocks.
func cutAll[T simd.Number](t *testing.T, vals []T, o Options) (size int) {
	t.Helper()
	at := 0
	_, err := CutNumbers(NewEncoder(o), vals, nil, true, func(b Block) error {
		got := make([]T, b.Values)
		if err := block.DecodeNumbers(got, b.Sub, new(block.Scratch)); err != nil {
			return err
		}
		if want := vals[at : at+b.Values]; !bytes.Equal(simd.AsBytes(got), simd.AsBytes(want)) {
			return fmt.Errorf("other values in the block at %d", at)
		}
		at, size = at+b.Values, size+len(b.Sub)
		return nil
	})
	if err != nil || at != len(vals) {
		t.Fatalf("%d of %d values, %v", at, len(vals), err)
	}
	return size
}

// cutTexts is cutAll for texts.
func cutTexts(t *testing.T, texts []string, o Options) (size int) {
	t.Helper()
	var data []byte
	offsets := []int64{0}
	for _, s := range texts {
		data = append(data, s...)
		offsets = append(offsets, int64(len(data)))
	}
	at := 0
	_, err := NewEncoder(o).CutBytes(Bytes{Data: data, Offsets: offsets}, true, func(b Block) error {
		var got block.Bytes
		if err := block.DecodeBytes(&got, b.Sub, b.Values, 0, nil, new(block.Scratch)); err != nil {
			return err
		}
		for i := range b.Values {
			if have := value(got.Data, got.Offsets, 0, i); string(have) != texts[at+i] {
				return fmt.Errorf("value %d is %q, want %q", at+i, have, texts[at+i])
			}
		}
		at, size = at+b.Values, size+len(b.Sub)
		return nil
	})
	if err != nil || at != len(texts) {
		t.Fatalf("%d of %d values, %v", at, len(texts), err)
	}
	return size
}

// smallBuffers makes a buffer of n values, by kind, and cuts it.
func smallBuffers(t *testing.T) map[string]func(n int, o Options) int {
	r := rand.New(rand.NewPCG(3, 1))
	id := int64(0)
	numbers := func(next func(i int) int64) func(int, Options) int {
		return func(n int, o Options) int {
			vals := make([]int64, n)
			for i := range vals {
				vals[i] = next(i)
			}
			return cutAll(t, vals, o)
		}
	}
	texts := func(next func() string) func(int, Options) int {
		return func(n int, o Options) int {
			vals := make([]string, n)
			for i := range vals {
				vals[i] = next()
			}
			return cutTexts(t, vals, o)
		}
	}
	words := []string{"connection", "refused", "by", "peer", "timeout", "while", "reading", "header", "from", "upstream"}
	line := func() string {
		return fmt.Sprintf("%s %s %s id %d", words[r.IntN(10)], words[r.IntN(10)], words[r.IntN(10)], r.IntN(1_000_000))
	}
	codes := make([]string, 100)
	for i := range codes {
		codes[i] = fmt.Sprintf("%s %s %s %s %s", words[r.IntN(10)], words[r.IntN(10)], words[r.IntN(10)], words[r.IntN(10)], words[r.IntN(10)])
	}
	return map[string]func(int, Options) int{
		"constant": numbers(func(int) int64 { return 7 }),
		"random":   numbers(func(int) int64 { return int64(r.Uint64()) }),
		"keys":     numbers(func(int) int64 { id += 1 + r.Int64N(3); return id }),
		"runs":     numbers(func(i int) int64 { return int64(uint64(i/40) * 0x9e3779b97f4a7c15 >> 44) }),
		"few":      numbers(func(int) int64 { return int64(r.IntN(12)) * 1_000_003_000_007 }),
		"floats": func(n int, o Options) int {
			vals := make([]float64, n)
			for i := range vals {
				vals[i] = float64(r.IntN(100_000)) / 100
			}
			return cutAll(t, vals, o)
		},
		"same text": texts(func() string { return "the same text in all rows" }),
		"hex":       texts(func() string { return fmt.Sprintf("%016x", r.Uint64()) }),
		"log":       texts(line),
		"codes":     texts(func() string { return codes[r.IntN(len(codes))] }),
		"paths":     texts(func() string { return fmt.Sprintf("/srv/data/%s/%05d.json", words[r.IntN(10)], r.IntN(100_000)) }),
	}
}

// Small buffers of a column whose choices are kept try at most two thirds as much as the first one, mostly far less, and take about as many bytes
// as they would alone.
func TestKeptChoices(t *testing.T) {
	for _, p := range []Profile{MinimalCompression, Balanced} {
		kinds := smallBuffers(t)
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			cut := kinds[name]
			for _, n := range []int{1000, 1500, 5000} {
				var tries atomic.Int64
				kept := &Choice{Tries: &tries}
				together, alone := 0, 0
				cut(n, Options{Profile: p, Choice: kept})
				first := tries.Load()
				for range chooseEvery - 1 {
					together += cut(n, Options{Profile: p, Choice: kept})
					alone += cut(n, Options{Profile: p})
				}
				if more := tries.Load() - first; more > first*(chooseEvery-1)*2/3 {
					t.Errorf("%v, %s, %d values: %d tries, then %d for %d buffers", p, name, n, first, more, chooseEvery-1)
				}
				if together > alone+alone/20 {
					t.Errorf("%v, %s, %d values: %d bytes, alone %d", p, name, n, together, alone)
				}
				before := tries.Load()
				if cut(n, Options{Profile: p, Choice: kept}); tries.Load()-before < first/2 {
					t.Errorf("%v, %s, %d values: %d tries at first, %d after %d buffers", p, name, n, first, tries.Load()-before, chooseEvery)
				}
			}
		}
	}
}

// Values of another nature than those before get encodings of their own: at once, but where nothing of the change is seen in the outline and in what the
// old encodings come to, and then after chooseEvery buffers.
func TestKeptChoicesChange(t *testing.T) {
	kinds := smallBuffers(t)
	numbers := []string{"constant", "random", "keys", "runs", "few", "constant", "few", "keys", "random", "few", "constant"}
	texts := []string{"same text", "log", "codes", "hex", "paths", "log", "codes", "same text"}
	for _, names := range [][]string{numbers, texts} {
		kept, late := new(Choice), 0
		for _, name := range names {
			for i := range chooseEvery - 3 { // so that kinds change at buffers of which not everything is tried
				got, alone := kinds[name](1500, Options{Choice: kept}), kinds[name](1500, Options{})
				switch {
				case got <= alone+alone/choiceLoss+64:
				case i == chooseEvery-4:
					t.Errorf("%s: %d bytes in buffer %d, alone %d", name, got, i, alone)
				default:
					late++
				}
			}
		}
		if late > 0 {
			t.Errorf("%v: %d buffers were late", names, late)
		}
	}
}

// Only one encoder has the choices of a column at a time, and only those of buffers that hold no more than is kept leave any.
func TestKeptChoicesBounds(t *testing.T) {
	var tries atomic.Int64
	kept := &Choice{Tries: &tries}
	large := make([]int64, mostChosenValues+1)
	cutAll(t, large, Options{Choice: kept})
	if kept.take() != nil || tries.Load() != 0 {
		t.Error("a large buffer has left choices")
	}
	for _, p := range []Profile{Plain, HighCompression, MinimalSize} {
		cutAll(t, large[:1000], Options{Choice: kept, Profile: p})
		if kept.take() != nil {
			t.Errorf("%v: choices were left", p)
		}
	}
	cutAll(t, large[:1000], Options{Choice: kept})
	if last := kept.take(); last == nil || last.left != chooseEvery-1 || kept.take() != nil {
		t.Errorf("%+v", last)
	}
}

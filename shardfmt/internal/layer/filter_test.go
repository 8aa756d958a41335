package layer

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
)

// The hashes and the Bloom filter of the golden files: Rust's own numbers.
func TestHashes(t *testing.T) {
	if got := hashKey(Type{Kind: I32}, Value{Int: 1}); got != 15781232456890734344 {
		t.Errorf("the hash of 1 is %d", got)
	}
	for want, v := range map[uint64]float64{0x7FF8000000000000: math.NaN(), (Type{Kind: F64}).floatHash(0): math.Copysign(0, -1)} {
		if got := (Type{Kind: F64}).floatHash(v); got != want {
			t.Errorf("%v hashes %x, want %x", v, got, want)
		}
	}
	if f := newBloom(Type{Kind: I64}, 256); len(f.words[0]) != 77 || f.hashes != 13 {
		t.Errorf("256 keys: %d words, %d hashes, want 77 and 13", len(f.words[0]), f.hashes)
	}
	if f := newBloom(Type{Kind: I64}, 1); len(f.words[0]) != 20 || f.hashes != 13 {
		t.Errorf("1 key: %d words, %d hashes, want 20 and 13", len(f.words[0]), f.hashes)
	}
}

// Filters never deny a key that is there, and seldom admit one that is not.
func TestFilters(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []FilterKind{Bloom, Roaring} {
		o := tiny
		o.Filter = kind
		data, types, keys, _ := tree(t, 5000, 1, o)
		f, _ := mustOpen(t, data, types)
		filter, err := f.Filter(ctx)
		if err != nil || filter == nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, k := range keys[0] {
			if !filter.MayContain(Value{Int: k}) {
				t.Fatalf("%s denies %d", kind, k)
			}
		}
		wrong := 0
		for k := range int64(100_000) {
			if filter.MayContain(Value{Int: 1_000_000 + k}) {
				wrong++
			}
		}
		if limit := map[FilterKind]int{Bloom: 100, Roaring: 0}[kind]; wrong > limit {
			t.Errorf("%s: %d of 100000 absent keys", kind, wrong)
		}
	}
	// A bitmap whose base is below the first key: the lowest number is the distance of the first key.
	r := &roar{t: Type{Kind: I64}, base: 100}
	f, err := func() (Filter, error) {
		var w Writer
		w.o.Filter, w.columns = Roaring, []*columnWriter{{data: dataBuilder{pair: newPair(Type{Kind: I64}, Type{})}}}
		for _, k := range []int64{100, 107, 120} {
			if err := w.note(Value{Int: k}); err != nil {
				return nil, err
			}
		}
		shifted := *w.roar
		shifted.bits = shifted.bits.Clone()
		shifted.bits.Clear()
		for _, d := range []uint32{40, 47, 60} {
			shifted.bits.Add(d)
		}
		b, err := shifted.block()
		if err != nil {
			return nil, err
		}
		return parseRoaring(r.t, b, Value{Int: 100})
	}()
	if err != nil || !f.MayContain(Value{Int: 107}) || f.MayContain(Value{Int: 147}) {
		t.Errorf("a bitmap with a smaller base: %v", err)
	}
	// Modules, as other writers make them: one chain of hashes through all.
	m := &wordFilter{t: Type{Kind: I64}, hashes: 3, words: [][]uint64{make([]uint64, 40), make([]uint64, 40)}}
	for k := range int64(50) {
		m.insert(hashKey(m.t, Value{Int: k}))
	}
	b := make([]byte, 8)
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 2), 3)
	b = binary.LittleEndian.AppendUint64(b, 40)
	for _, words := range m.words {
		set := 0
		for _, w := range words {
			for ; w != 0; w &= w - 1 {
				set++
			}
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(set))
	}
	for _, words := range m.words {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	modules, err := parseModules(m.t, b)
	if err != nil || !modules.MayContain(Value{Int: 49}) || modules.MayContain(Value{Int: 4711}) {
		t.Errorf("modules: %v", err)
	}
}

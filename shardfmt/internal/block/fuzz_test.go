package block

import (
	"errors"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// fuzzValues bounds the values a fuzzed block is reported to have: more only takes time.
const fuzzValues = 5000

// FuzzDecodeNumbers reads any bytes as numbers of any type. No panic; errors of the two classes only; working
// memory bounded by values and bytes; and what decodes as a block reads the same value by value, and has a tree.
func FuzzDecodeNumbers(f *testing.F) {
	for _, c := range numberVectors {
		tree, sub := treeOf(f, c.name)
		f.Add(sub, uint8(tree.Elem), min(tree.Values, fuzzValues))
	}
	f.Fuzz(func(t *testing.T, sub []byte, elem uint8, n int) {
		if elem > uint8(Float64) || n < 0 || n > fuzzValues {
			return
		}
		switch Elem(elem) {
		case Int8:
			fuzzNumbers[int8](t, sub, n)
		case Int16:
			fuzzNumbers[int16](t, sub, n)
		case Int32:
			fuzzNumbers[int32](t, sub, n)
		case Int64:
			fuzzNumbers[int64](t, sub, n)
		case Uint8:
			fuzzNumbers[uint8](t, sub, n)
		case Uint16:
			fuzzNumbers[uint16](t, sub, n)
		case Uint32:
			fuzzNumbers[uint32](t, sub, n)
		case Uint64:
			fuzzNumbers[uint64](t, sub, n)
		case Float32:
			fuzzNumbers[float32](t, sub, n)
		case Float64:
			fuzzNumbers[float64](t, sub, n)
		}
	})
}

func fuzzNumbers[T Number](t *testing.T, sub []byte, n int) {
	s := new(Scratch)
	all := make([]T, n)
	err := DecodeNumbers(all, sub, s)
	// Two arrays of u64 per level that takes any, each of at most n + 8·len values; slabs double.
	if limit := 4 * (maxDepth + 1) * (n + 8*len(sub) + 1024); len(s.slab) > limit {
		t.Fatalf("%d words of working memory for %d values in %d bytes", len(s.slab), n, len(sub))
	}
	if err != nil {
		wantTyped(t, err)
		if n > 0 {
			_, _, err := numberAlone[T](sub, n, n/2, s)
			wantTyped(t, err)
			_, _, err = PickNumbers(make([]T, 1), sub, n, []uint32{uint32(n / 2)}, s)
			wantTyped(t, err)
			wantEvaluated[T](t, sub, n, nil, s)
		}
		return
	}
	if _, err := Describe(sub, ElemOf[T](), n, 0); err != nil {
		t.Fatalf("decodes, but can't be described: %v", err)
	}
	wantEvaluated(t, sub, n, all, s)
	for i := 0; i < n; i += 1 + n/3 {
		v, done, err := numberAlone[T](sub, n, i, s)
		if err != nil || done && !sameBits(v, all[i]) {
			t.Fatalf("value %d alone is %v (%v), in the block %v", i, v, err, all[i])
		}
	}
	for _, step := range []int{1, 1 + n/3} {
		var at []uint32
		for i := 0; i < n; i += step {
			at = append(at, uint32(i))
		}
		some := make([]T, len(at))
		done, _, err := PickNumbers(some, sub, n, at, s)
		if err != nil {
			t.Fatalf("picked, though the block has none: %v", err)
		}
		for k, i := range at {
			if done && !sameBits(some[k], all[i]) {
				t.Fatalf("value %d picked is %v, in the block %v", i, some[k], all[i])
			}
		}
	}
}

func wantTyped(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
		t.Fatalf("an error of neither class: %v", err)
	}
}

// FuzzDecodeBytes reads any bytes as byte strings.
func FuzzDecodeBytes(f *testing.F) {
	for _, c := range bytesVectors {
		f.Add(unhex(f, c.dump), len(c.want), c.fixed, bitmapOf(len(c.want), c.nulls...))
	}
	f.Fuzz(func(t *testing.T, sub []byte, n, fixed int, present []byte) {
		if n < 0 || n > fuzzValues || fixed < 0 || fixed > 64 || len(sub) > 1<<12 || len(present) > (n+7)/8 {
			return
		}
		if len(present) < (n+7)/8 {
			present = nil
		}
		fuzzBytes(t, sub, n, fixed, slices.Clone(present))
	})
}

func fuzzBytes(t *testing.T, sub []byte, n, fixed int, present []byte) {
	s, all := new(Scratch), new(Bytes)
	before := slices.Clone(present)
	err := DecodeBytes(all, sub, n, fixed, present, s)
	if limit := 2 * ((n + 1) * (len(sub) + fixed + zstdBlock)); cap(all.Data) > limit {
		t.Fatalf("room for %d bytes for %d values in %d bytes", cap(all.Data), n, len(sub))
	}
	elem := Binary
	if fixed > 0 {
		elem = FixedBinary
	}
	if err != nil {
		wantTyped(t, err)
		if n > 0 {
			_, _, _, err := BytesAt(nil, sub, n, fixed, n/2, s)
			wantTyped(t, err)
		}
		return
	}
	if _, err := Describe(sub, elem, n, fixed); err != nil {
		t.Fatalf("decodes, but can't be described: %v", err)
	}
	values := valuesOf(all, fixed, 0)
	if len(values) != n {
		t.Fatalf("%d values of %d", len(values), n)
	}
	for i := 0; i < n; i += 1 + n/3 {
		v, null, done, err := BytesAt(nil, sub, n, fixed, i, s)
		if before != nil && before[i/8]>>(i%8)&1 == 0 {
			wantTyped(t, err)
			continue // the block's presence decides; the sub-block may have a value of any kind there
		}
		if !done && err == nil {
			continue
		}
		if err != nil || string(v) != values[i] || null && present[i/8]>>(i%8)&1 == 1 {
			t.Fatalf("value %d alone is %q, null %v (%v), in the block %q", i, v, null, err, values[i])
		}
	}
}

// FuzzParseFrame takes any bytes apart.
func FuzzParseFrame(f *testing.F) {
	for _, c := range frames {
		f.Add(unhex(f, c.dump), c.checksum)
	}
	f.Fuzz(func(t *testing.T, b []byte, checksum bool) {
		frame, err := ParseFrame(b, checksum)
		if err != nil {
			wantTyped(t, err)
			return
		}
		again, err := ParseFrame(AppendFrame(nil, frame.Presence, frame.Values, checksum), checksum)
		if err != nil || string(again.Values) != string(frame.Values) || string(again.Presence) != string(frame.Presence) {
			t.Fatalf("written again: %v", err)
		}
	})
}

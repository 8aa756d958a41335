package simd

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Every tier gives the ends that the plain loop gives, of few and of many entries for the codes, and looks values of sixteen bytes up;
// a code that names no entry is never looked up.
func TestTextEndsAndGather16(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for range 2000 {
		ends := []int64{r.Int64N(10)}
		for range 1 + r.IntN(60) {
			ends = append(ends, ends[len(ends)-1]+r.Int64N(20))
		}
		if r.IntN(20) == 0 { // of more than the space
			for range 5000 {
				ends = append(ends, ends[len(ends)-1]+1)
			}
		}
		entries := len(ends) - 1
		codes := make([]uint32, r.IntN(300))
		for i := range codes {
			codes[i] = uint32(r.IntN(entries))
		}
		dict, values := make([][16]byte, entries), make([][16]byte, len(codes))
		for i := range dict {
			copy(dict[i][:], random[uint8](r, 16))
		}
		want := make([]int64, len(codes)+1)
		for i, c := range codes {
			want[i+1] = want[i] + ends[c+1] - ends[c]
			values[i] = dict[c]
		}
		beyond := slices.Clone(codes)
		if len(codes) > 0 {
			beyond[r.IntN(len(codes))] = uint32(entries + r.IntN(3))
		}
		for _, by := range available() {
			got, out := make([]int64, len(codes)+1), make([][16]byte, len(codes))
			if by.textEnds(got, codes, ends); !slices.Equal(got, want) {
				t.Fatalf("%s: %d codes of %d entries end at %v, want %v", by.name, len(codes), entries, got, want)
			}
			if !by.gather16(out, dict, codes) || !slices.Equal(out, values) {
				t.Fatalf("%s: %d codes of %d entries: other values", by.name, len(codes), entries)
			}
			if len(codes) > 0 && (by.gather16(out, dict, beyond) || !panics(func() { by.textEnds(got, beyond, ends) })) {
				t.Fatalf("%s: a code of no entry was looked up", by.name)
			}
		}
	}
}

// Every tier moves ends as the plain loop does, wherever they fall, are negative, or are so large that differences overflow.
func TestMoveEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 44))
	risen := 0
	for range 20_000 {
		ends := make([]int64, 1+r.IntN(70))
		at := r.Int64N(3)
		for i := range ends {
			ends[i] = at
			at += r.Int64N(20)
		}
		switch i := r.IntN(len(ends)); r.IntN(4) {
		case 0:
			ends[i] = -1 - r.Int64N(5)
		case 1:
			ends[i] -= r.Int64N(20)
		case 2:
			ends[i] = int64(r.Uint64())
		}
		by, fell := int64(r.Uint64()), ends[0] < 0
		want := slices.Clone(ends)
		for i := range want {
			fell = fell || i > 0 && ends[i] < ends[i-1]
			want[i] += by
		}
		if !fell {
			risen++
		}
		for _, tier := range available() {
			all := append(append([]int64{7}, ends...), 7)
			got := all[1 : len(ends)+1]
			if rise := tier.moveEnds(got, by); rise == fell || !slices.Equal(got, want) || all[0] != 7 || all[len(all)-1] != 7 {
				t.Fatalf("%s: %v moved by %d: %v, and %v", tier.name, ends, by, got, rise)
			}
		}
	}
	if risen < 4000 || risen > 16_000 {
		t.Errorf("%d of 20000 never fell", risen)
	}
}

func panics(do func()) (did bool) {
	defer func() { did = recover() != nil }()
	do()
	return false
}

// Texts whose ends fall, or whose offsets do, are not copied without looking at each.
func TestTextsThatDontRise(t *testing.T) {
	codes, text := make([]uint32, 64), make([]byte, 200)
	for i := range codes {
		codes[i] = uint32(i % 3)
	}
	offsets := make([]int64, 65)
	for i := range offsets {
		offsets[i] = int64(i)
	}
	for _, by := range available() {
		if by.texts == nil {
			continue
		}
		if n := by.texts(make([]byte, 64), offsets, codes, []int64{0, 1, 2, 3}, text, 16); n == 0 {
			t.Errorf("%s: nothing is copied together", by.name)
		}
		if n := by.texts(make([]byte, 64), offsets, codes, []int64{0, 1 << 40, 2, 3}, text, 16); n > 0 {
			t.Errorf("%s: an entry outside was copied", by.name)
		}
		fall := slices.Clone(offsets)
		fall[3] = 1 << 40
		if n := by.texts(make([]byte, 64), fall, codes, []int64{0, 1, 2, 3}, text, 16); n > 0 {
			t.Errorf("%s: an entry was copied outside", by.name)
		}
		codes[5] = 3
		if n := by.texts(make([]byte, 64), offsets, codes, []int64{0, 1, 2, 3}, text, 16); n > 0 {
			t.Errorf("%s: a code of no entry was looked up", by.name)
		}
		codes[5] = 2
	}
}

package block

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// bitmapOf is a bitmap of n ones without the bits at nulls.
func bitmapOf(n int, nulls ...int) []byte {
	b := make([]byte, (n+7)/8)
	for i := range n {
		b[i/8] |= 1 << (i % 8)
	}
	for _, i := range nulls {
		b[i/8] &^= 1 << (i % 8)
	}
	return b
}

// others is all of 0..n-1 but the positions given.
func others(n int, but ...int) (list []int) {
	for i := range n {
		if !slices.Contains(but, i) {
			list = append(list, i)
		}
	}
	return list
}

// The sections of docs/format/blocks.md, output of the reference.
var presences = []struct {
	name  string
	n     int
	nulls []int
	dump  string
}{
	{"all null", 5, []int{0, 1, 2, 3, 4}, "01"},
	{"one of three", 3, []int{1}, "02 01 00 01"},
	{"few nulls", 1000, []int{5}, "03 01 3a 30 00 00 01 00 00 00 00 00 00 00 10 00 00 00 05 00"},
	{"few present", 1000, others(1000, 5, 700),
		"03 00 3a 30 00 00 01 00 00 00 00 00 01 00 10 00 00 00 05 00 bc 02"},
	{"two containers", 70000, []int{5, 66000},
		"03 01 3a 30 00 00 02 00 00 00 00 00 00 00 01 00 00 00 18 00 00 00 1a 00 00 00 05 00 d0 01"},
	{"exactly one percent", 100, []int{0}, "02 00" + strings.Repeat(" 01", 99)},
	{"nothing null", 12, nil, ""},
}

func TestPresence(t *testing.T) {
	for _, c := range presences {
		t.Run(c.name, func(t *testing.T) {
			want, section := bitmapOf(c.n, c.nulls...), unhex(t, c.dump)
			got := bytes.Repeat([]byte{0xaa}, len(want))
			nulls, err := DecodePresence(got, section, c.n)
			if err != nil || nulls != len(c.nulls) || !bytes.Equal(got, want) {
				t.Errorf("nulls %d, bitmap % x, error %v", nulls, got, err)
			}
		})
	}
	t.Run("bitmap without nulls", func(t *testing.T) {
		got := make([]byte, 1)
		nulls, err := DecodePresence(got, unhex(t, "03 01 3a 30 00 00 00 00 00 00"), 5)
		if err != nil || nulls != 0 || got[0] != 0x1f {
			t.Errorf("nulls %d, bitmap % x, error %v", nulls, got, err)
		}
	})
}

// Bitmaps written by the roaring library in all three container forms read back; ours reads there too.
func TestPresenceRoaringLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, share := range []float64{0.0001, 0.05, 0.5, 0.999} {
		const n = 200_000
		bm := roaring.New()
		want := make([]byte, n/8)
		for i := range n {
			if r.Float64() < share {
				bm.Add(uint32(i))
				want[i/8] |= 1 << (i % 8)
			}
		}
		bm.AddRange(70_000, 90_000)
		for i := 70_000; i < 90_000; i++ {
			want[i/8] |= 1 << (i % 8)
		}
		for _, runs := range []bool{false, true} {
			if runs {
				bm.RunOptimize()
			}
			raw, err := bm.ToBytes()
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, n/8)
			if _, err := DecodePresence(got, append([]byte{presenceRoaring, 0}, raw...), n); err != nil {
				t.Fatalf("share %v, runs %v: %v", share, runs, err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("share %v, runs %v: bitmaps differ", share, runs)
			}
		}
	}
}

func TestPresenceCorrupt(t *testing.T) {
	for name, dump := range map[string]string{
		"too few bytes":           "02 01 01",
		"too many bytes":          "02 01 01 01 01 01 01 01 01 01 01 01 01",
		"no bitmap":               "03",
		"unknown cookie":          "03 00 3c 30 00 00 00 00 00 00",
		"cut in the header":       "03 00 3a 30 00 00 01",
		"4 billion containers":    "03 00 3a 30 00 00 ff ff ff ff 00 00",
		"cut in the array":        "03 00 3a 30 00 00 01 00 00 00 00 00 01 00 10 00 00 00 05 00",
		"position out of range":   "03 00 3a 30 00 00 01 00 00 00 00 00 00 00 10 00 00 00 0a 00",
		"positions out of order":  "03 00 3a 30 00 00 01 00 00 00 00 00 01 00 10 00 00 00 05 00 05 00",
		"bitset cut":              "03 00 3a 30 00 00 01 00 00 00 00 00 ff ff 10 00 00 00 05 00 05 00",
		"run out of range":        "03 00 3b 30 00 00 01 00 00 00 00 01 00 05 00 06 00",
		"run past the container":  "03 00 3b 30 00 00 01 00 00 00 00 01 00 05 00 ff ff",
		"key out of range":        "03 00 3a 30 00 00 01 00 00 00 01 00 00 00 10 00 00 00 05 00",
		"keys out of order":       "03 00 3a 30 00 00 02 00 00 00 00 00 00 00 00 00 00 00 18 00 00 00 1a 00 00 00 05 00 06 00",
		"run cookie without rest": "03 00 3b 30 ff ff",
	} {
		t.Run(name, func(t *testing.T) {
			nulls, err := DecodePresence(make([]byte, 2), unhex(t, dump), 10)
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Errorf("nulls %d, error %v", nulls, err)
			}
		})
	}
}

// A form that is not known is reported to be so.
func TestPresenceOfUnknownForm(t *testing.T) {
	for _, form := range []byte{0, 4, 9, 255} {
		if _, err := DecodePresence(make([]byte, 2), []byte{form, 0}, 10); !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("form %d: %v", form, err)
		}
	}
}

func FuzzDecodePresence(f *testing.F) {
	for _, c := range presences {
		f.Add(unhex(f, c.dump), c.n)
	}
	f.Fuzz(func(t *testing.T, section []byte, n int) {
		if n < 0 || n > 1<<18 {
			return
		}
		dst := make([]byte, (n+7)/8)
		nulls, err := DecodePresence(dst, section, n)
		if err != nil {
			return
		}
		ones := 0
		for i := range n {
			ones += int(dst[i/8] >> (i % 8) & 1)
		}
		if ones+nulls != n {
			t.Fatalf("%d nulls and %d present of %d", nulls, ones, n)
		}
	})
}

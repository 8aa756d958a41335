package encode

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// someNull is a bitmap of n values of which about one in share is null.
func someNull(r *rand.Rand, n, share int) []byte {
	valid := make([]byte, (n+7)/8)
	for i := range n {
		if r.IntN(share) > 0 {
			valid[i/8] |= 1 << (i % 8)
		}
	}
	return valid
}

// What stands in the place of nulls costs little: where every second value is null, little more than a bit for the place of
// each, twice, and half of the values; where few are, nothing.
func TestSizesOfNulls(t *testing.T) {
	const n = 2*FlushValues + 10_000
	r := rand.New(rand.NewPCG(50, 1))
	below1000 := each(func(r *rand.Rand, _ int) uint64 { return r.Uint64N(1000) })(r, n)
	sizes := each(func(r *rand.Rand, _ int) uint64 { return 100 + r.Uint64N(1<<20-100) })(r, n)
	times := make([]uint64, n)
	for i := range times {
		times[i] = firstShips + uint64(i)*10_000 + r.Uint64N(1000)
	}
	for _, c := range []struct {
		name           string
		size           func(t *testing.T, p Profile) float64
		balanced, high float64
	}{
		{"half of the numbers below 1000", nullSizes(below1000, someNull(r, n, 2)), 8.65, 7.6}, // 5 + 1 + 1
		{"half of numbers of 20 bits", nullSizes(sizes, someNull(r, n, 2)), 14.4, 12.9},        // 10 + 1 + 1
		{"one in a hundred points in time", nullSizes(times, someNull(r, n, 100)), 16, 16},
		{"one in fifty numbers of 20 bits", nullSizes(sizes, someNull(r, n, 50)), 20.7, 20.7},
		{"all but one in a thousand numbers", nullSizes(sizes, flip(someNull(r, n, 1000))), 0.14, 0.13},
	} {
		t.Run(c.name, func(t *testing.T) {
			for p, most := range map[Profile]float64{Balanced: c.balanced, HighCompression: c.high} {
				if got := c.size(t, p); got > most {
					t.Errorf("%v: %.3f bits a value, not %.3f or less", p, got, most)
				} else {
					t.Logf("%v: %.3f bits a value", p, got)
				}
			}
		})
	}
}

func flip(b []byte) []byte {
	for i := range b {
		b[i] ^= 0xff
	}
	return b
}

// nullSizes encodes as a field does, checks what comes back where it isn't null, and gives the bits a value with presence.
func nullSizes[T simd.Number](vals []T, valid []byte) func(t *testing.T, p Profile) float64 {
	return func(t *testing.T, p Profile) float64 {
		e := NewEncoder(Options{Profile: p})
		size, at := 0, 0
		check := func(b Block) error {
			size += align8(8+align8(len(b.Presence))+len(b.Sub)+4) + mapShare
			back := make([]T, b.Values)
			if err := block.DecodeNumbers(back, b.Sub, new(block.Scratch)); err != nil {
				return err
			}
			for i, v := range back {
				if valid[(at+i)/8]>>((at+i)%8)&1 == 1 && v != vals[at+i] {
					return fmt.Errorf("value %d is %v, not %v", at+i, v, vals[at+i])
				}
			}
			at += b.Values
			return nil
		}
		for from := 0; from < len(vals); {
			to := min(from+FlushValues, len(vals))
			if _, err := CutNumbers(e, vals[at:to], valid[at/8:], to == len(vals), check); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		if at != len(vals) {
			t.Fatalf("%d values of %d", at, len(vals))
		}
		return 8 * float64(size) / float64(len(vals))
	}
}

// Texts of which every second is null take a bit for that, and theirs: in high-compression they come in blocks of a quarter of a megabyte.
func TestSizesOfNullTexts(t *testing.T) {
	const n = 2 * FlushValues
	r := rand.New(rand.NewPCG(50, 2))
	valid := someNull(r, n, 2)
	var data []byte
	offsets := []int64{0}
	for i := range n {
		if valid[i/8]>>(i%8)&1 == 1 {
			data = fmt.Appendf(data, "item %d", r.IntN(100_000))
		}
		offsets = append(offsets, int64(len(data)))
	}
	size, blocks := 0, 0
	e := NewEncoder(Options{Profile: HighCompression})
	_, err := e.CutBytes(Bytes{Data: data, Offsets: offsets, Valid: valid}, true, func(b Block) error {
		size += align8(8+align8(len(b.Presence))+len(b.Sub)+4) + mapShare
		blocks++
		return nil
	})
	if got := 8 * float64(size) / n; err != nil || got > 15 || blocks > 3 {
		t.Errorf("%.3f bits a value in %d blocks, not 15 in 3: %v", got, blocks, err)
	}
}

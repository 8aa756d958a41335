package block

import (
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Judging a block is judging what it decodes to, and values that are stored once are judged once.
func TestJudge(t *testing.T) {
	seen := 0
	for _, c := range numberVectors {
		eachNumbers(t, c, numberChecks{judges[int8](&seen), judges[int16](&seen), judges[int32](&seen), judges[int64](&seen),
			judges[uint8](&seen), judges[uint16](&seen), judges[uint32](&seen), judges[uint64](&seen), judges[float32](&seen), judges[float64](&seen)})
	}
	if seen < 5 {
		t.Errorf("%d vectors were judged without decoding them", seen)
	}
}

func judges[T Number](seen *int) func(testing.TB, []byte, []T) {
	return func(t testing.TB, sub []byte, want []T) {
		if len(want) == 0 {
			return
		}
		with, got, s := want[len(want)/2], make([]byte, len(want)), new(Scratch)
		judged := 0
		done, err := Judge(got, sub, s, func(values []T, out []byte) error {
			judged += len(values)
			for i, v := range values {
				out[i] = 2
				if v < with {
					out[i] = 3
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !done {
			return
		}
		*seen++
		for i, v := range want {
			if (got[i] == 3) != (v < with) || got[i] < 2 {
				t.Fatalf("value %d, %v: %d", i, v, got[i])
			}
		}
		if judged > 2*len(want)+2 {
			t.Errorf("%d values were judged of %d", judged, len(want))
		}
	}
}

// wantJudged holds what judging states about a block, in both ways, against its values; without them, only that it fails with a typed error.
func wantJudged[T Number](t *testing.T, sub []byte, n int, all []T, s *Scratch) {
	t.Helper()
	var from T
	if len(all) > 0 {
		from = all[n/2]
	}
	v := &simd.Interval{Low: uint64(int64(from)), Span: 100, From: float64(from), To: float64(from) + 100, Others: n%2 == 1}
	words, want, bytes := make([]uint64, (n+63)/64), make([]uint64, (n+63)/64), make([]byte, n)
	within, err := JudgeWithin[T](words, sub, n, s, v)
	wantTyped(t, err)
	coded, err2 := Judge(bytes, sub, s, func(values []T, out []byte) error {
		bits := make([]uint64, (len(values)+63)/64)
		simd.Judge(bits, values, v)
		for i := range out {
			out[i] = byte(bits[i/64] >> (i % 64) & 1)
		}
		return nil
	})
	wantTyped(t, err2)
	if all == nil {
		return
	}
	if err != nil || err2 != nil {
		t.Fatalf("decodes, but can't be judged: %v, %v", err, err2)
	}
	simd.Judge(want, all, v)
	if within && !slices.Equal(words, want) {
		t.Fatalf("judged packed %x, want %x", words, want)
	}
	for i, b := range bytes {
		if coded && b != byte(want[i/64]>>(i%64)&1) {
			t.Fatalf("value %d, %v, is judged %d", i, all[i], b)
		}
	}
}

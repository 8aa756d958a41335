package block

import (
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Evaluating a block is evaluating what it decodes to, and values that are stored once are evaluated once.
func TestEval(t *testing.T) {
	seen := 0
	for _, c := range numberVectors {
		eachNumbers(t, c, numberChecks{evaluates[int8](&seen), evaluates[int16](&seen), evaluates[int32](&seen), evaluates[int64](&seen),
			evaluates[uint8](&seen), evaluates[uint16](&seen), evaluates[uint32](&seen), evaluates[uint64](&seen), evaluates[float32](&seen), evaluates[float64](&seen)})
	}
	if seen < 5 {
		t.Errorf("%d vectors were evaluated without decoding them", seen)
	}
}

func evaluates[T Number](seen *int) func(testing.TB, []byte, []T) {
	return func(t testing.TB, sub []byte, want []T) {
		if len(want) == 0 {
			return
		}
		with, got, s := want[len(want)/2], make([]byte, len(want)), new(Scratch)
		evaluated := 0
		done, err := Eval(got, sub, s, func(values []T, out []byte) error {
			evaluated += len(values)
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
		if evaluated > 2*len(want)+2 {
			t.Errorf("%d values were evaluated of %d", evaluated, len(want))
		}
	}
}

// wantEvaluated holds what evaluating states about a block, in both ways, against its values; without them, only that it fails with a typed error.
func wantEvaluated[T Number](t *testing.T, sub []byte, n int, all []T, s *Scratch) {
	t.Helper()
	var from T
	if len(all) > 0 {
		from = all[n/2]
	}
	v := &simd.Interval{Low: uint64(int64(from)), Span: 100, From: float64(from), To: float64(from) + 100, Others: n%2 == 1}
	words, want, bytes := make([]uint64, (n+63)/64), make([]uint64, (n+63)/64), make([]byte, n)
	within, err := EvalWithin[T](words, sub, n, s, v)
	wantTyped(t, err)
	coded, err2 := Eval(bytes, sub, s, func(values []T, out []byte) error {
		bits := make([]uint64, (len(values)+63)/64)
		simd.Eval(bits, values, v)
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
		t.Fatalf("decodes, but can't be evaluated: %v, %v", err, err2)
	}
	simd.Eval(want, all, v)
	if within && !slices.Equal(words, want) {
		t.Fatalf("evaluated packed %x, want %x", words, want)
	}
	for i, b := range bytes {
		if coded && b != byte(want[i/64]>>(i%64)&1) {
			t.Fatalf("value %d, %v, is evaluated %d", i, all[i], b)
		}
	}
}

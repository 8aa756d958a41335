package block

import "testing"

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

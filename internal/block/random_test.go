package block

import (
	"slices"
	"testing"

	"github.com/shardcat/shardcat/internal/kernel"
)

// Every value of every golden sub-block is the same read alone, in a run, and with the block.
func TestNumbersAt(t *testing.T) {
	for _, c := range numberVectors {
		t.Run(c.name, func(t *testing.T) {
			eachNumbers(t, c, numberChecks{checkAt[int8], checkAt[int16], checkAt[int32], checkAt[int64],
				checkAt[uint8], checkAt[uint16], checkAt[uint32], checkAt[uint64], checkAt[float32], checkAt[float64]})
		})
	}
}

// checkAt compares a few positions of want, and runs at the start, in the middle and at the end.
func checkAt[T Number](t testing.TB, sub []byte, want []T) {
	t.Helper()
	s := new(Scratch)
	step := max(len(want)/50, 1)
	for i := 0; i < len(want); i += step {
		got, err := NumberAt[T](sub, len(want), i, s)
		if err != nil {
			t.Fatal(err)
		}
		if !sameBits(got, want[i]) {
			t.Fatalf("value %d is %v, want %v", i, got, want[i])
		}
	}
	for _, run := range [][2]int{{0, min(3, len(want))}, {len(want) / 2, len(want)/2 + 1}, {len(want) - 1, len(want)}, {0, len(want)}} {
		got := make([]T, run[1]-run[0])
		if err := NumbersAt(got, sub, len(want), run[0], s); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(kernel.AsBytes(got), kernel.AsBytes(want[run[0]:run[1]])) {
			t.Fatalf("values %v are %v, want %v", run, got, want[run[0]:run[1]])
		}
	}
	if err := NumbersAt(make([]T, 2), sub, len(want), len(want)-1, s); err == nil {
		t.Error("a run past the end is no error")
	}
}

func sameBits[T Number](a, b T) bool {
	return slices.Equal(kernel.AsBytes([]T{a}), kernel.AsBytes([]T{b}))
}

func TestBytesAt(t *testing.T) {
	for _, c := range bytesVectors {
		t.Run(c.name, func(t *testing.T) {
			s, sub, n := new(Scratch), unhex(t, c.dump), len(c.want)
			code, _ := bytesCodeOf(sub)
			for i, want := range c.want {
				got, null, err := BytesAt([]byte("pre"), sub, n, c.fixed, i, s)
				if err != nil {
					t.Fatal(err)
				}
				isNull := slices.Contains(c.nulls, i)
				if code == SingleValue && isNull {
					continue // presence says so; the sub-block doesn't know
				}
				if string(got) != "pre"+want || null != isNull {
					t.Errorf("value %d is %q, null %v, want %q", i, got, null, want)
				}
			}
		})
	}
}

func TestPresentAt(t *testing.T) {
	for _, c := range presences {
		section, want := unhex(t, c.dump), bitmapOf(c.n, c.nulls...)
		for i := 0; i < c.n; i += max(c.n/100, 1) {
			got, err := PresentAt(section, c.n, i, new(Scratch))
			if err != nil || got != (want[i/8]>>(i%8)&1 == 1) {
				t.Errorf("%s: value %d present %v, error %v", c.name, i, got, err)
			}
		}
	}
}

package block

import (
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
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
		got, done, err := numberAlone[T](sub, len(want), i, s)
		if err != nil {
			t.Fatal(err)
		}
		if done && !sameBits(got, want[i]) {
			t.Fatalf("value %d is %v, want %v", i, got, want[i])
		}
	}
	for _, run := range [][2]int{{0, min(3, len(want))}, {len(want) / 2, len(want)/2 + 1}, {len(want) - 1, len(want)}, {0, len(want)}} {
		got := make([]T, run[1]-run[0])
		done, err := NumbersAt(got, sub, len(want), run[0], s)
		if err != nil {
			t.Fatal(err)
		}
		if done && !slices.Equal(simd.AsBytes(got), simd.AsBytes(want[run[0]:run[1]])) {
			t.Fatalf("values %v are %v, want %v", run, got, want[run[0]:run[1]])
		}
	}
	if _, err := NumbersAt(make([]T, 2), sub, len(want), len(want)-1, s); err == nil {
		t.Error("a run past the end is not an error")
	}
}

// Values of every golden sub-block are the same picked and with the block, few and many, some of them twice.
func TestPickNumbers(t *testing.T) {
	picked := map[Code]bool{}
	for _, c := range numberVectors {
		t.Run(c.name, func(t *testing.T) {
			eachNumbers(t, c, numberChecks{checkPicked[int8](picked), checkPicked[int16](picked), checkPicked[int32](picked), checkPicked[int64](picked),
				checkPicked[uint8](picked), checkPicked[uint16](picked), checkPicked[uint32](picked), checkPicked[uint64](picked),
				checkPicked[float32](picked), checkPicked[float64](picked)})
		})
	}
	for _, code := range []Code{Plain, SingleValue, FLBitPack, FrameOfReference, RunLength, ZigZag, TruncateU8, TruncateU16,
		TruncateU32, BlockDictionary, Alp, AlpRd} {
		if !picked[code] {
			t.Errorf("nothing was picked from %v", code)
		}
	}
}

// checkPicked compares picked values with those of want, and notes of which encodings they are.
func checkPicked[T Number](picked map[Code]bool) func(testing.TB, []byte, []T) {
	return func(t testing.TB, sub []byte, want []T) {
		t.Helper()
		for _, step := range []int{1, 2, 7, 100, len(want)} {
			var at []uint32
			for i := step - 1; i < len(want); i += step {
				at = append(at, uint32(i))
				if i%3 == 0 {
					at = append(at, uint32(i))
				}
			}
			samePicked(t, sub, want, at, picked)
		}
		if _, _, err := PickNumbers(make([]T, 1), sub, len(want), []uint32{uint32(len(want))}, new(Scratch)); err == nil {
			t.Error("a place past the end is not an error")
		}
	}
}

func samePicked[T Number](t testing.TB, sub []byte, want []T, at []uint32, picked map[Code]bool) {
	t.Helper()
	got := make([]T, len(at))
	done, _, err := PickNumbers(got, sub, len(want), at, new(Scratch))
	if err != nil {
		t.Fatal(err)
	}
	if !done {
		return
	}
	tree, err := Describe(sub, ElemOf[T](), len(want), 0)
	if err != nil {
		t.Fatal(err)
	}
	tree.Walk(func(t *Tree) { picked[t.Code] = true })
	for k, i := range at {
		if !sameBits(got[k], want[i]) {
			t.Fatalf("value %d is %v, want %v", i, got[k], want[i])
		}
	}
}

// numberAlone is value i read without the others.
func numberAlone[T Number](sub []byte, n, i int, s *Scratch) (v T, done bool, err error) {
	var out [1]T
	done, err = NumbersAt(out[:], sub, n, i, s)
	return out[0], done, err
}

// The encodings that keep values apart give each by itself, those that don't report it.
func TestWhichValuesStandAlone(t *testing.T) {
	s := new(Scratch)
	for _, c := range numberVectors {
		t.Run(c.name, func(t *testing.T) {
			sub := unhex(t, c.dump)
			code := Code(u16(sub, 0))
			apart := map[Code]bool{Plain: true, SingleValue: true, FLBitPack: true, FusedFrameOfReference: true}
			never := map[Code]bool{Delta: true, RunLength: true, Sparse: true, Lz4: true, Zstd: true}
			eachNumbers(t, c, numberChecks{standAlone[int8](s, apart[code], never[code]), standAlone[int16](s, apart[code], never[code]),
				standAlone[int32](s, apart[code], never[code]), standAlone[int64](s, apart[code], never[code]),
				standAlone[uint8](s, apart[code], never[code]), standAlone[uint16](s, apart[code], never[code]),
				standAlone[uint32](s, apart[code], never[code]), standAlone[uint64](s, apart[code], never[code]),
				standAlone[float32](s, apart[code], never[code]), standAlone[float64](s, apart[code], never[code])})
		})
	}
}

func standAlone[T Number](s *Scratch, apart, never bool) func(testing.TB, []byte, []T) {
	return func(t testing.TB, sub []byte, want []T) {
		t.Helper()
		_, done, err := numberAlone[T](sub, len(want), 0, s)
		if err != nil || apart && !done || never && done {
			t.Errorf("read alone: %v, error %v", done, err)
		}
	}
}

func sameBits[T Number](a, b T) bool {
	return slices.Equal(simd.AsBytes([]T{a}), simd.AsBytes([]T{b}))
}

func TestBytesAt(t *testing.T) {
	for _, c := range bytesVectors {
		t.Run(c.name, func(t *testing.T) {
			s, sub, n := new(Scratch), unhex(t, c.dump), len(c.want)
			code, _ := bytesCodeOf(sub)
			for i, want := range c.want {
				got, null, done, err := BytesAt([]byte("pre"), sub, n, c.fixed, i, s)
				if err != nil || done == (code == Zstd || code == Lz4) {
					t.Fatal(done, err)
				}
				if !done {
					continue
				}
				isNull := slices.Contains(c.nulls, i)
				if code == SingleValue && isNull {
					continue // presence reports it; the sub-block doesn't know
				}
				if string(got) != "pre"+want || null != isNull {
					t.Errorf("value %d is %q, null %v, want %q", i, got, null, want)
				}
			}
		})
	}
}

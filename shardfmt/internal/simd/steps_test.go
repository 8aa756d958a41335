package simd

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// All tiers report about a series what a loop over big enough numbers does.
func TestStepsAgainstPlainLoop(t *testing.T) {
	for _, tr := range available() {
		t.Run(tr.name, func(t *testing.T) {
			testSteps(t, &tr.words.u8)
			testSteps(t, &tr.words.u16)
			testSteps(t, &tr.words.u32)
			testSteps(t, &tr.words.u64)
		})
	}
}

func testSteps[U Unsigned](t *testing.T, k *kernels[U]) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 2, 3, 4, 5, 15, 16, 17, 18, 31, 32, 33, 34, 35, 63, 64, 65, 66, 100, 1000, 4130, 8200} {
		for kind := range 6 {
			vals := make([]U, n)
			for i := range vals {
				switch kind {
				case 0:
					vals[i] = U(r.Uint64())
				case 1:
					vals[i] = U(r.IntN(3)) - 1
				case 2:
					vals[i] = U(i) * 3
				case 3:
					vals[i] = 7
				case 4:
					vals[i] = U(i/10) << (8*SizeOf[U]() - 2)
				case 5:
					vals[i] = U(r.Uint64() >> r.IntN(64))
				}
			}
			want := plainSteps(vals)
			if got := k.steps(vals); got != want {
				t.Fatalf("%d values of %T, kind %d: %+v, want %+v", n, vals, kind, got, want)
			}
			if got := k.changes(vals); got != want.Changes {
				t.Fatalf("%d values of %T, kind %d: %d changes, want %d", n, vals, kind, got, want.Changes)
			}
		}
	}
}

// Counters of vectors of two bytes have space for what they are given, and are emptied in time.
func TestStepsOfManyShorts(t *testing.T) {
	vals := make([]uint16, stepsOfMany)
	for i := range vals[stepsOfMany/3:] {
		vals[stepsOfMany/3+i] = uint16(i / 700)
	}
	for _, tr := range available() {
		if got, want := tr.words.u16.steps(vals), plainSteps(vals); got != want {
			t.Errorf("%s: %+v, want %+v", tr.name, got, want)
		}
	}
}

// stepsOfMany is above what vectors take at once.
const stepsOfMany = 1_600_000

// plainSteps is StepsOf as its comment states it.
func plainSteps[U Unsigned](vals []U) Steps[U] {
	shift := 64 - 8*SizeOf[U]()
	signed := func(v U) int64 { return int64(uint64(v)<<shift) >> shift }
	sign := U(1) << (8*SizeOf[U]() - 1)
	s := Steps[U]{Least: vals[0], Most: vals[0], StepLeast: sign - 1, StepMost: sign}
	last := U(0)
	for i, v := range vals {
		if signed(v) < signed(s.Least) {
			s.Least = v
		}
		if signed(v) > signed(s.Most) {
			s.Most = v
		}
		if i == 0 {
			continue
		}
		d := v - vals[i-1]
		if signed(d) < signed(s.StepLeast) {
			s.StepLeast = d
		}
		if signed(d) > signed(s.StepMost) {
			s.StepMost = d
		}
		if d != 0 {
			s.Changes++
		}
		if d != last {
			s.StepChanges++
		}
		last = d
	}
	return s
}

// No tier allocates.
func TestStepsAllocateNothing(t *testing.T) {
	bytes, shorts, narrow, wide := make([]uint8, 1000), make([]uint16, 1000), make([]uint32, 1000), make([]uint64, 1000)
	for _, tr := range available() {
		n := testing.AllocsPerRun(10, func() {
			tr.words.u8.steps(bytes)
			tr.words.u16.steps(shorts)
			tr.words.u32.steps(narrow)
			tr.words.u64.steps(wide)
		})
		if n > 0 {
			t.Errorf("%s: %v allocations", tr.name, n)
		}
	}
}

// The extremes of integers of every type are those of the plain comparison, in every tier.
func TestExtremes(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		testExtremes[int8](t)
		testExtremes[uint16](t)
		testExtremes[int32](t)
		testExtremes[uint32](t)
		testExtremes[int64](t)
		testExtremes[uint64](t)
	})
}

func testExtremes[T Integer](t *testing.T) {
	r := rand.New(rand.NewPCG(24, 24))
	for n := 1; n < 100; n++ {
		vals := make([]T, n)
		for range 8 {
			for i := range vals {
				vals[i] = T(r.Uint64() >> r.IntN(64))
				if r.IntN(4) == 0 {
					vals[i] = ^vals[i]
				}
			}
			least, most := Extremes(vals)
			if wantLeast, wantMost := slices.Min(vals), slices.Max(vals); least != wantLeast || most != wantMost {
				t.Fatalf("%v: %d to %d, want %d to %d", vals, least, most, wantLeast, wantMost)
			}
		}
	}
}

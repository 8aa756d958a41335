package parallel

import (
	"errors"
	"slices"
	"testing"
)

// The first error ends the others, and a panic reaches the caller, who can recover it.
func TestEach(t *testing.T) {
	for _, workers := range []int{1, 4} {
		failed := errors.New("failed")
		err := Each(t.Context(), workers, 100, func(i int) error {
			if i == 7 {
				return failed
			}
			return nil
		})
		if !errors.Is(err, failed) {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
	defer func() {
		if p, ok := recover().(*Panic); !ok || p.String() != "broken" {
			t.Errorf("recovered %v", p)
		}
	}()
	Each(t.Context(), 4, 100, func(i int) error {
		if i == 50 {
			panic("broken")
		}
		return nil
	})
}

// A panic in a goroutine of its own is an error for whoever waits for it, however deep it happened.
func TestGuarded(t *testing.T) {
	err := Guarded(func() error {
		return Each(t.Context(), 2, 2, func(int) error { panic("broken") })
	})
	if p := (*Panic)(nil); !errors.As(err, &p) || p.Value != "broken" || err.Error() != "internal error: broken" || len(p.Stack) == 0 {
		t.Error(err)
	}
	if err := Guarded(func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// What is done in turn is done in order and alone, with the memory of the worker that did the first part.
func TestInTurn(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7, 200} {
		const n = 100
		memory := make([]int, max(1, min(workers, n)))
		var got []int
		err := InTurn(workers, n, func(worker, i int) error {
			memory[worker] = i
			return nil
		}, func(worker, i int) error {
			if memory[worker] != i {
				t.Errorf("%d workers: memory of worker %d holds %d at the turn of %d", workers, worker, memory[worker], i)
			}
			got = append(got, i)
			return nil
		})
		if err != nil || len(got) != n || !slices.IsSorted(got) {
			t.Errorf("%d workers: %v, %v", workers, got, err)
		}
	}
}

// After an error, or a panic, nobody gets a turn, and nobody waits for one.
func TestInTurnFails(t *testing.T) {
	failed := errors.New("failed")
	for _, workers := range []int{1, 3} {
		for name, fail := range map[string]func() error{"error": func() error { return failed }, "panic": func() error { panic("broken") }} {
			for _, inTurn := range []bool{false, true} {
				last := -1
				err := Guarded(func() error {
					return InTurn(workers, 100, func(_, i int) error {
						if i == 30 && !inTurn {
							return fail()
						}
						return nil
					}, func(_, i int) error {
						if i == 30 && inTurn {
							return fail()
						}
						last = i
						return nil
					})
				})
				var p *Panic
				if name == "error" && !errors.Is(err, failed) || name == "panic" && !errors.As(err, &p) {
					t.Errorf("%d workers, %s: %v", workers, name, err)
				}
				if last >= 30 || inTurn && last != 29 {
					t.Errorf("%d workers, %s: turn of %d", workers, name, last)
				}
			}
		}
	}
}

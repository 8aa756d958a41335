package parallel

import (
	"errors"
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

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

package meta

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// Whoever waits for a value that another loads can give up; the value is loaded once, and a failure is not kept.
func TestMemoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memo[int]
		loads := 0
		answer := make(chan error)
		load := func() (int, error) { loads++; return loads, <-answer }
		first := make(chan error)
		go func() { _, err := m.get(t.Context(), load); first <- err }()
		synctest.Wait()

		ctx, cancel := context.WithCancel(t.Context())
		impatient := make(chan error)
		go func() { _, err := m.get(ctx, load); impatient <- err }()
		synctest.Wait()
		cancel()
		if err := <-impatient; !errors.Is(err, context.Canceled) {
			t.Errorf("whoever gives up: %v", err)
		}

		second := make(chan int)
		go func() { v, _ := m.get(t.Context(), load); second <- v }()
		synctest.Wait()
		answer <- errors.New("failed")
		if err := <-first; err == nil {
			t.Error("the first attempt succeeds")
		}
		answer <- nil
		if v := <-second; v != 2 {
			t.Errorf("the second attempt gives %d", v)
		}
		if v, err := m.get(t.Context(), nil); v != 2 || err != nil {
			t.Errorf("kept: %d, %v", v, err)
		}
	})
}

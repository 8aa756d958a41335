package fairqueue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// waitFor waits until so many requests wait.
func waitFor(t *testing.T, p *Places, n int) {
	t.Helper()
	for until := time.Now().Add(time.Minute); p.Waiting() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d wait, not %d", p.Waiting(), n)
		}
	}
}

// A client with one request comes before the others of a client with many, who came first.
func TestClientsTakeTurns(t *testing.T) {
	p := New(1, 100, time.Minute)
	release, err := p.Take(t.Context(), "many")
	if err != nil {
		t.Fatal(err)
	}
	var order []string // one has the place at a time
	var all sync.WaitGroup
	for i, client := range []string{"many", "many", "many", "many", "few", "other"} {
		all.Go(func() {
			release, err := p.Take(t.Context(), client)
			if err != nil {
				t.Error(err)
				return
			}
			order = append(order, client)
			release()
		})
		waitFor(t, p, i+1)
	}
	release()
	all.Wait()
	if want := []string{"many", "few", "other", "many", "many", "many"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// The line is bounded, half of it for one client, and whoever leaves it leaves nothing behind.
func TestLineIsBounded(t *testing.T) {
	p := New(1, 4, time.Minute)
	release, err := p.Take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i, client := range []string{"a", "a", "b", "c"} {
		all.Go(func() {
			if _, err := p.Take(ctx, client); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		waitFor(t, p, i+1)
		if i == 1 {
			if _, err := p.Take(t.Context(), "a"); !errors.Is(err, ErrBusy) {
				t.Error("a third of one client:", err)
			}
		}
	}
	if _, err := p.Take(t.Context(), "d"); !errors.Is(err, ErrBusy) {
		t.Error("a fifth:", err)
	}
	leave()
	all.Wait()
	release()
	if release, err = p.Take(t.Context(), "d"); err != nil || p.Waiting() != 0 || len(p.clients) != 0 {
		t.Errorf("%v, %d wait", err, p.Waiting())
	}
	release()
	short := New(0, 1, time.Millisecond)
	if _, err := short.Take(t.Context(), "a"); !errors.Is(err, ErrBusy) || short.Waiting() != 0 {
		t.Error("without patience:", err)
	}
}

// Package parallel runs a bounded number of calls at the same time.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls do for 0 … n−1, at most workers at a time, and stops after the first error, which it returns when all
// calls have ended.
func Each(ctx context.Context, workers, n int, do func(i int) error) error {
	if workers <= 1 || n <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var panicked atomic.Pointer[Panic]
	g, ctx := errgroup.WithContext(ctx)
	for range min(workers, n) {
		g.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					panicked.CompareAndSwap(nil, &Panic{v, debug.Stack()})
					err = errPanicked
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	if p := panicked.Load(); p != nil {
		panic(p)
	}
	return err
}

// Panic is a panic of a call, with which the caller of Each panics in its place: one in a goroutine of its own would
// end the process, whatever the caller recovers.
type Panic struct {
	Value any
	Stack []byte
}

// String gives what the call panicked with.
func (p *Panic) String() string { return fmt.Sprint(p.Value) }

var errPanicked = errors.New("a call panicked")

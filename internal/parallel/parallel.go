// Package parallel runs a bounded number of calls at the same time.
package parallel

import (
	"context"
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
	g, ctx := errgroup.WithContext(ctx)
	for range min(workers, n) {
		g.Go(func() error {
			return Guarded(func() error {
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
		})
	}
	err := g.Wait()
	if p, ok := err.(*Panic); ok { // the first error is not wrapped
		panic(p)
	}
	return err
}

// Guarded calls do and makes an error of its panic, a *Panic: one in a goroutine of its own would end the process,
// whatever the goroutine's owner recovers.
func Guarded(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p, again := v.(*Panic)
			if !again {
				p = &Panic{v, debug.Stack()}
			}
			err = p
		}
	}()
	return do()
}

// Panic is a panic of a call: what the caller of Each panics with in its place, and the error of Guarded.
type Panic struct {
	Value any
	Stack []byte
}

// String gives what the call panicked with.
func (p *Panic) String() string { return fmt.Sprint(p.Value) }

// Error implements error.
func (p *Panic) Error() string { return "internal error: " + p.String() }

// InTurn calls side by side for 0 … n−1, at most workers at a time, and after each of these calls inTurn, which is called in the order of
// i and never twice at a time. Both are given which worker calls them, from 0 on, so that it may keep memory. It stops after the first
// error, which it returns when all calls have ended.
func InTurn(workers, n int, sideBySide, inTurn func(worker, i int) error) error {
	workers = max(1, min(workers, n))
	turns := make([]chan struct{}, n+1) // closed when it is the turn of i
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	close(turns[0])
	var next atomic.Int64
	var failed atomic.Bool
	one := func(worker, i int) (err error) {
		ended := false
		defer func() { // panics too end the turns of those that wait
			if !ended || err != nil {
				failed.Store(true)
			}
			close(turns[i+1])
		}()
		err = sideBySide(worker, i)
		if <-turns[i]; err == nil && !failed.Load() {
			err = inTurn(worker, i)
		}
		ended = true
		return err
	}
	return Each(context.Background(), workers, workers, func(worker int) error {
		for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
			if err := one(worker, i); err != nil {
				return err
			}
		}
		return nil
	})
}

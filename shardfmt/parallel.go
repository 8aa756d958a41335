package shardfmt

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"
)

// parallel calls do for 0 … n−1, at most workers at a time, and stops after the first error.
func parallel(ctx context.Context, workers, n int, do func(i int) error) error {
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
	return g.Wait()
}

// countTrue counts the values of a boolean column that are true.
func countTrue(a arrow.Array) (n uint64) {
	b, ok := a.(*array.Boolean)
	if !ok {
		return 0
	}
	for i := range b.Len() {
		if b.IsValid(i) && b.Value(i) {
			n++
		}
	}
	return n
}

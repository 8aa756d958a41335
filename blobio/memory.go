package blobio

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// process is the budget of all Clients that have none of their own.
var process = newBudget(defaultReadMemory)

// budget bounds the bytes of reads in flight.
type budget struct {
	*semaphore.Weighted
	most int64
}

func newBudget(most int64) *budget {
	most = max(1, most)
	return &budget{semaphore.NewWeighted(most), most}
}

// hold takes n bytes of the budget, waiting for other reads to end, and reports how many are to be released. A read larger than the
// whole budget goes alone. No holder ever waits for more, so that two can't wait for one another.
func (b *budget) hold(ctx context.Context, n int64) (held int64, err error) {
	n = min(n, b.most)
	return n, b.Acquire(ctx, n)
}

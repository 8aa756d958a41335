package scan

import (
	"context"
	"sync/atomic"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
)

// wordSample finds out by the index of one stripe whether those of others are worth reading: how frequent words are is known to nobody
// before, and where they are frequent an index costs requests and spares none. Safe for concurrent use.
type wordSample struct {
	begun atomic.Bool
	done  chan struct{} // closed when paid is known
	paid  bool
}

// candidates reads the index of a stripe of so many records, whose filter's columns have so many bytes: the first caller at once, those that
// come meanwhile after it, if it paid: if its requests, its bytes and the rows that it names came to less than reading the columns. Indexes
// of large columns are read in any case. Rows that cost more to read than the columns are not known.
func (w *wordSample) candidates(ctx context.Context, bytes, records uint64, read func() (Candidates, error)) (c Candidates, err error) {
	if first := w.begun.CompareAndSwap(false, true); first {
		defer func() {
			w.paid = err != nil || c.Known && float64(c.Gets)+float64(c.Bytes)/mostGap+rowsCost(c, bytes, records) < readCost(bytes)
			close(w.done)
		}()
	} else if bytes < sureWords {
		select {
		case <-w.done:
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
		if !w.paid {
			return c, nil
		}
	}
	if c, err = read(); err == nil && c.Known && bytes < sureWords {
		c.Known = rowsCost(c, bytes, records) < readCost(bytes)
	}
	return c, err
}

// readCost is what reading columns of so many bytes as a whole costs, in requests.
func readCost(bytes uint64) float64 { return 1 + float64(bytes)/mostGap }

// rowsCost is what reading the rows costs that an index names, in requests of an even column of so many bytes, which joinGroups joins.
func rowsCost(c Candidates, bytes, records uint64) float64 {
	width := float64(bytes) / float64(max(1, records))
	var groups [][]colstream.Request
	for _, r := range wholeBlocks(c.Rows, records) {
		q := colstream.Request{Start: uint64(float64(r.Start) * width), End: uint64(float64(r.End) * width)}
		if n := len(groups); n > 0 && q.Start-groups[n-1][0].End <= smallGap {
			groups[n-1][0].End = q.End
			continue
		}
		groups = append(groups, []colstream.Request{q})
	}
	joined, gaps := joinGroups(groups, roundJoins)
	cost := float64(len(joined)) + float64(gaps)/mostGap
	for _, g := range groups {
		cost += float64(g[0].End-g[0].Start) / mostGap
	}
	return cost
}

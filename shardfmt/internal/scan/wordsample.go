package scan

import (
	"context"
	"sync/atomic"

	"github.com/shardcat/shardcat/shardfmt/filter"
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
	first := w.begun.CompareAndSwap(false, true)
	if first {
		defer close(w.done)
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
	c, err = read()
	rows := rowsCost(c.Rows, bytes, records)
	if first {
		w.paid = err != nil || c.Known && float64(c.Gets)+float64(c.Bytes)/mostGap+rows < readCost(bytes)
	}
	if bytes < sureWords {
		c.Known = c.Known && rows < readCost(bytes)
	}
	return c, err
}

// readCost is what reading columns of so many bytes as a whole costs, in requests.
func readCost(bytes uint64) float64 { return 1 + float64(bytes)/mostGap }

// rowsCost is what reading rows costs, in requests of an even column of so many bytes.
func rowsCost(rows []filter.Range, bytes, records uint64) (cost float64) {
	width := float64(bytes) / float64(max(1, records))
	var round []colstream.Request
	for _, r := range wholeBlocks(rows, colstream.RangeIndexBlock, records) {
		round = append(round, colstream.Request{Start: uint64(float64(r.Start) * width), End: uint64(float64(r.End) * width)})
	}
	if len(round) == 0 {
		return 0
	}
	groups := group(round)
	joined, _ := joinGroups(groups, scatteredGap(len(groups)), roundJoins)
	for _, g := range joined {
		cost += 1 + float64(g[len(g)-1].End-g[0].Start)/mostGap
	}
	return cost
}

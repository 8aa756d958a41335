package scan

import (
	"context"

	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/meta"
)

// leastIndexed is the size of the filter's columns from which on indexes are asked: less is read in one request.
const leastIndexed = 4 << 10

// candidates asks the indexes of the stripe for the rows of which some may match. They come as whole blocks, as range
// indexes give them: a block is decoded whole, and rows one by one would be batches of one row.
func (s *stripe) candidates(ctx context.Context) (blocks []buffer.Range, known bool, err error) {
	store, ok := s.fetch.store.(meta.Store)
	if s.plan.q.Candidates == nil || !ok || stored(s.filter) < leastIndexed {
		return nil, false, nil
	}
	c, err := s.plan.q.Candidates(ctx, store, s.index)
	if c.Unindexed {
		s.counts.StripesUnindexed++
	}
	if err != nil || !c.Known {
		return nil, false, err
	}
	s.counts.StripesIndexed++
	return wholeBlocks(c.Rows, s.of.Records), true, nil
}

// wholeBlocks widens ranges to the blocks of range indexes, and joins those that touch.
func wholeBlocks(rows []filter.Range, records uint64) (out []buffer.Range) {
	const block = buffer.RangeIndexBlock
	for _, r := range rows {
		if r.Start >= records {
			break
		}
		start, end := r.Start/block*block, min(records, (min(r.End, records)+block-1)/block*block)
		if n := len(out); n > 0 && start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, end)
		} else {
			out = append(out, buffer.Range{Start: start, End: end})
		}
	}
	return out
}

package scan

import (
	"context"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// leastIndexed is the size of the filter's columns from which on indexes of a local store are read: reading less is cheaper. Those of a
// remote one are read from leastRemote on: an index costs at least two requests, one after the other, and less than that is
// read in one. Those of words are read from leastWords on: their lists and the rows take two requests more, and a request costs as much
// as a mebibyte. Below sureWords they may cost more than a fifth of reading the columns, and are read where that of the scan's first stripe paid.
const (
	leastIndexed = 4 << 10
	leastRemote  = smallColumns
	leastWords   = 2 << 20
	sureWords    = 16 << 20
)

// worthIndexes reports whether indexes are read where the filter's columns have so many bytes.
func (p *plan) worthIndexes(bytes uint64) bool {
	if p.local || p.covered {
		return bytes >= leastIndexed
	}
	if p.q.Words {
		return bytes >= leastWords
	}
	return bytes >= leastRemote
}

// candidates asks the indexes of the stripe for the rows of which some may match. They come as whole blocks, as range
// indexes give them: a block is decoded whole, and rows one by one would be batches of one row. The filter is evaluated on the rows
// themselves, which are kept for that.
func (s *stripe) candidates(ctx context.Context, st Store) (blocks []colstream.Range, known bool, err error) {
	store, ok := st.(meta.Store)
	if !ok || !s.asks() {
		return nil, false, nil
	}
	c, err := s.plan.candidates(ctx, store, s.index, stored(s.filter))
	s.counts.IndexGets += c.Gets
	s.counts.IndexBytes += c.Bytes
	if c.Unindexed {
		s.counts.StripesUnindexed++
	}
	if err != nil || !c.Known {
		return nil, false, err
	}
	s.counts.StripesIndexed++
	s.chosen = &c.Rows
	return wholeBlocks(c.Rows, colstream.RangeIndexBlock, s.of.Records), true, nil
}

// asks reports whether the indexes of the stripe are worth asking.
func (s *stripe) asks() bool {
	return s.plan.q.Candidates != nil && s.plan.worthIndexes(stored(s.filter))
}

// candidatesAndMaps is candidates, and meanwhile fetches range indexes and the block maps of all columns, where those are few bytes of a
// remote store: what follows from the rows that the indexes name takes one round then. An error of these reads comes again when they
// are needed.
func (s *stripe) candidatesAndMaps(ctx context.Context) (blocks []colstream.Range, known bool, err error) {
	var early []indexed
	round, err := s.earlyRequests(ctx, &early)
	if err != nil || len(round) == 0 {
		return s.candidates(ctx, s.fetch.store)
	}
	err = s.fetch.each(ctx, 2, func(ctx context.Context, st Store, i int) (err error) {
		if i == 0 {
			blocks, known, err = s.candidates(ctx, st)
		} else if s.fetch.roundThrough(ctx, st, round, false) == nil {
			s.early = &early
		}
		return err
	})
	return blocks, known, err
}

// earlyRequests are the requests for range indexes and block maps, none if they are many bytes or no index is read now. Filling them
// adds to out.
func (s *stripe) earlyRequests(ctx context.Context, out *[]indexed) ([]colstream.Request, error) {
	if _, asked := s.plan.asked[s.index]; asked || s.plan.local || !s.asks() {
		return nil, nil
	}
	round, err := s.plan.indexRequests(ctx, s.index, s.mem, out)
	if err != nil {
		return nil, err
	}
	maps, err := needs(s.all(), []colstream.Range{s.rows}, false)
	if round = append(round, maps...); err != nil || bytesOf(round) > earlyBytes {
		return nil, err
	}
	return round, nil
}

// answer is what the indexes of a stripe reported.
type answer struct {
	Candidates
	err error
}

// candidates is the answer of a stripe's indexes, which may have been asked before. The filter's columns have so many bytes.
func (p *plan) candidates(ctx context.Context, store meta.Store, stripe int, bytes uint64) (Candidates, error) {
	if a, ok := p.asked[stripe]; ok {
		return a.Candidates, a.err
	}
	if p.local || p.covered || !p.q.Words {
		return p.q.Candidates(ctx, store, stripe)
	}
	return p.ahead.words.candidates(ctx, bytes, p.q.Stripes[stripe].Records, func() (Candidates, error) { return p.q.Candidates(ctx, store, stripe) })
}

// askAtOnce is how many stripes' indexes are read at the same time, half as many as a bucket has short reads in flight.
const askAtOnce = blobio.DefaultBucketConcurrency

// ask asks the indexes of some stripes at the same time, of those whose columns are worth it. An error is given where its
// stripe is come to.
func (s *scanner) ask(ctx context.Context, stripes []int) error {
	if len(stripes) < 2 {
		return nil
	}
	answers := make([]*answer, len(stripes))
	each := s.fetch.each
	if !s.plan.local {
		each = func(ctx context.Context, n int, do func(ctx context.Context, st Store, i int) error) error {
			return s.fetch.eachUpTo(ctx, askAtOnce, n, do)
		}
	}
	err := each(ctx, len(stripes), func(ctx context.Context, st Store, i int) error {
		store, ok := st.(meta.Store)
		bytes := s.plan.filterBytes(ctx, stripes[i])
		if !ok || !s.plan.worthIndexes(bytes) {
			return nil
		}
		c, err := s.plan.candidates(ctx, store, stripes[i], bytes)
		answers[i] = &answer{c, err}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	s.plan.asked = map[int]answer{}
	for i, a := range answers {
		if a != nil {
			s.plan.asked[stripes[i]] = *a
		}
	}
	return nil
}

// filterBytes is the stored size of the filter's columns in a stripe, 0 if they can't be opened.
func (p *plan) filterBytes(ctx context.Context, i int) uint64 {
	s := &stripe{plan: p, index: i, of: p.q.Stripes[i], mem: p.q.Budget.Account()}
	defer s.mem.Close()
	columns, err := s.columns(ctx, p.q.Needed.Fields)
	if err != nil {
		return 0
	}
	return stored(columns)
}

// sift leaves the stripes that term filters don't rule out. One stripe is not worth a request.
func (p *plan) sift(ctx context.Context, store Store, in []int, counts *Counts) ([]int, error) {
	st, ok := store.(meta.Store)
	if p.q.Sift == nil || !ok || len(in) < 2 {
		return in, nil
	}
	keep, err := p.q.Sift(ctx, st, in)
	counts.StripesPrunedTerms += len(in) - len(keep)
	return keep, err
}

// wholeBlocks widens ranges to blocks of so many rows, and joins those that touch.
func wholeBlocks(rows []filter.Range, block, records uint64) (out []colstream.Range) {
	for _, r := range rows {
		if r.Start >= records {
			break
		}
		start, end := r.Start/block*block, min(records, (min(r.End, records)+block-1)/block*block)
		if n := len(out); n > 0 && start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, end)
		} else {
			out = append(out, colstream.Range{Start: start, End: end})
		}
	}
	return out
}

package scan

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
)

// Batches of a window are decoded side by side by lanes. Each lane is the stripe once more, with readers of its own over the
// same bytes and an account of its own; with n lanes it decodes every n-th batch, and waits until that was used before it
// begins the next. So batches come in order, and at any time there are no more of them than lanes.
//
// Lanes only do what works: after the first error, whatever it is, they are left, and the stripe goes on by itself. It makes
// smaller batches, reads other encodings, or gives the error.

// mostBatches is how many batches of a window are listed at a time: columns of no bytes may claim any number of rows.
const mostBatches = 1024

// inBatches cuts ranges into the rows of batches, and calls do with some of them at a time. Those of the next call have the size that batches have by
// then.
func (s *stripe) inBatches(ranges []colstream.Range, do func([]match) error) error {
	list := s.listed[:0]
	defer func() { s.listed = list[:0] }()
	for _, r := range ranges {
		for at := r.Start; at < r.End; {
			rows := colstream.Range{Start: at, End: at + min(uint64(s.batch), r.End-at)}
			list = append(list, match{rows: rows, span: rows})
			if at = rows.End; len(list) < mostBatches {
				continue
			}
			if err := do(list); err != nil {
				return err
			}
			list = list[:0]
		}
	}
	if len(list) == 0 {
		return nil
	}
	return do(list)
}

// rangesOf joins the rows of batches again.
func rangesOf(batches []match) (out []colstream.Range) {
	for _, m := range batches {
		if n := len(out); n > 0 && out[n-1].End == m.rows.Start {
			out[n-1].End = m.rows.End
		} else {
			out = append(out, m.rows)
		}
	}
	return out
}

// emitAll decodes the output columns of matches and yields what is selected.
func (s *stripe) emitAll(ctx context.Context, matches []match, yield func(arrow.RecordBatch) bool) error {
	for len(matches) > 0 && !s.plan.yielded { // many want only a few rows
		if err := s.emitAlone(ctx, matches[:1], yield); err != nil {
			return err
		}
		matches = matches[1:]
	}
	if len(matches) >= leastLanes && s.plan.q.Workers > 1 {
		done, err := s.emitInLanes(ctx, matches, yield)
		if err != nil {
			return err
		}
		matches = matches[done:]
	}
	return s.emitAlone(ctx, matches, yield)
}

// emitInLanes is emitAll of the first so many matches by lanes.
func (s *stripe) emitInLanes(ctx context.Context, matches []match, yield func(arrow.RecordBatch) bool) (done int, err error) {
	done, err = inLanes(s, matches, func(lane *stripe, m match) (arrow.RecordBatch, error) {
		return lane.decode.batch(ctx, lane.output, m, lane)
	}, func(m match, b arrow.RecordBatch) error { return s.deliver(b, m.span.End, yield) })
	if err == nil && done > 0 {
		for _, c := range s.output {
			c.Release(matches[done-1].span.End)
		}
	}
	return done, err
}

// emitAlone is emitAll without lanes.
func (s *stripe) emitAlone(ctx context.Context, matches []match, yield func(arrow.RecordBatch) bool) error {
	if len(s.filter) == 0 {
		return s.eachBatch(rangesOf(matches), func(r colstream.Range) error { return s.emit(ctx, match{rows: r, span: r}, yield) })
	}
	for _, m := range matches {
		if err := s.emit(ctx, m, yield); err != nil {
			return err
		}
	}
	return nil
}

// leastLanes is the least number of batches that lanes are opened for.
const leastLanes = 2

// openLanes gives the lanes, none if the stripe has columns that can't be read side by side.
func (s *stripe) openLanes() []*stripe {
	if s.alone || s.lanes != nil || s.plan.q.Workers < 2 {
		return s.lanes
	}
	for range s.plan.q.Workers {
		lane := s.lane()
		if lane == nil {
			s.alone = true
			s.closeLanes()
			break
		}
		s.lanes = append(s.lanes, lane)
	}
	return s.lanes
}

// lane makes a lane, nil if there can be none.
func (s *stripe) lane() *stripe {
	decode := *s.decode
	decode.workers = 1
	lane := &stripe{plan: s.plan, fetch: s.fetch, decode: &decode, mem: s.plan.q.Budget.Account(), index: s.index, of: s.of, chosen: s.chosen}
	lane.mem.Reuse()
	clones := make(map[column.Column]column.Column)
	for _, list := range []struct{ from, to *[]column.Column }{{&s.filter, &lane.filter}, {&s.output, &lane.output}} {
		for _, c := range *list.from {
			if clones[c] == nil {
				clones[c] = column.Clone(c, lane.mem)
			}
			if clones[c] == nil {
				lane.mem.Close()
				return nil
			}
			*list.to = append(*list.to, clones[c])
		}
	}
	lane.selector = newSelector(lane)
	return lane
}

// settle lets the memory of batches that were used, and of what was fetched for them, be used again. It is not called after an error
// or where the caller wanted no more: then somebody may still look at the last batch.
func (s *stripe) settle() {
	for _, lane := range s.lanes {
		lane.mem.Settle()
	}
	s.mem.Settle()
	s.fetch.settle()
}

// close gives the memory of the stripe and its lanes back.
func (s *stripe) close() {
	s.closeLanes()
	s.mem.Close()
}

func (s *stripe) closeLanes() {
	for _, lane := range s.lanes {
		lane.mem.Close()
	}
	s.lanes = nil
}

// inLanes does something for batches, several at the same time, and takes what comes out in order. It reports how many were
// taken; the stripe has to do the others by itself. The error is take's.
func inLanes[R any](s *stripe, list []match, do func(lane *stripe, m match) (R, error), take func(m match, r R) error) (taken int, err error) {
	if len(list) < leastLanes {
		return 0, nil
	}
	lanes := s.openLanes()
	lanes = lanes[:min(len(lanes), len(list))]
	if len(lanes) == 0 {
		return 0, nil
	}
	s.mem.NextBatch(false) // nobody looks at the last one any more
	out, stop := make([]chan laneResult[R], len(lanes)), make(chan struct{})
	var all sync.WaitGroup
	defer func() {
		close(stop)
		all.Wait()
		for _, lane := range lanes {
			lane.mem.NextBatch(false)
		}
		if taken < len(list) {
			s.alone = true
			s.closeLanes()
		}
	}()
	for k, lane := range lanes {
		out[k] = make(chan laneResult[R])
		all.Go(func() {
			for i := k; i < len(list); i += len(lanes) {
				if !offer(lane, out[k], stop, list[i], do) {
					return
				}
			}
		})
	}
	for i, m := range list {
		result := <-out[i%len(lanes)]
		if result.err != nil {
			return i, nil
		}
		if err := take(m, result.r); err != nil {
			return i, err
		}
		close(result.used)
	}
	return len(list), nil
}

// laneResult is what a lane made of a batch; used is closed when nobody looks at it any more.
type laneResult[R any] struct {
	r    R
	err  error
	used chan struct{}
}

// offer does something for a batch and waits until the result was used, or until nobody wants it any more.
func offer[R any](lane *stripe, to chan<- laneResult[R], stop <-chan struct{}, m match, do func(*stripe, match) (R, error)) (more bool) {
	lane.mem.NextBatch(false)
	result := laneResult[R]{used: make(chan struct{})}
	result.err = parallel.Guarded(func() (err error) {
		result.r, err = do(lane, m)
		return err
	})
	select {
	case to <- result:
	case <-stop:
		return false
	}
	select {
	case <-result.used:
		return true
	case <-stop:
		return false
	}
}

package scan

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// laned is a stripe with lanes, and the rows of n batches.
func laned(lanes, n int) (*stripe, []match) {
	q := &Request{Project: new(schema.Schema), Budget: budget.New(0), Workers: lanes}
	s := &stripe{plan: newPlan(q), mem: q.Budget.Account(), batch: 10}
	for range lanes {
		s.lanes = append(s.lanes, &stripe{plan: s.plan, mem: q.Budget.Account()})
	}
	return s, allBatches(s, []colstream.Range{{Start: 5, End: 5 + 10*uint64(n)}})
}

func allBatches(s *stripe, ranges []colstream.Range) (all []match) {
	_ = s.inBatches(ranges, func(some []match) error {
		all = append(all, some...)
		return nil
	})
	return all
}

// Lanes work side by side, as many as there are, what they make is taken in order, and none begins before its last was used.
func TestLanesKeepOrder(t *testing.T) {
	const lanes, n = 3, 50
	s, list := laned(lanes, n)
	var open atomic.Int64
	together := make(chan struct{})
	var want uint64 = 5
	taken, err := inLanes(s, list, func(lane *stripe, m match) (uint64, error) {
		if now := open.Add(1); now > lanes {
			t.Errorf("%d batches at the same time", now)
		}
		if m.rows.Start < 5+10*lanes { // the first of each lane wait for one another
			if m.rows.Start == 5+10*(lanes-1) {
				close(together)
			}
			<-together
		}
		return m.rows.Start, lane.mem.Take(1)
	}, func(m match, start uint64) error {
		if start != want || m.rows.Start != want {
			t.Errorf("rows from %d on, want %d", start, want)
		}
		want += 10
		open.Add(-1)
		return nil
	})
	if taken != n || err != nil || s.alone || s.plan.q.Budget.Peak() > lanes {
		t.Errorf("%d taken, %v, peak %d", taken, err, s.plan.q.Budget.Peak())
	}
	s.close()
}

// After the first error or panic of a lane the rest is left to the stripe; an error of the taker ends all.
func TestLanesGiveUp(t *testing.T) {
	broken := errors.New("broken")
	for _, fail := range []func() error{func() error { return broken }, func() error { panic("bad") }} {
		s, list := laned(4, 20)
		sum := 0
		taken, err := inLanes(s, list, func(_ *stripe, m match) (int, error) {
			if m.rows.Start == 75 {
				return 0, fail()
			}
			return 1, nil
		}, func(_ match, n int) error { sum += n; return nil })
		if taken != 7 || sum != 7 || err != nil || !s.alone || s.lanes != nil {
			t.Errorf("%d taken, %v", taken, err)
		}
		if again, err := inLanes(s, list, func(*stripe, match) (int, error) { return 0, nil }, nil); again != 0 || err != nil {
			t.Errorf("lanes after they failed: %d, %v", again, err)
		}
	}
	s, list := laned(2, 20)
	taken, err := inLanes(s, list, func(*stripe, match) (int, error) { return 1, nil }, func(m match, _ int) error {
		if m.rows.Start == 35 {
			return broken
		}
		return nil
	})
	if taken != 3 || err != broken {
		t.Errorf("%d taken, %v", taken, err)
	}
}

// Batches of ranges are the ranges again.
func TestRangesOfBatches(t *testing.T) {
	s, _ := laned(1, 0)
	in := []colstream.Range{{Start: 0, End: 25}, {Start: 30, End: 31}, {Start: 31, End: 60}}
	out := rangesOf(allBatches(s, in))
	if len(out) != 2 || out[0] != in[0] || out[1] != (colstream.Range{Start: 30, End: 60}) {
		t.Errorf("%v", out)
	}
}

// However many rows a range claims to have, no more than some batches of it are listed at a time, and all of them in the end.
func TestBatchesOfManyRows(t *testing.T) {
	s, _ := laned(1, 0)
	calls, rows := 0, uint64(0)
	err := s.inBatches([]colstream.Range{{Start: 0, End: 100_005}, {Start: 200_000, End: 1 << 62}}, func(some []match) error {
		if len(some) > mostBatches {
			t.Fatalf("%d batches are listed", len(some))
		}
		for _, m := range some {
			rows += m.rows.Len()
		}
		if calls++; calls == 100 {
			return errors.New("enough")
		}
		return nil
	})
	if err == nil || rows != 100*mostBatches*10-5 {
		t.Errorf("%d rows in %d calls, %v", rows, calls, err)
	}
}

// Rows that are left of few are found again among all.
func TestKeep(t *testing.T) {
	bitmap := []byte{0b1010_0110, 0, 0b1000_0001}
	keep(bitmap, []byte{0b01_0101}) // of bits 1, 2, 5, 7, 16, 23
	if bitmap[0] != 0b0010_0010 || bitmap[1] != 0 || bitmap[2] != 0b0000_0001 {
		t.Errorf("%08b", bitmap)
	}
	if span, any := spanOf(bitmap); !any || span != (colstream.Range{Start: 1, End: 17}) {
		t.Errorf("%v %v", span, any)
	}
	if _, any := spanOf(make([]byte, 5)); any {
		t.Error("a span of no bits")
	}
}

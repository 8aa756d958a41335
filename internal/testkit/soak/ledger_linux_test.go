package soak

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// ledger is what a table must hold, and how it came to its shards.
type ledger struct {
	mu   sync.Mutex
	rows map[int64]bool
	// added counts shards that may have been added so far, compacted is that number at each compaction of the table.
	added     int64
	compacted []int64
	// last is when the table was last compacted, or made.
	last time.Time
}

// change is something that a writer does to the rows from low to high.
type change struct {
	what      string
	low, high int64
}

func (l *ledger) apply(c change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch c.what {
	case "append":
		for id := c.low; id <= c.high; id++ {
			l.rows[id] = true
		}
	case "delete":
		maps.DeleteFunc(l.rows, func(id int64, _ bool) bool { return id >= c.low && id <= c.high })
	}
}

// between are the rows from low to high.
func (l *ledger) between(low, high int64) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []int64
	for id := low; id <= high; id++ {
		if l.rows[id] {
			out = append(out, id)
		}
	}
	return out
}

// idsOfWriter keeps the rows of writers apart.
const idsOfWriter = 1 << 40

// drive starts a writer again and again, kills it, and keeps the ledger of its rows.
func (s *soak) drive(ctx context.Context, name catalog.Name, w int64) {
	r := rand.New(rand.NewPCG(s.seed, uint64(w)<<8+uint64(name.Table[1])))
	first := w * idsOfWriter
	for next := first; ctx.Err() == nil; {
		c, err := s.start("writer", r.Uint64(), name.Table, first, next)
		if err != nil {
			s.t.Error(err)
			return
		}
		heard := make(chan struct{})
		var open *change
		go func() {
			defer close(heard)
			open, next = s.hear(c, name, next)
		}()
		select {
		case <-ctx.Done():
		case <-heard: // it failed by a fault
		case <-time.After(lifetime(r)):
		}
		s.writersKilled.Add(1)
		s.end(ctx, c, heard, 2, r)
		if open != nil {
			s.lookUp(name, *open)
		}
	}
}

// lifetime is mostly short enough to hit the beginning of things, and sometimes long enough for much to happen: who is killed
// in the line of writers holds it up for a while.
func lifetime(r *rand.Rand) time.Duration {
	if r.IntN(2) == 0 {
		return time.Duration(r.IntN(3000)) * time.Millisecond
	}
	return time.Duration(r.IntN(20_000)) * time.Millisecond
}

// hear books what a writer states. open is what it had begun, nil if nothing; next is the first id that it did not use.
func (s *soak) hear(c *child, name catalog.Name, from int64) (open *change, next int64) {
	next = from
	for c.said.Scan() {
		var now change
		line := c.said.Text()
		n, _ := fmt.Sscan(line, &now.what, &now.low, &now.high)
		switch {
		case n == 3:
			open = &now
			s.tables[name].begin()
			if now.what == "append" {
				next = now.high + 1
			}
		case line == "done" && open != nil:
			s.book(name, *open)
			open = nil
		case strings.HasPrefix(line, "failed:") && !expected(line):
			s.t.Errorf("%s: a writer %s", name, line)
		}
	}
	return open, next
}

// book enters what was done.
func (s *soak) book(name catalog.Name, c change) {
	s.tables[name].apply(c)
	switch c.what {
	case "append":
		s.appends.Add(1)
	case "delete":
		s.deletions.Add(1)
	default:
		s.columns.Add(1)
	}
}

// lookUp settles what a writer had begun that is no more: the table has all of it, or nothing.
func (s *soak) lookUp(name catalog.Name, c change) {
	s.unknown.Add(1)
	if c.what == "column" {
		return
	}
	before := s.tables[name].between(c.low, c.high)
	is := s.ids(name, fmt.Sprintf("id BETWEEN %d AND %d", c.low, c.high))
	switch {
	case slices.Equal(is, before):
	case c.what == "append" && int64(len(is)) == c.high-c.low+1 || c.what == "delete" && len(is) == 0:
		s.book(name, c)
	default:
		s.t.Errorf("%s: half done: %s of %d to %d: %v there, %v before", name, c.what, c.low, c.high, is, before)
	}
}

// ids are the rows of a table as it is now, sorted.
func (s *soak) ids(name catalog.Name, where string) []int64 {
	t, done := s.open(name, 0)
	defer done()
	if t == nil {
		return nil
	}
	o := catalog.ScanOptions{Select: []string{"id"}}
	if where != "" {
		var err error
		if o.Where, err = filter.Parse(where); err != nil {
			s.t.Error(err)
		}
	}
	var out []int64
	for b, err := range t.Scan(context.Background(), o, nil) {
		if err != nil {
			s.t.Errorf("%s: scan: %v", name, err)
			return nil
		}
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	slices.Sort(out)
	return out
}

// begin counts something that may add a shard, before it does: one that is new, or one that was changed.
func (l *ledger) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.added++
}

// wasCompacted books a compaction.
func (l *ledger) wasCompacted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compacted, l.last = append(l.compacted, l.added), time.Now()
}

// idle is how long ago the table was last compacted.
func (l *ledger) idle() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.last)
}

// bound is how many shards the table may have by now: those that a compaction leaves, and those added since the last few, of which
// some may have begun before.
func (l *ledger) bound() int64 {
	const few = 8 // on a busy machine a compaction takes as long as others take for several, and may lose its groups to deletions
	l.mu.Lock()
	defer l.mu.Unlock()
	since := int64(0)
	if n := len(l.compacted) - few; n >= 0 {
		since = l.compacted[n]
	}
	return mostShards + l.added - since
}

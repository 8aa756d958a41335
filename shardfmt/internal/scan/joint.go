package scan

import (
	"context"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
)

// joint makes the requests of stripes that are made ready at the same time together. Where a shard was packed, what they need first are
// neighbouring ranges of one object. A request is made when each of the stripes waits for one, or has all it needs.
type joint struct {
	mu      sync.Mutex
	working int // stripes that may still need something, and don't wait
	waiting []*jointRound
}

// jointRound is what one stripe waits for.
type jointRound struct {
	fetch *fetcher
	view  *blobio.Client // whose chain of requests is the stripe's
	round []colstream.Request
	got   [][]byte
	done  chan struct{}
}

// read answers requests whose bytes f was charged for, together with those of other stripes. false: some could not be read so, and the stripe has to
// read by itself, which gives errors their place.
func (j *joint) read(ctx context.Context, f *fetcher, round []colstream.Request) (read bool, err error) {
	view, ok := f.store.(*blobio.Client)
	if !ok {
		return false, nil
	}
	r := &jointRound{fetch: f, view: view, round: round, got: make([][]byte, len(round)), done: make(chan struct{})}
	j.mu.Lock()
	j.waiting = append(j.waiting, r)
	j.mu.Unlock()
	j.leave(ctx)
	<-r.done
	for i, q := range round {
		if q.End > q.Start && r.got[i] == nil {
			return false, nil
		}
	}
	return true, fill(round, r.got)
}

// leave notes that a stripe waits, or needs no more. If it was the last one that worked, what all wait for is read.
func (j *joint) leave(ctx context.Context) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.working--; j.working > 0 || len(j.waiting) == 0 {
		return
	}
	rounds := j.waiting
	j.waiting, j.working = nil, len(rounds)
	go func() {
		// What fails here, whatever it is, fails again for the stripes that it concerns.
		_ = parallel.Guarded(func() error { return readTogether(ctx, rounds) })
		for _, r := range rounds {
			close(r.done)
		}
	}()
}

// readTogether reads what some stripes wait for, as far as that succeeds.
func readTogether(ctx context.Context, rounds []*jointRound) error {
	first := rounds[0]
	if len(rounds) == 1 {
		return nil // by itself
	}
	var all []colstream.Request
	for _, r := range rounds {
		first.view.Follow(r.view)
		for i, q := range r.round {
			all = append(all, colstream.Request{URL: q.URL, Start: q.Start, End: q.End, Fill: func(b []byte) error {
				r.got[i] = b
				return nil
			}})
		}
	}
	var pieces [][]colstream.Request
	for _, g := range first.fetch.joinNear(all, false) {
		pieces = append(pieces, cutGroup(g)...)
	}
	err := first.view.EachUpTo(ctx, blobio.DefaultBucketConcurrency, len(pieces), func(ctx context.Context, st *blobio.Client, i int) error {
		got, err := st.ReadRanges(ctx, pieces[i][0].URL, bytesAt(pieces[i]))
		if err != nil {
			return nil //nolint:nilerr // the others are read all the same
		}
		return fill(pieces[i], got)
	})
	for _, r := range rounds[1:] {
		r.view.Follow(first.view)
	}
	return err
}

// jointStripes is the most stripes of one object that are made ready before their turn: their requests are so few that those in flight don't bound them.
const jointStripes = 4 * aheadStripes

// jointBytes is about how much one request of several stripes reads: many of them are under way at a time.
const jointBytes = 2 << 20

// cutGroup cuts a group of requests, in order, into parts of about jointBytes.
func cutGroup(g []colstream.Request) (parts [][]colstream.Request) {
	first := 0
	for i, q := range g {
		if i > first && q.End-g[first].Start > jointBytes {
			parts = append(parts, g[first:i])
			first = i
		}
	}
	return append(parts, g[first:])
}

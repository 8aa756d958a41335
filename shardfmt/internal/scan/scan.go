package scan

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Request is what to read.
type Request struct {
	// Root is the shard's metadata, Stripes what its directory states about them.
	Root    *meta.Root
	Stripes []Stripe
	// Project is what comes out; Needed what Filter needs, nil without one.
	Project, Needed *schema.Schema
	Filter          *filter.Bound
	// Marker is the field that marks deleted records, nil if there is none or it does not matter.
	Marker *schema.Node
	// Start and End are the records to read, by position in the shard.
	Start, End uint64
	// BatchRows is the most records of a batch, Workers how many batches, or columns of one, are decoded at the same time.
	BatchRows, Workers int
	// ReuseBatches: the memory of a batch is used again once yield has returned.
	ReuseBatches bool
	// Budget bounds memory and work.
	Budget *budget.Budget
	// RuledOut are stripes of which it is known that no row matches the filter, by their number; nil for none.
	RuledOut []bool
	// All: the caller will take all batches, and what they are made of may be fetched from the beginning on.
	All bool
	// Ahead bounds what is fetched before its turn; nil for the scan by itself. Turn, if not nil, is closed when the scan may begin to
	// decode, for whose first stripe bytes are fetched before.
	Ahead *Ahead
	Turn  <-chan struct{}
	// Place is that of the scan among those that share Ahead, in the order of their turns.
	Place int
	// Sift, if not nil, asks term filters which of some stripes may have rows that match, and gives those, in order. Its
	// requests are made through store.
	Sift func(ctx context.Context, store meta.Store, stripes []int) ([]int, error)
	// Candidates, if not nil, asks the indexes of a stripe. Its requests are made through store.
	Candidates func(ctx context.Context, store meta.Store, stripe int) (Candidates, error)
	// Words: the filter asks indexes for words only.
	Words bool
	// Covered, if not nil, reports whether one index answers the filter for all stripes at once.
	Covered func(ctx context.Context, store meta.Store) bool
}

// Candidates are what indexes leave of a stripe.
type Candidates struct {
	// Rows are those that the filter may be true for, by ascending ranges, if Known.
	Rows  []filter.Range
	Known bool
	// Unindexed: the filter requests terms that no index could answer.
	Unindexed bool
	// Gets and Bytes are what asking cost.
	Gets, Bytes int64
}

// Stripe is what the directory states about a stripe.
type Stripe struct {
	// Position of the first record in the shard; Records of the stripe, and how many of them are deleted.
	Position, Records, Deleted uint64
}

// Counts are what a scan left out, and what it found.
type Counts struct {
	StripesPruned int
	// StripesPrunedTerms are those that term filters ruled out.
	StripesPrunedTerms int
	// StripesIndexed are those whose rows indexes chose, StripesUnindexed those that were read for terms
	// without one.
	StripesIndexed, StripesUnindexed int
	// IndexGets and IndexBytes are what asking indexes cost.
	IndexGets, IndexBytes    int64
	BlocksRead, BlocksPruned int64
	RowsMatched              int64
	// EncodingsSkipped are encodings of fields that could not be read, where the field has another one.
	EncodingsSkipped int64
	// Contradictions are fields whose statistics contradict each other or their bits, as far as reading shows.
	Contradictions int64
	// Reached is the position in the shard behind the last record that was yielded, or 0.
	Reached uint64
}

// ErrStopped is the error of Run whose yield returned false.
var ErrStopped = errors.New("stopped")

// Run reads records in order and yields them as batches of the canonical types, until yield returns false. Counts
// are added to while it runs.
func Run(ctx context.Context, store Store, q *Request, counts *Counts, yield func(arrow.RecordBatch) bool) error {
	store, local, nearby, done := near(ctx, store, q)
	defer done()
	p, f := newPlan(q), &fetcher{store: store}
	p.nearby, p.local = nearby, local
	if !local {
		f.joins = min(roundJoins, q.Budget.Limit()/joinShare)
	}
	if p.ahead = q.Ahead; p.ahead == nil {
		p.ahead = NewAhead(q.Budget.Limit(), 1)
	}
	keep, err := p.stripes(ctx, counts)
	if err != nil {
		return err
	}
	if keep, err = p.sift(ctx, store, keep, counts); err != nil {
		return err
	}
	f.crowded = !local && max(len(keep), p.ahead.stripes) > blobio.DefaultBucketConcurrency
	if st, ok := store.(meta.Store); ok && !local && q.Covered != nil && len(keep) > 1 {
		p.covered = q.Covered(ctx, st)
	}
	if err := q.Root.LoadFields(ctx, keep, p.nodes); err != nil {
		return err
	}
	s := &scanner{plan: p, fetch: f, decode: newDecoder(q), counts: counts}
	return s.run(ctx, keep, yield)
}

// scanner goes through the stripes with its three collaborators: the plan reports what to read, the fetcher gets the
// bytes, the decoder makes arrays of them.
type scanner struct {
	plan   *plan
	fetch  *fetcher
	decode *decoder
	counts *Counts
	// restored is what audit found that readers restore.
	restored []error
}

// askTogether is how many stripes' indexes are read at the same time: few round trips for all, and not too much for who
// wants only a few rows.
const askTogether = 16

// askAll is askTogether for who wants all rows.
const askAll = 256

// run reads the stripes, so many at a time as their indexes are read together.
func (s *scanner) run(ctx context.Context, keep []int, yield func(arrow.RecordBatch) bool) error {
	together := askTogether
	if s.plan.q.All && !s.plan.local {
		together = askAll
	}
	for len(keep) > 0 {
		n := len(keep)
		if s.plan.q.Candidates != nil {
			n = min(n, together)
			if err := s.ask(ctx, keep[:n]); err != nil {
				return err
			}
		}
		if err := s.stripes(ctx, keep[:n], yield); err != nil {
			return err
		}
		keep = keep[n:]
	}
	return nil
}

// stripes reads stripe after stripe, and makes those behind the one that is read ready meanwhile: as many as Ahead has bytes for, and
// the next one in any case during the last window of the one before. That begins with the first stripe where the caller wants all,
// else not before the caller has requested a second batch, since many want only a few rows.
func (s *scanner) stripes(ctx context.Context, keep []int, yield func(arrow.RecordBatch) bool) error {
	if s.plan.nearby {
		return s.inTurn(ctx, keep, yield)
	}
	ctx, cancel := context.WithCancel(ctx)
	branch, join := s.fetch.branches()
	defer join()
	r := &readAhead{scanner: s, ctx: ctx, keep: keep, branch: branch, ready: make([]*prepared, len(keep)), all: s.plan.q.All}
	defer func() {
		cancel()
		r.close(0)
	}()
	if err := r.awaitTurn(); err != nil {
		return err
	}
	for k := range keep {
		p, err := r.take(k)
		if err != nil {
			return err
		}
		err = p.stripe.run(ctx, s.counts, func(b arrow.RecordBatch) bool {
			more := yield(b)
			if more {
				r.all = true
				r.start(k+1, len(p.stripe.left) == 0)
			}
			return more
		})
		if err != nil {
			return err
		}
		p.stripe.settle() // all batches were used, and more was requested
		p.close()
		r.ready[k] = nil
	}
	return nil
}

// readAhead makes stripes ready before their turn.
type readAhead struct {
	*scanner
	ctx    context.Context
	keep   []int
	branch func() *fetcher
	ready  []*prepared
	next   int  // the first one that was not begun
	all    bool // the caller wants more than a few rows
	alone  bool // there was no memory for stripes before their turn
	waits  bool // the scan's turn has not come
}

// awaitTurn makes the first stripe ready while other scans are read, and waits until it is this one's turn.
func (r *readAhead) awaitTurn() error {
	if r.plan.q.Turn == nil {
		return nil
	}
	for r.waits = true; r.waits; {
		var given <-chan struct{}
		if r.next == 0 {
			given = r.plan.ahead.given()
			r.start(0, false)
		}
		if r.next > 0 {
			given = nil
		}
		select {
		case <-r.plan.q.Turn:
			r.waits = false
		case <-given:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	return nil
}

// start begins with the stripes from the k-th on that there is space for, one in any case where must is set.
func (r *readAhead) start(k int, must bool) {
	if r.plan.local {
		if must && k < len(r.keep) && r.next == k {
			r.begin(k).fetchFirst(r.ctx, nil, false)
		}
		return
	}
	if !r.all || r.alone && !must {
		return
	}
	most := aheadStripes
	if r.next > 0 && r.besideNext(r.next-1) || r.next == 0 && r.besideNext(0) {
		if most = jointStripes; r.next > k && (r.next-k > most/2 || !r.plan.ahead.halfFree()) {
			return // many stripes are begun together, as their requests are made together
		}
	}
	begun := r.next
	defer func() { r.fetch(begun) }()
	for r.next < min(len(r.keep), k+most) && (!r.waits || r.next == 0) {
		p := r.opened(r.next)
		n := uint64(0)
		if p.stripe != nil && p.failed == nil {
			n = p.stripe.firstBytes()
		}
		if took := r.waits && r.plan.ahead.tryWaiting(n, r.plan.q.Place) || !r.waits && r.plan.ahead.try(n); !took {
			if !must || r.next != k {
				return
			}
			n = 0
		}
		p.taken = n
		r.next++
		if r.alone {
			return
		}
		if !r.besideNext(r.next - 1) {
			r.fetch(begun)
			begun = r.next
		}
	}
}

// besideNext reports whether what is read first of the k-th stripe lies in the same object as that of the next one.
func (r *readAhead) besideNext(k int) bool {
	if k+1 >= len(r.keep) {
		return false
	}
	object := r.opened(k).object
	return object != "" && object == r.opened(k+1).object
}

// fetch fetches what is read first of the stripes from the k-th on that are begun, which lie in one object.
func (r *readAhead) fetch(k int) {
	var j *joint
	if n := r.next - k; n > 1 {
		j = &joint{working: n}
	}
	for ; k < r.next; k++ {
		r.ready[k].fetchFirst(r.ctx, j, true)
	}
}

// opened is the k-th stripe, whose columns are opened.
func (r *readAhead) opened(k int) *prepared {
	if r.ready[k] == nil {
		return r.open(k)
	}
	return r.ready[k]
}

// open opens the columns of the k-th stripe.
func (r *readAhead) open(k int) *prepared {
	p := &prepared{scanner: r.scanner, ready: make(chan struct{})}
	p.stripe, p.failed = r.openGuarded(r.ctx, r.branch(), r.keep[k])
	if p.failed == nil {
		p.object = p.stripe.object(r.ctx)
	}
	r.ready[k] = p
	return p
}

// begin is open of the next stripe to begin with.
func (r *readAhead) begin(k int) *prepared {
	r.next = k + 1
	return r.opened(k)
}

// take gives the k-th stripe when it is ready. One that did not fit into the memory beside those behind it is made ready again
// without them.
func (r *readAhead) take(k int) (*prepared, error) {
	if r.next <= k && r.all && !r.plan.local && !r.alone {
		r.start(k, true)
	}
	if r.next > k {
		r.start(k+1, false)
		p := r.ready[k]
		<-p.ready
		p.give() // what is read is not counted
		if !errors.Is(p.failed, budget.ErrExceeded) {
			return p, p.failed
		}
		r.close(k)
		r.alone = true
	}
	p := r.begin(k)
	p.fetchNow(r.ctx)
	return p, p.failed
}

// close ends the work on the stripes from the k-th on, and gives their memory back.
func (r *readAhead) close(k int) {
	for i := k; i < len(r.ready); i++ {
		p := r.ready[i]
		if p == nil {
			continue
		}
		if i >= r.next {
			close(p.ready) // it was opened, and nothing was fetched
		}
		p.close()
		r.ready[i] = nil
	}
	r.next = min(r.next, k)
}

// inTurn is stripes where nothing is fetched before it is needed.
func (s *scanner) inTurn(ctx context.Context, keep []int, yield func(arrow.RecordBatch) bool) error {
	branch, join := s.fetch.branches() // what a stripe requests does not follow from another's
	defer join()
	for _, i := range keep {
		if err := s.stripe(ctx, branch(), i, yield); err != nil {
			return err
		}
	}
	return nil
}

// stripe reads a stripe, whose requests f makes.
func (s *scanner) stripe(ctx context.Context, f *fetcher, i int, yield func(arrow.RecordBatch) bool) error {
	p := &prepared{scanner: s, ready: make(chan struct{})}
	p.stripe, p.failed = s.openGuarded(ctx, f, i)
	defer p.close()
	if p.fetchNow(ctx); p.failed != nil {
		return p.failed
	}
	if err := p.stripe.run(ctx, s.counts, yield); err != nil {
		return err
	}
	p.stripe.settle() // all batches were used, and more was requested
	return nil
}

// openGuarded is open whose panic is an error. A stripe that is not nil is to be closed, also with an error.
func (s *scanner) openGuarded(ctx context.Context, f *fetcher, i int) (st *stripe, err error) {
	err = parallel.Guarded(func() (err error) {
		st, err = s.open(ctx, f, i)
		return err
	})
	return st, err
}

// prepared is a stripe that is made ready, perhaps in the background.
type prepared struct {
	*scanner
	ready  chan struct{} // closed when nothing is done for it in the background
	stripe *stripe
	failed error
	taken  uint64 // of Ahead
	object string // see stripe.object; "" after an error
}

// fetchNow fetches what is read first.
func (p *prepared) fetchNow(ctx context.Context) {
	defer close(p.ready)
	if p.failed == nil {
		p.failed = parallel.Guarded(func() error { return p.stripe.prepare(ctx) })
	}
}

// fetchFirst fetches what is read first in the background, with the requests of the stripes of j if it isn't nil, and with evaluate set finds the rows
// of the first window that the filter selects, and fetches their columns.
func (p *prepared) fetchFirst(ctx context.Context, j *joint, evaluate bool) {
	go func() {
		defer close(p.ready)
		if p.failed == nil {
			p.failed = parallel.Guarded(func() error { return p.prepareWith(ctx, j) })
		} else if j != nil {
			j.leave(ctx)
		}
		if p.failed != nil || !evaluate {
			return
		}
		p.failed = parallel.Guarded(func() error {
			return p.stripe.evaluate(ctx, func(n uint64) bool {
				if !p.plan.ahead.try(n) {
					return false
				}
				p.taken += n
				return true
			})
		})
	}()
}

// prepareWith is prepare of the stripe by requests that are made together with those of j.
func (p *prepared) prepareWith(ctx context.Context, j *joint) error {
	if j != nil {
		p.stripe.fetch.joint = j
		defer func() {
			p.stripe.fetch.joint = nil
			j.leave(ctx)
		}()
	}
	if err := p.stripe.prepare(ctx); err != nil {
		return err
	}
	p.settleFor()
	return nil
}

// give returns what was taken of Ahead.
func (p *prepared) give() {
	p.plan.ahead.give(p.taken)
	p.taken = 0
}

// settleFor gives back what was taken for bytes that turned out not to be needed.
func (p *prepared) settleFor() {
	if held := p.stripe.fetch.held; held < p.taken {
		p.plan.ahead.give(p.taken - held)
		p.taken = held
	}
}

// close waits until nothing is done for the stripe any more, and gives its memory back. A nil one has none.
func (p *prepared) close() {
	if p == nil {
		return
	}
	<-p.ready
	p.give()
	if p.stripe != nil {
		p.stripe.close()
	}
}

package scan

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/budget"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Request says what to read.
type Request struct {
	// Root is the shard's metadata, Stripes what its directory says of them.
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
	// Sift, if not nil, asks term filters which of some stripes may have rows that match, and gives those, in order. Its
	// requests are made through store.
	Sift func(ctx context.Context, store meta.Store, stripes []int) ([]int, error)
	// Candidates, if not nil, asks the indexes of a stripe. Its requests are made through store.
	Candidates func(ctx context.Context, store meta.Store, stripe int) (Candidates, error)
}

// Candidates are what indexes leave of a stripe.
type Candidates struct {
	// Rows are those that the filter may be true for, by ascending ranges, if Known.
	Rows  []filter.Range
	Known bool
	// Unindexed: the filter asks for terms that no index could tell of.
	Unindexed bool
	// Gets and Bytes are what asking cost.
	Gets, Bytes int64
}

// Stripe is what the directory says of a stripe.
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
}

// ErrStopped is the error of Run whose yield returned false.
var ErrStopped = errors.New("stopped")

// Run reads records in order and yields them as batches of the canonical types, until yield returns false. Counts
// are added to while it runs.
func Run(ctx context.Context, store Store, q *Request, counts *Counts, yield func(arrow.RecordBatch) bool) error {
	store, nearby, done := near(ctx, store, q)
	defer done()
	p, f := newPlan(q), &fetcher{store: store}
	p.nearby = nearby
	keep, err := p.stripes(ctx, counts)
	if err != nil {
		return err
	}
	if keep, err = p.sift(ctx, store, keep, counts); err != nil {
		return err
	}
	if err := q.Root.LoadFields(ctx, keep, p.nodes); err != nil {
		return err
	}
	s := &scanner{plan: p, fetch: f, decode: newDecoder(q), counts: counts}
	return s.run(ctx, keep, yield)
}

// scanner goes through the stripes with its three collaborators: the plan says what to read, the fetcher gets the
// bytes, the decoder makes arrays of them.
type scanner struct {
	plan   *plan
	fetch  *fetcher
	decode *decoder
	counts *Counts
	// restored is what audit found that readers restore.
	restored []error
}

// askTogether is how many stripes' indexes are asked at the same time: few round trips for all, and not too much for who
// wants only a few rows.
const askTogether = 16

// run reads the stripes, so many at a time as their indexes are asked together.
func (s *scanner) run(ctx context.Context, keep []int, yield func(arrow.RecordBatch) bool) error {
	for len(keep) > 0 {
		n := len(keep)
		if s.plan.q.Candidates != nil {
			n = min(n, askTogether)
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

// stripes reads stripe after stripe. While the batches of one's last window are used, the first bytes of the next are fetched:
// not before the caller has asked for a second batch, since many want only a few rows.
func (s *scanner) stripes(ctx context.Context, keep []int, yield func(arrow.RecordBatch) bool) error {
	if s.plan.nearby {
		return s.inTurn(ctx, keep, yield)
	}
	ctx, cancel := context.WithCancel(ctx)
	branch, join := s.fetch.branches()
	defer join()
	ahead := make([]*prepared, len(keep)+1)
	start := func(k int, now bool) {
		if k < len(keep) && ahead[k] == nil {
			ahead[k] = s.prepare(ctx, branch(), keep[k], now)
		}
	}
	defer func() {
		cancel()
		for _, p := range ahead {
			p.close()
		}
	}()
	for k := range keep {
		start(k, true) // there is nothing to do in the meantime
		p := ahead[k]
		if err := p.wait(); err != nil {
			return err
		}
		err := p.run(s.counts, func(b arrow.RecordBatch) bool {
			more := yield(b)
			if more && len(p.stripe.left) == 0 {
				start(k+1, false)
			}
			return more
		})
		if err != nil {
			return err
		}
		p.stripe.settle() // all batches were used, and more was asked for
		p.close()
		ahead[k] = nil
	}
	return nil
}

// inTurn is stripes where nothing is fetched before it is needed.
func (s *scanner) inTurn(ctx context.Context, keep []int, yield func(arrow.RecordBatch) bool) error {
	branch, join := s.fetch.branches() // what a stripe asks for does not follow from another's
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
	st, err := s.openGuarded(ctx, f, i)
	if st != nil {
		defer st.close()
	}
	if err != nil {
		return err
	}
	if err := st.run(ctx, s.counts, yield); err != nil {
		return err
	}
	st.settle() // all batches were used, and more was asked for
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
	ready  chan struct{} // closed when stripe and failed are set
	stripe *stripe
	failed error
	// run reads the stripe, with the context it was prepared with.
	run func(*Counts, func(arrow.RecordBatch) bool) error
}

// prepare makes a stripe ready, whose requests f makes: now, or in the background.
func (s *scanner) prepare(ctx context.Context, f *fetcher, i int, now bool) *prepared {
	p := &prepared{ready: make(chan struct{})}
	p.run = func(counts *Counts, yield func(arrow.RecordBatch) bool) error {
		return p.stripe.run(ctx, counts, yield)
	}
	open := func() {
		defer close(p.ready)
		p.stripe, p.failed = s.openGuarded(ctx, f, i)
	}
	if now {
		open()
	} else {
		go open()
	}
	return p
}

// close waits until nothing is done for the stripe any more, and gives its memory back. A nil one has none.
func (p *prepared) close() {
	if p == nil {
		return
	}
	<-p.ready
	if p.stripe != nil {
		p.stripe.close()
	}
}

// wait waits until the stripe is ready.
func (p *prepared) wait() error {
	<-p.ready
	return p.failed
}

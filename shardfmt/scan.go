package shardfmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ScanOptions of Scan. The zero value reads everything.
type ScanOptions struct {
	// Columns are the fields to read, as dotted paths; nil means all but the internal ones.
	Columns []string
	// Internal includes the internal fields where Columns is nil.
	Internal bool
	// Filter leaves out the records for which it is not true; it must be bound to the shard's schema.
	Filter *filter.Bound
	// Start and End are the records to read, by position in the shard; both 0 means all.
	Start, End uint64
	// BatchRows is the most records of a batch, DefaultBatchRows if 0. Large values make smaller batches; so does one worker that reads
	// files without a filter, down to 16,384 records, to stay in its processor's caches.
	BatchRows int
	// IncludeDeleted also reads records that are marked deleted.
	IncludeDeleted bool
	// IgnoreIndexes reads as if no stripe had an index.
	IgnoreIndexes bool
	// RuledOut are stripes that the caller knows to have no record that matches, by their number; nil asks the shard's own term
	// filters, if it has several stripes.
	RuledOut []bool
	// Workers is how many batches, or columns of one, are decoded at the same time, the number of processors if 0.
	Workers int
	// ReuseBatches lets the memory of a batch's values be used again for the next ones: it is valid only until the next batch is
	// requested, whatever references there are to it, and who wants to keep values copies them.
	ReuseBatches bool
	// MaxMemory is the most bytes of memory that the scan may take, DefaultMaxMemory if 0; batches shrink to fit.
	// Its work is bounded too: by MaxMemory, what is fetched and what comes out (see package shardfmt/internal/budget). A
	// scan that would exceed the one or the other ends in ErrBudget. Budget, if not nil, is used instead, so that
	// several scans have one.
	MaxMemory int64
	Budget    *Budget
	// All means that the caller will take all batches: stripes are fetched ahead from the first one on, not only when a second batch
	// is requested.
	All bool
	// Ahead, if not nil, is what several scans fetch ahead together; without it each scan of a remote store fetches up to 64 MiB ahead,
	// or a sixteenth of its memory. Turn, if not nil, is closed when the scan may begin to decode; before that it fetches only what
	// it begins with.
	Ahead *ReadAhead
	Turn  <-chan struct{}
	// Place is that of the scan among those that share Ahead, in the order of their turns.
	Place int
	// Stats, if not nil, is added to when the scan has ended.
	Stats *ScanStats
}

// ScanStats counts what a scan left out, and what it found.
type ScanStats struct {
	// StripesPruned are stripes in the range of records that statistics or Bloom filters ruled out, all of
	// them if it was the shard's statistics.
	StripesPruned int
	// StripesPrunedTerms are those that term filters ruled out.
	StripesPrunedTerms int
	// BlocksRead and BlocksPruned are blocks of 256 records of the other stripes: those that were read, and those
	// that indexes, the range of records or a column read before ruled out.
	BlocksRead, BlocksPruned int64
	// StripesIndexed are stripes whose rows indexes chose; StripesUnindexed are those that were read for HAS
	// or HASPREFIX without an index that could tell.
	StripesIndexed, StripesUnindexed int
	// IndexGets and IndexBytes are what asking indexes cost, of stores that are a *blobio.Client.
	IndexGets, IndexBytes int64
	// RowsMatched are the records that came out.
	RowsMatched int64
	// EncodingsSkipped are encodings that were passed over because they are unknown or damaged, where a field has an
	// alternative, which was read instead; one for each column and stripe.
	EncodingsSkipped int64
	// Contradictions are fields whose counts of nulls, constants and bounds contradict each other or the bits of presence, as far as
	// reading shows: what is intact was read; one for each column and stripe. Shard verification names them.
	Contradictions int64
}

// DefaultBatchRows is that of the largest usual blocks and a multiple of the others, so that blocks are decoded in place, and
// each by one worker.
const DefaultBatchRows = 64 << 10

// DefaultMaxMemory is the memory limit of a scan, in bytes.
const DefaultMaxMemory = budget.Default

// ErrBudget is a scan that would take more memory or work than it may. It is also a corrupt.ErrUnsupported.
var ErrBudget = budget.ErrExceeded

// Budget bounds what several scans together may take. Safe for concurrent use.
type Budget struct{ b *budget.Budget }

// NewBudget makes a budget of so many bytes of memory, DefaultMaxMemory if 0.
func NewBudget(maxMemory int64) *Budget { return &Budget{budget.New(maxMemory)} }

// ReadAhead bounds the bytes that several scans fetch ahead. Safe for concurrent use.
type ReadAhead struct{ a *scan.Ahead }

// NewReadAhead makes a ReadAhead of up to 64 MiB, or a sixteenth of what scans may take, for scans of so many stripes: of
// many, requests are joined over larger gaps.
func NewReadAhead(b *Budget, stripes int) *ReadAhead {
	return &ReadAhead{scan.NewAhead(b.b.Limit(), stripes)}
}

// SetTurn notes that the turn of the scan at a place has come; turns come in the order of places.
func (r *ReadAhead) SetTurn(place int) { r.a.SetTurn(place) }

// Scan reads records in order, as batches of the canonical types. It stops at the first error, which it yields.
//
// A batch is the caller's, with one reference, and may be kept as long as one likes, unless ReuseBatches states otherwise. It needs no
// Release: one that is never released is garbage when nobody sees it any more. But a loop that releases each batch when it is
// done with it takes a third to a half less time, for the memory is used again: once the last reference to an array of the batch is
// released, its values must not be looked at any more, nor must strings and slices that were taken out of it without a copy.
func (s *Shard) Scan(ctx context.Context, o ScanOptions) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		defer keepOpen(s.store)() // also for what is read of the root
		var counts scan.Counts    // of both attempts, if there are two
		deliver := func(b arrow.RecordBatch) bool { return yield(b, nil) }
		err := s.run(ctx, o, &counts, deliver)
		if again := pastCaches(ctx, s.store, s.URL(), err); again != nil {
			rest := o
			if counts.Reached > 0 {
				rest.Start, rest.End = counts.Reached, cmp.Or(o.End, s.Records())
			}
			err = s.run(again, rest, &counts, deliver)
		}
		if o.Stats != nil {
			o.Stats.add(&counts)
		}
		if err != nil && !errors.Is(err, scan.ErrStopped) {
			yield(nil, err)
		}
	}
}

// run is one attempt of a scan: it delivers batches and adds to counts.
func (s *Shard) run(ctx context.Context, o ScanOptions, counts *scan.Counts, deliver func(arrow.RecordBatch) bool) error {
	q, err := s.request(ctx, &o)
	if err != nil {
		return err
	}
	return scan.Run(ctx, s.store, q, counts, deliver)
}

func (s *ScanStats) add(c *scan.Counts) {
	s.StripesPruned += c.StripesPruned
	s.StripesPrunedTerms += c.StripesPrunedTerms
	s.BlocksRead += c.BlocksRead
	s.BlocksPruned += c.BlocksPruned
	s.RowsMatched += c.RowsMatched
	s.EncodingsSkipped += c.EncodingsSkipped
	s.Contradictions += c.Contradictions
	s.StripesIndexed += c.StripesIndexed
	s.StripesUnindexed += c.StripesUnindexed
	s.IndexGets += c.IndexGets
	s.IndexBytes += c.IndexBytes
}

// smallScan is up to how many bytes of values one worker reads a shard in less time than it takes to wake another.
const smallScan = 1 << 20

// workers is how many read the shard if nobody states.
func (s *Shard) workers() int {
	sum := int64(0)
	for _, st := range s.stripes {
		if st.RawSize < 0 {
			return runtime.GOMAXPROCS(0)
		}
		if sum += min(st.RawSize, smallScan); sum >= smallScan {
			return runtime.GOMAXPROCS(0)
		}
	}
	return 1
}

// request puts options into the terms of the shard: names become nodes, defaults are filled in.
func (s *Shard) request(ctx context.Context, o *ScanOptions) (*scan.Request, error) {
	q := &scan.Request{
		Root: s.root, Stripes: make([]scan.Stripe, len(s.stripes)), Filter: o.Filter,
		Start: o.Start, End: o.End, BatchRows: o.BatchRows, Workers: o.Workers,
		ReuseBatches: o.ReuseBatches, All: o.All, Turn: o.Turn, Place: o.Place,
	}
	if o.Ahead != nil {
		q.Ahead = o.Ahead.a
	}
	for i, st := range s.stripes {
		q.Stripes[i] = scan.Stripe{Position: st.Position, Records: st.Records, Deleted: st.Deleted}
	}
	if o.Budget != nil {
		q.Budget = o.Budget.b
	} else {
		q.Budget = budget.New(o.MaxMemory)
	}
	if q.BatchRows <= 0 {
		q.BatchRows = DefaultBatchRows
	}
	if q.Workers <= 0 {
		q.Workers = s.workers()
	}
	if q.End == 0 {
		q.End = s.Records()
	}
	if q.Start > q.End || q.End > s.Records() {
		return nil, fmt.Errorf("records [%d, %d) of %d", q.Start, q.End, s.Records())
	}
	var err error
	if q.Project, err = s.Project(ctx, o.Columns, o.Internal); err != nil {
		return nil, err
	}
	q.RuledOut = o.RuledOut
	if !o.IgnoreIndexes {
		if a := s.asks(o.Filter); a != nil {
			q.Candidates, q.Covered, q.Words = a.candidates, a.covered, a.words
			if q.RuledOut == nil {
				q.Sift = a.sift
			}
		}
	}
	if o.Filter != nil {
		paths := []string{}
		for _, p := range o.Filter.Paths() {
			paths = append(paths, schema.JoinPath(p...))
		}
		if q.Needed, err = s.Project(ctx, paths, false); err != nil {
			return nil, err
		}
	}
	if !o.IncludeDeleted {
		q.Marker, err = s.marker(ctx)
	}
	return q, err
}

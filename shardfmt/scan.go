package shardfmt

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
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
	// BatchRows is the most records of a batch, DefaultBatchRows if 0. Large values make smaller batches.
	BatchRows int
	// IncludeDeleted also reads records that are marked deleted.
	IncludeDeleted bool
	// Workers is how many columns are decoded at the same time, the number of processors if 0.
	Workers int
	// Stats, if not nil, is added to while the scan runs; look at it when it has ended.
	Stats *ScanStats
}

// ScanStats counts what a scan left out, and what it found.
type ScanStats struct {
	// StripesPruned are stripes in the range of records that statistics or Bloom filters ruled out, all of
	// them if it was the shard's statistics.
	StripesPruned int
	// BlocksRead and BlocksPruned are blocks of buffer.RangeIndexBlock records of the other stripes: those
	// that were read, and those that range indexes, the range of records or a column read before ruled out.
	BlocksRead, BlocksPruned int64
	// RowsMatched are the records that came out.
	RowsMatched int64
}

const (
	// DefaultBatchRows is a multiple of the usual block sizes, so that most blocks are decoded in place.
	DefaultBatchRows = 32 << 10
	// batchBytes is about the most bytes that a batch's values should take.
	batchBytes = 64 << 20
	// fetchBytes is about how many encoded bytes are held for a scan.
	fetchBytes = 64 << 20
)

// Scan reads records in order, as batches of the canonical types. It stops at the first error, which it yields.
// A batch needs no Release.
func (s *Shard) Scan(ctx context.Context, o ScanOptions) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		sc, err := s.newScan(ctx, &o)
		if err != nil {
			yield(nil, err)
			return
		}
		if err := sc.run(yield); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

// errStopped ends a scan whose caller wants no more.
var errStopped = errors.New("stopped")

// scan is one scan at work.
type scan struct {
	*Shard
	ctx context.Context
	o   *ScanOptions

	project *schema.Schema // what comes out
	needed  *schema.Schema // what the filter needs
	types   *arrow.Schema
	marker  *schema.Node // the deleted marker, nil if there is none or it does not matter
}

func (s *Shard) newScan(ctx context.Context, o *ScanOptions) (*scan, error) {
	if o.Stats == nil {
		o.Stats = new(ScanStats)
	}
	if o.BatchRows <= 0 {
		o.BatchRows = DefaultBatchRows
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.End == 0 {
		o.End = s.Records()
	}
	if o.Start > o.End || o.End > s.Records() {
		return nil, fmt.Errorf("records [%d, %d) of %d", o.Start, o.End, s.Records())
	}
	sc := &scan{Shard: s, ctx: ctx, o: o}
	var err error
	if sc.project, err = s.Project(ctx, o.Columns, o.Internal); err != nil {
		return nil, err
	}
	sc.types = arrowtype.Schema(sc.project)
	if o.Filter != nil {
		paths := []string{}
		for _, p := range o.Filter.Paths() {
			paths = append(paths, schema.JoinPath(p...))
		}
		if sc.needed, err = s.Project(ctx, paths, false); err != nil {
			return nil, err
		}
	}
	if s.Deleted() > 0 && !o.IncludeDeleted {
		if err := sc.findMarker(); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

// findMarker finds the internal field that marks deleted records.
func (sc *scan) findMarker() error {
	all, err := sc.root.Schema(sc.ctx)
	if err != nil {
		return err
	}
	for _, f := range all.Fields {
		if f.Internal == schema.InternalDeletedRecord && f.Basic == schema.Boolean {
			sc.marker = f
			return nil
		}
	}
	return nil
}

// run reads stripe after stripe. While the batches of one are used, the first bytes of the next are fetched: not
// before the caller has asked for a second batch, since many want only a few rows.
func (sc *scan) run(yield func(arrow.RecordBatch, error) bool) error {
	keep, err := sc.keepStripes()
	if err != nil {
		return err
	}
	if err := sc.root.LoadFields(sc.ctx, keep, sc.numbers()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(sc.ctx)
	defer cancel()
	fork := sc.sp.Fork()
	defer fork.Join()
	ahead := make([]*stripeScan, len(keep)+1)
	start := func(k int) {
		if k < len(keep) && ahead[k] == nil {
			ahead[k] = sc.startStripe(ctx, fork.Branch(), keep[k])
		}
	}
	defer func() {
		cancel()
		for _, s := range ahead {
			s.wait()
		}
	}()
	for k := range keep {
		start(k)
		s := ahead[k]
		if err := s.wait(); err != nil {
			return err
		}
		err := s.run(func(b arrow.RecordBatch, err error) bool {
			more := yield(b, err)
			if more {
				start(k + 1)
			}
			return more
		})
		if err != nil {
			return err
		}
		ahead[k] = nil
	}
	return nil
}

// numbers are those of all nodes that are read.
func (sc *scan) numbers() []uint32 {
	var ids []uint32
	add := func(_ string, n *schema.Node) bool { ids = append(ids, n.ID); return true }
	sc.project.Walk(add)
	if sc.needed != nil {
		sc.needed.Walk(add)
	}
	if sc.marker != nil {
		ids = append(ids, sc.marker.ID)
	}
	return ids
}

// keepStripes gives the stripes in the range of records that statistics do not rule out.
func (sc *scan) keepStripes() ([]int, error) {
	var in []int
	for i, st := range sc.stripes {
		if st.Records > 0 && st.Position < sc.o.End && st.Position+st.Records > sc.o.Start {
			in = append(in, i)
		}
	}
	if sc.o.Filter == nil {
		return in, nil
	}
	if may, err := sc.mayMatch(-1); err != nil || !may {
		sc.o.Stats.StripesPruned += len(in)
		return nil, err
	}
	if err := sc.root.LoadFields(sc.ctx, in, sc.o.Filter.Nodes()); err != nil {
		return nil, err
	}
	var keep []int
	for _, i := range in {
		may, err := sc.mayMatch(i)
		if err != nil {
			return nil, err
		}
		if may {
			keep = append(keep, i)
		} else {
			sc.o.Stats.StripesPruned++
		}
	}
	return keep, nil
}

// batch makes a record batch of columns of n rows.
func (sc *scan) batch(columns []arrow.ArrayData, n int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(columns))
	for i, d := range columns {
		arrays[i] = array.MakeFromData(d)
	}
	return array.NewRecordBatch(sc.types, arrays, int64(n))
}

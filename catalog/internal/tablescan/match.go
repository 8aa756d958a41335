package tablescan

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Match is a live shard with rows that a filter selects.
type Match struct {
	Path string
	// Entry of a shard that was looked into, or might have been; nil where only whole shards go.
	Entry *manifest.Entry
	// Rows that are selected and live.
	Rows int64
	// Whole: those are all live rows of the shard.
	Whole bool
	// Opened: the shard's entry did not tell.
	Opened bool
	// Stripes are the deleted records of the stripes with selected rows, those deleted before included; see
	// merge.Deletion.
	Stripes map[int][]byte
}

// Add adds the rows that were found in a stripe to those that were found there before.
func (m *Match) Add(stripe int, deleted []byte, n int64) {
	m.Rows += n
	for i, b := range m.Stripes[stripe] {
		deleted[i] |= b
	}
	m.Stripes[stripe] = deleted
}

// Matches finds the shards with rows that the plan's filter selects.
func Matches(ctx context.Context, p *Plan, progress func(done, total int)) ([]Match, error) {
	found := make([]Match, len(p.Shards))
	var mu sync.Mutex
	done := 0
	err := p.state.Client.EachUpTo(ctx, ShardsAtOnce, len(p.Shards), func(ctx context.Context, branch *blobio.Client, i int) error {
		e := p.Shards[i]
		var m *Match
		err := parallel.Guarded(func() (err error) { // so that a panic names the shard
			m, err = p.matchShard(ctx, branch, e)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
		found[i] = *m
		mu.Lock()
		defer mu.Unlock()
		if done++; progress != nil {
			progress(done, len(found))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(m Match) bool { return m.Rows == 0 && !m.Whole }), nil
}

// matchShard decides on one shard: by its entry, where that is proof, else by its records.
func (p *Plan) matchShard(ctx context.Context, client *blobio.Client, e *manifest.Entry) (*Match, error) {
	m := &Match{Path: e.Path, Entry: e}
	if p.bound.MustMatch(func(id uint32) *filter.Stats { return p.state.Schema.Stats(e, id) }) {
		m.Whole, m.Rows = true, e.Records
		return m, nil
	}
	if !e.IsShard() {
		return nil, corrupt.Unsupported(-1, "rows of an entry of format %q can't be deleted one by one", e.Format)
	}
	m.Opened = true
	shard, err := p.state.Open(ctx, client, e)
	if err != nil {
		return nil, err
	}
	defer shard.Close()
	s, err := NewSearch(ctx, p, shard, nil)
	if err != nil {
		return nil, err
	}
	m.Stripes = map[int][]byte{}
	for i := range shard.Stripes() {
		deleted, n, err := s.Stripe(ctx, i)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			m.Add(i, deleted, n)
		}
	}
	if live := int64(shard.Records() - shard.Deleted()); live != e.Records {
		return nil, corrupt.At(-1, "the shard has %d live records, its entry says %d", live, e.Records)
	}
	m.Whole = m.Rows == e.Records
	return m, nil
}

// Marks sets the bits of the selected rows of a batch whose first row lies at a place of the stripe.
type Marks func(b arrow.RecordBatch, at int, bitmap []byte) error

// Search looks for the selected records of one shard, stripe by stripe.
type Search struct {
	plan  *Plan
	shard *shardfmt.Shard
	// pushed is the filter in the shard's own terms, with which a scan can prune; nil where they differ.
	pushed *filter.Bound
	// columns of the shard that the filter needs, and how they become those of the table.
	columns []string
	project projection.Projection
	marks   Marks
	// superset: the filter selects these rows and maybe others.
	superset bool
}

// NewSearch looks for the records of a shard that the plan's filter selects. With marks it is those among them that
// marks selects.
func NewSearch(ctx context.Context, p *Plan, shard *shardfmt.Shard, marks Marks) (*Search, error) {
	own, ids, err := p.fieldsOf(ctx, shard)
	if err != nil {
		return nil, err
	}
	target, names := projection.Prune(p.state.Schema.Shard, p.filterNodes()), shardPaths(own, ids)
	q := &shardQuery{needed: target, project: projection.Projection{Target: target, IDs: p.state.Schema.IDs, Shard: own, ShardIDs: ids}}
	s := &Search{plan: p, shard: shard, pushed: p.pushDown(own, ids, names), columns: q.paths(p.state.Schema.Shard, names), project: q.project, marks: marks, superset: marks != nil}
	if marks == nil {
		s.marks = p.marks
	}
	return s, nil
}

// marks sets the bits of the rows of a batch that the filter selects.
func (p *Plan) marks(b arrow.RecordBatch, at int, bitmap []byte) error {
	selected, _, err := p.bound.Select(b)
	if err != nil {
		return err
	}
	for i := range int(b.NumRows()) {
		if selected[i/8]>>(i%8)&1 == 1 {
			bitmap[(at+i)/8] |= 1 << ((at + i) % 8)
		}
	}
	return nil
}

// Stripe finds the selected records of a stripe: n of them are live, deleted marks them and those that were
// deleted before.
func (s *Search) Stripe(ctx context.Context, i int) (deleted []byte, n int64, err error) {
	st := s.shard.Stripes()[i]
	live := st.Records - st.Deleted
	if live == 0 {
		return nil, 0, nil
	}
	want := int64(-1)
	if s.pushed != nil {
		if want, err = s.countLive(ctx, st); err != nil || want == 0 {
			return nil, 0, err
		}
		if s.superset {
			want = -1
		}
	}
	if deleted, err = s.shard.DeletedRecords(ctx, i); err != nil {
		return nil, 0, err
	}
	if want == int64(live) {
		return allBits(st.Records), want, nil
	}
	before := count(deleted)
	if before != int64(st.Deleted) {
		return nil, 0, corrupt.At(-1, "stripe %d marks %d records as deleted, its directory says %d", i, before, st.Deleted)
	}
	if err := s.Mark(ctx, st, deleted); err != nil {
		return nil, 0, err
	}
	if n = count(deleted) - before; want >= 0 && n != want {
		return nil, 0, corrupt.At(-1, "stripe %d: a scan selects %d records, its values %d", i, want, n)
	}
	return deleted, n, nil
}

// readTogether is up to how many records that nobody requested are read between two that are looked at: a block of them.
const readTogether = 256

// Records is Stripe where no others than some records, whose places ascend, can be selected.
func (s *Search) Records(ctx context.Context, i int, rows []uint32) (deleted []byte, n int64, err error) {
	st := s.shard.Stripes()[i]
	if st.Records == st.Deleted {
		return nil, 0, nil
	}
	if last := rows[len(rows)-1]; uint64(last) >= st.Records {
		return nil, 0, corrupt.At(-1, "a key index refers to record %d of stripe %d, which has %d records", last, i, st.Records)
	}
	if deleted, err = s.shard.DeletedRecords(ctx, i); err != nil {
		return nil, 0, err
	}
	before := count(deleted)
	rows = slices.DeleteFunc(slices.Clone(rows), func(at uint32) bool { return deleted[at/8]>>(at%8)&1 == 1 })
	for len(rows) > 0 {
		to := 1
		for to < len(rows) && rows[to]-rows[to-1] <= readTogether {
			to++
		}
		if err := s.markWithin(ctx, st, uint64(rows[0]), uint64(rows[to-1])+1, deleted); err != nil {
			return nil, 0, err
		}
		rows = rows[to:]
	}
	return deleted, count(deleted) - before, nil
}

// countLive counts the selected live records of a stripe by a scan, with all its pruning; it stops at the first ones where the filter reports
// no more than that there may be some.
func (s *Search) countLive(ctx context.Context, st shardfmt.StripeInfo) (n int64, err error) {
	o := shardfmt.ScanOptions{Columns: []string{}, Filter: s.pushed, Start: st.Position, End: st.Position + st.Records,
		MaxMemory: s.plan.state.MaxMemory}
	for b, err := range s.shard.Scan(ctx, o) {
		if err != nil {
			return 0, err
		}
		if n += b.NumRows(); n > 0 && s.superset {
			break
		}
	}
	return n, nil
}

// Mark sets the bits of all selected records of a stripe.
func (s *Search) Mark(ctx context.Context, st shardfmt.StripeInfo, bitmap []byte) error {
	return s.markWithin(ctx, st, 0, st.Records, bitmap)
}

// markWithin is Mark for the records from one to before another.
func (s *Search) markWithin(ctx context.Context, st shardfmt.StripeInfo, from, to uint64, bitmap []byte) error {
	types := arrowtype.Schema(&schema.Schema{Fields: s.project.Target})
	at := int(from)
	o := shardfmt.ScanOptions{Columns: s.columns, IncludeDeleted: true, Start: st.Position + from, End: st.Position + to,
		MaxMemory: s.plan.state.MaxMemory}
	for b, err := range s.shard.Scan(ctx, o) {
		if err != nil {
			return err
		}
		rows := int(b.NumRows())
		if b, err = s.project.Apply(b, types); err != nil {
			return err
		}
		if err := s.marks(b, at, bitmap); err != nil {
			return err
		}
		at += rows
	}
	if at != int(to) {
		return corrupt.At(-1, "%d records of a stripe from %d: read %d", to-from, from, at-int(from))
	}
	return nil
}

// allBits is a bitmap of n set bits.
func allBits(n uint64) []byte {
	b := make([]byte, bitutil.BytesForBits(int64(n)))
	bitutil.SetBitsTo(b, 0, int64(n), true)
	return b
}

func count(bitmap []byte) int64 { return int64(bitutil.CountSetBits(bitmap, 0, 8*len(bitmap))) }

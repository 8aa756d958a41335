package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// stripe is the work on one stripe.
type stripe struct {
	plan   *plan
	fetch  *fetcher
	decode *decoder
	mem    *budget.Account

	index int
	of    Stripe
	rows  colstream.Range   // to be read, of the range of records
	next  []colstream.Range // of them, those not ruled out of the window that is read next,
	left  []colstream.Range // and those behind it
	// chosen are the rows that indexes leave, nil if none could tell: the filter is true for no other.
	chosen *[]ranges.Range
	// candidateRows are those rows with the rest of their blocks; 0 if no index named any.
	candidateRows uint64
	// early are the range indexes that were fetched while the indexes were read, nil if none were.
	early *[]indexed

	filter    []column.Column        // of plan.Needed, and of the marker behind them
	output    []column.Column        // of plan.Project
	shared    map[column.Column]bool // that are in both
	batch     int                    // rows of a batch, now
	usual     int                    // rows of a batch of average size
	blockRows uint64                 // rows of an average block of the widest column
	listed    []match                // of inBatches, to be used again
	data      []arrow.ArrayData      // of the current batch, to be used again,
	arrays    []arrow.Array          // and the arrays made of it
	picked    chosen                 // what is read for it, to be used again
	only      int                    // of the encodings of each column, see column.Choice
	restored  func(error)            // see column.Choice
	fetches   uint64                 // encoded bytes of a window, fetchBytes if 0
	selector  *selector              // of find, nil before it
	found     []match                // of the first window, if it was evaluated before its turn
	evaluated bool
	counts    Counts
	meta      *described // of the stripe, nil before described
	// lanes decode batches side by side; alone means that there can be none.
	lanes []*stripe
	alone bool
}

const (
	// fetchBytes is about how many encoded bytes a window has. There are two at most: the current one and, during the last one
	// of a stripe, the first of the next stripe. With batchBytes a scan holds 128 MiB, whatever the shard.
	fetchBytes = 32 << 20
	// nearBytes is about how many encoded bytes a window has where requests cost next to nothing: they are decoded while they are in
	// the second-level cache, and those of the next window are read into the same memory, so that a scan takes few pages that are new.
	nearBytes = 256 << 10
	// localBytes is the same for each worker where several decode a window.
	localBytes = 512 << 10
	// memoryShare is the part of a scan's memory that a window or batches may take, since both are estimated.
	memoryShare = 8
	// lateBytes is the size of the output columns from which on they are fetched after the filter was applied:
	// at 50 MiB/s a round trip of 30 ms costs 1.5 MiB.
	lateBytes = 1 << 20
	// skipBytes is the work of looking at a row for a filter or a marker, besides its values.
	skipBytes = 8
	// joinRows and joinBytes are how many rows, and of how many stored bytes, are read rather than left out between others.
	joinRows, joinBytes = 1024, 4 << 10
	// blockBytes is about what a column costs of which a single row is read.
	blockBytes = 32 << 10
	// smallColumns is the size of the columns up to which they are fetched with the range indexes instead of
	// after them: less than a round trip costs.
	smallColumns = 256 << 10
	// earlyBytes is the most bytes of range indexes and block maps that are fetched before an index has named the rows.
	earlyBytes = 64 << 10
)

// open makes a stripe ready to be read; its requests are made by f.
func (sc *scanner) open(ctx context.Context, f *fetcher, i int) (*stripe, error) {
	q := sc.plan.q
	s := &stripe{plan: sc.plan, fetch: f, decode: sc.decode, index: i, of: q.Stripes[i], rows: sc.plan.rows(i), mem: q.Budget.Account()}
	f.mem = s.mem
	s.mem.Reuse() // batches that may be kept take their memory with them
	return s, s.outOfBudget(s.openColumns(ctx), s.rows.Start)
}

// openColumns opens the columns, for which nothing is fetched.
func (s *stripe) openColumns(ctx context.Context) (err error) {
	q := s.plan.q
	if s.output, err = s.columns(ctx, q.Project.Fields); err != nil {
		return err
	}
	if q.Needed != nil {
		if s.filter, err = s.columns(ctx, q.Needed.Fields); err != nil {
			return err
		}
	}
	s.share()
	marks := false
	if q.Marker != nil {
		var err error
		if marks, err = Marks(ctx, q.Root, s.index, q.Marker, s.of.Deleted); err != nil {
			return err
		}
	}
	if marks {
		c, err := s.columns(ctx, []*schema.Node{q.Marker})
		if err != nil {
			return err
		}
		s.filter = append(s.filter, c...)
	}
	if s.batch, err = s.batchRows(ctx); err != nil {
		return err
	}
	s.usual = s.batch
	return nil
}

// prepare finds the rows to read and fetches what is read first.
func (s *stripe) prepare(ctx context.Context) error {
	if err := s.findRows(ctx); err != nil || len(s.left) == 0 {
		return s.outOfBudget(err, s.rows.Start)
	}
	s.next, s.left = cutWindow(s.left, s.windowRows())
	rows := s.next
	if len(s.left) == 0 && s.mayBeWhole() && s.unneeded(rows) <= crowdedGap*uint64(len(s.first())) {
		rows = []colstream.Range{s.rows}
	}
	return s.outOfBudget(s.get(ctx, s.first(), rows), s.rows.Start)
}

// mayBeWhole reports whether the columns that are fetched first may be fetched as a whole although range indexes rule out some rows: where requests of
// other stripes wait, those for the maps of the blocks, one a column, may cost more than the blocks that are not needed.
func (s *stripe) mayBeWhole() bool {
	return s.fetch.crowded && len(s.filter) > 0 && s.candidateRows == 0 && s.whole([]colstream.Range{s.rows}) && stored(s.first()) <= lateBytes
}

// unneeded estimates how many bytes the columns that are fetched first have in blocks without any of the rows.
func (s *stripe) unneeded(rows []colstream.Range) uint64 {
	needed := totalRows(wholeBlocks(rows, max(1, s.blockRows), s.of.Records))
	return uint64(float64(stored(s.first())) * float64(s.of.Records-needed) / float64(s.of.Records))
}

// firstBytes is about how many bytes prepare fetches, at most.
func (s *stripe) firstBytes() uint64 {
	n := stored(s.first())
	if rows := s.windowRows(); rows < s.of.Records {
		n = uint64(float64(n) * float64(rows) / float64(s.of.Records))
	}
	return n
}

// evaluate finds the rows of the first window that the filter selects, and fetches the columns of the output for them, before the
// turn of the stripe has come, as far as there is space for them.
func (s *stripe) evaluate(ctx context.Context, room func(bytes uint64) bool) error {
	if len(s.filter) == 0 || len(s.next) == 0 {
		return nil
	}
	done, err := s.plan.ahead.evaluating(ctx)
	if err != nil {
		return err
	}
	found, err := s.find(ctx, s.next)
	done()
	if err == nil {
		s.found, s.evaluated = found, true
		if len(found) > 0 {
			err = s.fetch.columnsFor(ctx, s.output, spansOf(found), false, room)
		}
	}
	return s.outOfBudget(err, s.next[0].Start)
}

// described is the metadata of the stripe.
func (s *stripe) described() *described {
	if s.meta == nil {
		s.meta = &described{Root: s.plan.q.Root}
	}
	return s.meta
}

// object is the one that the first column with a buffer lies in, as the reference names it; "" if no column has one, or it lies beside the metadata.
func (s *stripe) object(ctx context.Context) string {
	for _, id := range s.plan.nodes {
		d, _, err := s.described().StripeField(ctx, s.index, id)
		if err != nil {
			return ""
		}
		for _, e := range d.GetEncodings() {
			for _, b := range e.GetNative().GetBuffers() {
				return b.GetBuffer().GetUrl()
			}
		}
	}
	return ""
}

// columns opens the columns of nodes.
func (s *stripe) columns(ctx context.Context, nodes []*schema.Node) ([]column.Column, error) {
	out := make([]column.Column, len(nodes))
	for i, n := range nodes {
		var err error
		choice := column.Choice{Only: s.only, Skipped: func(error) { s.counts.EncodingsSkipped++ }, Restored: s.restored, Audit: s.restored != nil}
		if s.restored == nil {
			choice.Restored = func(error) { s.counts.Contradictions++ }
		}
		if out[i], err = column.OpenChoosing(ctx, column.Field{Source: s.described(), Stripe: s.index, Node: n, Records: s.of.Records}, s.mem, choice); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// share makes one column of what filter and output both need, so that it is fetched once.
func (s *stripe) share() {
	needed := s.plan.q.Needed
	if needed == nil {
		return
	}
	s.shared = make(map[column.Column]bool)
	for i, n := range s.plan.q.Project.Fields {
		for k, m := range needed.Fields {
			if n.ID == m.ID && n.Equal(m) {
				s.output[i] = s.filter[k]
				s.shared[s.filter[k]] = true
			}
		}
	}
}

// findRows finds the rows that range indexes do not rule out.
func (s *stripe) findRows(ctx context.Context) error {
	all := blocksOf([]colstream.Range{{Start: 0, End: s.of.Records}})
	s.left = []colstream.Range{s.rows}
	candidates, indexed, err := s.candidatesAndMaps(ctx)
	if err != nil {
		return err
	}
	if indexed && len(candidates) == 0 {
		s.left = nil
	} else if s.plan.q.Needed != nil {
		if indexed {
			s.candidateRows = max(1, totalRows(candidates))
		}
		indexes, err := s.indexes(ctx, candidates, indexed)
		if err != nil {
			return err
		}
		s.left = s.plan.prune(s.rows, indexes)
		if indexed {
			s.left = ranges.Intersect(s.left, candidates)
		}
		s.left = s.joined(s.left)
	}
	s.counts.BlocksPruned += all - blocksOf(s.left)
	return nil
}

// indexes fetches the range indexes of the filter's fields, all at once, and with them the columns that are read
// first if they are small, else the maps of their blocks. Where an index has named the rows to read, the maps of all columns come
// along: few rows are left, and a round of their own for the maps of the output costs more.
func (s *stripe) indexes(ctx context.Context, candidates []colstream.Range, named bool) (out []indexed, err error) {
	if s.early != nil {
		return *s.early, nil
	}
	round, err := s.plan.indexRequests(ctx, s.index, s.mem, &out)
	if err != nil || len(round) == 0 {
		return nil, err
	}
	rows, first := []colstream.Range{s.rows}, s.first()
	small := stored(first) <= smallColumns
	if !small && s.mayBeWhole() { // the maps are fetched once it is known that they are needed
		err = s.fetch.round(ctx, round)
		return out, err
	}
	if named && !small {
		rows, first = candidates, s.all()
	}
	with, err := needs(first, rows, small && s.whole(rows))
	if err != nil {
		return nil, err
	}
	if small || bytesOf(with) <= smallColumns { // all of them, or the maps of their blocks
		round = append(round, with...)
	}
	err = s.fetch.round(ctx, round) // which fills out
	return out, err
}

// stored is the number of bytes that are stored for columns.
func stored(columns []column.Column) (n uint64) {
	for _, c := range columns {
		n += c.Size()
	}
	return n
}

// atMost is so many bytes of a window or a batch, fewer where the scan may take little.
func (s *stripe) atMost(bytes uint64) uint64 { return min(bytes, s.plan.q.Budget.Limit()/memoryShare) }

// windowRows is how many rows of average size are fetched at once.
func (s *stripe) windowRows() uint64 {
	n, most := stored(s.filter)+stored(s.output), s.atMost(cmp.Or(s.fetches, fetchBytes))
	switch {
	case s.plan.nearby:
		most = min(most, nearBytes)
	case s.plan.local:
		most = min(most, uint64(s.plan.q.Workers)*localBytes)
	}
	if n <= most {
		return s.of.Records
	}
	rows := max(uint64(s.batch), uint64(float64(s.of.Records)*float64(most)/float64(n)))
	return rows / uint64(s.batch) * uint64(s.batch) // windows that end with a block, mostly
}

// cutWindow takes the first n rows from ranges, of which it changes the one that it cuts.
func cutWindow(ranges []colstream.Range, n uint64) (window, rest []colstream.Range) {
	for i := range ranges {
		r := &ranges[i]
		if r.Len() <= n {
			n -= r.Len()
			continue
		}
		if n == 0 {
			return ranges[:i:i], ranges[i:]
		}
		cut := colstream.Range{Start: r.Start, End: r.Start + n}
		r.Start = cut.End
		return append(ranges[:i:i], cut), ranges[i:]
	}
	return ranges, nil
}

// whole reports whether ranges are all rows of the stripe.
func (s *stripe) whole(ranges []colstream.Range) bool {
	return len(ranges) == 1 && ranges[0].Len() == s.of.Records
}

// get fetches columns for ranges of rows.
func (s *stripe) get(ctx context.Context, columns []column.Column, ranges []colstream.Range) error {
	return s.fetch.columns(ctx, columns, ranges, s.whole(ranges))
}

// first are the columns that are fetched before anything is decoded: those of the filter, and all others if
// there is none or they are small, or so are their blocks of the rows that an index has named.
func (s *stripe) first() []column.Column {
	if len(s.filter) == 0 {
		return s.output
	}
	all, others := s.all(), uint64(0)
	for _, c := range all[len(s.filter):] {
		size := c.Size()
		if s.candidateRows > 0 {
			size = min(size, max(blockBytes, uint64(float64(size)*float64(s.candidateRows)/float64(s.of.Records))))
		}
		others += size
	}
	if others < lateBytes {
		return all
	}
	return s.filter
}

// all are the columns of the filter, and those of the output that are not among them.
func (s *stripe) all() []column.Column {
	all := s.filter[:len(s.filter):len(s.filter)]
	for _, c := range s.output {
		if !s.shared[c] {
			all = append(all, c)
		}
	}
	return all
}

// totalRows counts the rows of ranges.
func totalRows(ranges []colstream.Range) (n uint64) {
	for _, r := range ranges {
		n += r.Len()
	}
	return n
}

// joined gives ranges and the rows between them where these are so few, and of so few bytes, that looking at them costs less than
// beginning again: the filter is not true of them, or is not evaluated, if an index chose the rows. Columns that are fetched for
// what the filter leaves are not to be fetched for more.
func (s *stripe) joined(list []colstream.Range) []colstream.Range {
	if len(s.first()) < len(s.filter)+len(s.output)-len(s.shared) {
		return list
	}
	gap := min(joinRows, joinBytes*s.of.Records/max(1, stored(s.filter)+stored(s.output)))
	out := list[:0:0]
	for _, r := range list {
		if n := len(out); n > 0 && r.Start-out[n-1].End <= gap {
			out[n-1].End = r.End
		} else {
			out = append(out, r)
		}
	}
	return out
}

// run reads the rows, window by window.
func (s *stripe) run(ctx context.Context, counts *Counts, yield func(arrow.RecordBatch) bool) error {
	defer func() {
		counts.BlocksRead += s.counts.BlocksRead
		counts.BlocksPruned += s.counts.BlocksPruned
		counts.RowsMatched += s.counts.RowsMatched
		counts.Reached = max(counts.Reached, s.counts.Reached)
		counts.StripesIndexed += s.counts.StripesIndexed
		counts.StripesUnindexed += s.counts.StripesUnindexed
		counts.IndexGets += s.counts.IndexGets
		counts.IndexBytes += s.counts.IndexBytes
		counts.EncodingsSkipped += s.counts.EncodingsSkipped
		counts.Contradictions += s.counts.Contradictions
	}()
	for len(s.next) > 0 {
		window := s.next
		if err := s.window(ctx, window, yield); err != nil {
			return s.outOfBudget(err, window[0].Start)
		}
		s.fetch.release()
		s.next, s.left = cutWindow(s.left, s.windowRows())
	}
	return nil
}

// window reads the rows of ranges.
func (s *stripe) window(ctx context.Context, ranges []colstream.Range, yield func(arrow.RecordBatch) bool) error {
	found, evaluated := s.found, s.evaluated
	s.found, s.evaluated = nil, false
	if !evaluated {
		if err := s.get(ctx, s.first(), ranges); err != nil {
			return err
		}
	}
	s.counts.BlocksRead += blocksOf(ranges)
	if len(s.filter) == 0 {
		return s.inBatches(ranges, func(list []match) error { return s.emitAll(ctx, list, yield) })
	}
	if !evaluated {
		var err error
		if found, err = s.find(ctx, ranges); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	if err := s.get(ctx, s.output, spansOf(found)); err != nil {
		return err
	}
	if !slices.ContainsFunc(s.output, func(c column.Column) bool { return !column.Sparse(c) }) {
		found = together(found, uint64(s.batch), &s.selector.bitmaps)
	}
	return s.emitAll(ctx, found, yield)
}

// spansOf are the rows from the first selected one to the last of each match.
func spansOf(found []match) []colstream.Range {
	spans := make([]colstream.Range, len(found))
	for i, m := range found {
		spans[i] = m.span
	}
	return spans
}

// blocksOf counts the blocks of a range index that ranges touch.
func blocksOf(ranges []colstream.Range) (n int64) {
	last := int64(-1)
	for _, r := range ranges {
		if r.Len() == 0 {
			continue
		}
		first, end := int64(r.Start/colstream.RangeIndexBlock), int64((r.End-1)/colstream.RangeIndexBlock)
		n += end - max(first, last+1) + 1
		last = end
	}
	return n
}

// eachBatch calls do with the rows of each batch, with fewer where arrays would become too large.
func (s *stripe) eachBatch(ranges []colstream.Range, do func(colstream.Range) error) error {
	for _, r := range ranges {
		for at := r.Start; at < r.End; {
			n := min(uint64(s.batch), r.End-at)
			s.mem.NextBatch(n == 1)
			err := do(colstream.Range{Start: at, End: at + n})
			if errors.Is(err, column.ErrTooLarge) && n > 1 {
				s.batch = int(n / 2)
				continue
			}
			if err != nil {
				return s.outOfBudget(err, at)
			}
			at += n
			s.batch = min(s.usual, 2*s.batch)
		}
	}
	return nil
}

// outOfBudget makes an error of stored data of one that reports that the budget does not suffice for the records from a
// row on.
func (s *stripe) outOfBudget(err error, row uint64) error {
	var located *corrupt.Error
	if !errors.Is(err, budget.ErrExceeded) || errors.As(err, &located) && located.Object != "" {
		return err
	}
	return &corrupt.Error{Kind: corrupt.ErrUnsupported, Object: s.plan.q.Root.URL(), Offset: -1, Err: err,
		What: fmt.Sprintf("records from %d need more than %d bytes of memory, or work in proportion; raise the limit with --max-memory",
			s.of.Position+row, s.plan.q.Budget.Limit())}
}

// inAnyEncoding reads rows of columns, again where an encoding of one turned out to be damaged and there is another, whose
// bytes are fetched first.
func (s *stripe) inAnyEncoding(ctx context.Context, columns []column.Column, r colstream.Range, read func() error) error {
	for {
		err := read()
		if !errors.Is(err, column.ErrOtherEncoding) {
			return err
		}
		if err := s.get(ctx, columns, []colstream.Range{r}); err != nil {
			return err
		}
	}
}

// match is rows of which some are selected: those set in a bitmap that starts at rows.Start, all if it is nil. span
// is from the first selected row to the last.
type match struct {
	rows, span colstream.Range
	selected   []byte
}

// find decodes the filter's columns and applies it.
func (s *stripe) find(ctx context.Context, ranges []colstream.Range) (found []match, err error) {
	if s.selector == nil {
		s.selector = newSelector(s)
	}
	s.selector.bitmaps.reset() // what was found in the window before was used
	for _, lane := range s.lanes {
		lane.selector.bitmaps.reset()
	}
	err = s.inBatches(ranges, func(list []match) error {
		done, err := inLanes(s, list, func(lane *stripe, m match) (bitmap []byte, err error) {
			return lane.selected(ctx, m.rows)
		}, func(m match, bitmap []byte) error {
			found = appendMatch(found, m.rows, bitmap)
			return nil
		})
		if err != nil {
			return err
		}
		more, err := s.findAlone(ctx, rangesOf(list[done:]))
		found = append(found, more...)
		return err
	})
	for _, c := range s.filter {
		if !s.shared[c] {
			c.Release(ranges[len(ranges)-1].End)
		}
	}
	return found, err
}

// appendMatch adds rows, if some of them are selected.
func appendMatch(found []match, r colstream.Range, bitmap []byte) []match {
	span, any := spanOf(bitmap)
	if !any {
		return found
	}
	return append(found, match{r, colstream.Range{Start: r.Start + span.Start, End: r.Start + span.End}, bitmap})
}

// selected gives a bitmap of the rows of r that the filter selects.
func (s *stripe) selected(ctx context.Context, r colstream.Range) ([]byte, error) {
	if err := s.mem.Work(skipBytes * r.Len()); err != nil {
		return nil, err
	}
	bitmap, _, err := s.selector.rows(ctx, r)
	return bitmap, err
}

// findAlone is find without lanes.
func (s *stripe) findAlone(ctx context.Context, ranges []colstream.Range) (found []match, err error) {
	err = s.eachBatch(ranges, func(r colstream.Range) error {
		var bitmap []byte
		err := s.inAnyEncoding(ctx, s.filter, r, func() (err error) {
			bitmap, err = s.selected(ctx, r)
			return err
		})
		if err != nil {
			return err
		}
		found = appendMatch(found, r, bitmap)
		for _, c := range s.filter {
			if !s.shared[c] {
				c.Release(r.End)
			}
		}
		return nil
	})
	return found, err
}

// emit decodes the output columns of a match and yields what is selected, in halves where that is too large.
func (s *stripe) emit(ctx context.Context, m match, yield func(arrow.RecordBatch) bool) error {
	if m.selected != nil {
		s.mem.NextBatch(m.span.Len() == 1)
	}
	var b arrow.RecordBatch
	err := s.inAnyEncoding(ctx, s.output, m.span, func() (err error) {
		b, err = s.decode.batch(ctx, s.output, m, s)
		return err
	})
	if errors.Is(err, column.ErrTooLarge) && m.selected != nil && m.span.Len() > 1 {
		half := m.span.Start + m.span.Len()/2
		left, right := m, m
		left.span.End, right.span.Start = half, half
		if err := s.emit(ctx, left, yield); err != nil {
			return err
		}
		return s.emit(ctx, right, yield)
	}
	if err != nil {
		return s.outOfBudget(err, m.span.Start)
	}
	for _, c := range s.output {
		c.Release(m.span.End)
	}
	return s.deliver(b, m.span.End, yield)
}

// deliver yields a batch, unless it is nil; end is the row of the stripe behind its last one.
func (s *stripe) deliver(b arrow.RecordBatch, end uint64, yield func(arrow.RecordBatch) bool) error {
	if b == nil {
		return nil
	}
	s.counts.RowsMatched += b.NumRows()
	s.mem.Delivered(uint64(b.NumRows()) * uint64(max(1, len(s.plan.nodes))))
	s.plan.yielded, s.counts.Reached = true, s.of.Position+end
	if !yield(b) {
		return ErrStopped
	}
	return nil
}

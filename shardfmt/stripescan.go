package shardfmt

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/internal/field"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// stripeScan is a scan at work in one stripe. It goes through the rows in windows whose bytes fit into memory,
// and through each window in batches:
//
//	rows ---- range indexes ----> ranges ---- windows of fetchBytes ----> batches
//
// With a filter the columns it needs are fetched and decoded first, and the others only where a row of a batch
// was selected, unless they are so small that a second round of requests costs more than they do.
type stripeScan struct {
	*scan
	ctx   context.Context
	sp    *blobio.Client // a branch of the shard's, for requests beside those of other stripes
	index int
	rows  buffer.Range
	yield func(arrow.RecordBatch, error) bool

	ready  chan struct{} // closed when prepare has ended, with
	failed error
	left   []buffer.Range // rows that are still to be read
	stats  ScanStats      // of prepare

	filter  []field.Column        // of scan.needed, and of the marker behind them
	output  []field.Column        // of scan.project
	shared  map[field.Column]bool // that are in both
	batches int                   // rows of a batch
}

// lateBytes is the size of the output columns from which on they are fetched after the filter was applied:
// at 50 MiB/s a round trip of 30 ms costs 1.5 MiB.
const lateBytes = 1 << 20

// startStripe begins to prepare a stripe, in the background.
func (sc *scan) startStripe(ctx context.Context, sp *blobio.Client, i int) *stripeScan {
	st := sc.stripes[i]
	s := &stripeScan{scan: sc, ctx: ctx, sp: sp, index: i, ready: make(chan struct{}), rows: buffer.Range{
		Start: max(sc.o.Start, st.Position) - st.Position,
		End:   min(sc.o.End, st.Position+st.Records) - st.Position,
	}}
	go func() {
		defer close(s.ready)
		s.failed = s.prepare()
	}()
	return s
}

// wait waits until the stripe is prepared. A nil stripe is.
func (s *stripeScan) wait() error {
	if s == nil {
		return nil
	}
	<-s.ready
	return s.failed
}

// prepare opens the columns, finds the rows to read and fetches what is read first.
func (s *stripeScan) prepare() error {
	var err error
	if s.output, err = s.open(s.project.Fields); err != nil {
		return err
	}
	if s.needed != nil {
		if s.filter, err = s.open(s.needed.Fields); err != nil {
			return err
		}
	}
	s.share()
	if s.marker != nil && s.stripes[s.index].Deleted > 0 {
		c, err := s.open([]*schema.Node{s.marker})
		if err != nil {
			return err
		}
		s.filter = append(s.filter, c...)
	}
	s.batches = s.batchRows()
	if s.left, err = s.survivors(); err != nil || len(s.left) == 0 {
		return err
	}
	window, _ := cutWindow(s.left, s.windowRows())
	return s.fetch(s.first(), window)
}

// share makes one column of what filter and output both need, so that it is fetched once.
func (s *stripeScan) share() {
	if s.needed == nil {
		return
	}
	s.shared = make(map[field.Column]bool)
	for i, n := range s.project.Fields {
		for k, m := range s.needed.Fields {
			if n.ID == m.ID && schema.EqualNodes(n, m) {
				s.output[i] = s.filter[k]
				s.shared[s.filter[k]] = true
			}
		}
	}
}

// run reads the rows, window by window.
func (s *stripeScan) run(yield func(arrow.RecordBatch, error) bool) error {
	s.yield = yield
	s.o.Stats.BlocksPruned += s.stats.BlocksPruned
	for len(s.left) > 0 {
		var window []buffer.Range
		window, s.left = cutWindow(s.left, s.windowRows())
		if err := s.window(window); err != nil {
			return err
		}
	}
	return nil
}

func (s *stripeScan) open(nodes []*schema.Node) ([]field.Column, error) {
	out := make([]field.Column, len(nodes))
	for i, n := range nodes {
		var err error
		if out[i], err = field.Open(s.ctx, s.root, s.index, n, s.stripes[s.index].Records); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batchRows is how many rows of average size make a batch.
func (s *stripeScan) batchRows() int {
	raw, records := uint64(0), s.stripes[s.index].Records
	s.project.Walk(func(_ string, n *schema.Node) bool {
		if d, err := s.FieldStats(s.ctx, s.index, n.ID); err == nil {
			raw += d.GetRawDataSize()
		}
		return true
	})
	if raw/records == 0 {
		return s.o.BatchRows
	}
	return max(1, min(s.o.BatchRows, int(batchBytes/(raw/records))))
}

// windowRows is how many rows of average size are fetched at once.
func (s *stripeScan) windowRows() uint64 {
	stored, records := uint64(0), s.stripes[s.index].Records
	for _, c := range append(s.filter[:len(s.filter):len(s.filter)], s.output...) {
		stored += c.Size()
	}
	if stored <= fetchBytes {
		return records
	}
	return max(uint64(s.batches), uint64(float64(records)*fetchBytes/float64(stored)))
}

// cutWindow takes the first n rows from ranges.
func cutWindow(ranges []buffer.Range, n uint64) (window, rest []buffer.Range) {
	for i, r := range ranges {
		if r.Len() > n {
			if n == 0 {
				return window, ranges[i:]
			}
			rest = append([]buffer.Range{{Start: r.Start + n, End: r.End}}, ranges[i+1:]...)
			return append(window, buffer.Range{Start: r.Start, End: r.Start + n}), rest
		}
		window, n = append(window, r), n-r.Len()
	}
	return window, nil
}

// whole says that ranges are all rows of the stripe.
func (s *stripeScan) whole(ranges []buffer.Range) bool {
	return len(ranges) == 1 && ranges[0].Len() == s.stripes[s.index].Records
}

// first are the columns that are fetched before anything is decoded: those of the filter, and all others if
// there is none or they are small.
func (s *stripeScan) first() []field.Column {
	if len(s.filter) == 0 {
		return s.output
	}
	others, stored := s.filter[:len(s.filter):len(s.filter)], uint64(0)
	for _, c := range s.output {
		if !s.shared[c] {
			others, stored = append(others, c), stored+c.Size()
		}
	}
	if stored < lateBytes {
		return others
	}
	return s.filter
}

// window reads the rows of ranges.
func (s *stripeScan) window(ranges []buffer.Range) error {
	if err := s.fetch(s.first(), ranges); err != nil {
		return err
	}
	s.o.Stats.BlocksRead += blocksOf(ranges)
	if len(s.filter) == 0 {
		return s.eachBatch(ranges, func(r buffer.Range) error { return s.emit(r, r, nil) })
	}
	found, err := s.find(ranges)
	if err != nil {
		return err
	}
	spans := make([]buffer.Range, len(found))
	for i, f := range found {
		spans[i] = f.span
	}
	if len(spans) == 0 {
		return nil
	}
	if err := s.fetch(s.output, spans); err != nil {
		return err
	}
	for _, f := range found {
		if err := s.emit(f.rows, f.span, f.selected); err != nil {
			return err
		}
	}
	return nil
}

// blocksOf counts the blocks of a range index that ranges touch.
func blocksOf(ranges []buffer.Range) (n int64) {
	last := int64(-1)
	for _, r := range ranges {
		if r.Len() == 0 {
			continue
		}
		first, end := int64(r.Start/buffer.RangeIndexBlock), int64((r.End-1)/buffer.RangeIndexBlock)
		n += end - max(first, last+1) + 1
		last = end
	}
	return n
}

// eachBatch calls do with the rows of each batch, with fewer where arrays would become too large.
func (s *stripeScan) eachBatch(ranges []buffer.Range, do func(buffer.Range) error) error {
	for _, r := range ranges {
		for at := r.Start; at < r.End; {
			n := min(uint64(s.batches), r.End-at)
			err := do(buffer.Range{Start: at, End: at + n})
			if errors.Is(err, field.ErrTooLarge) && n > 1 {
				s.batches = int(n / 2)
				continue
			}
			if errors.Is(err, field.ErrTooLarge) {
				return corrupt.Locate(corrupt.Unsupported(-1, "record %d: %v", s.stripes[s.index].Position+at, err), s.URL(), 0)
			}
			if err != nil {
				return err
			}
			at += n
		}
	}
	return nil
}

// match is rows of which some are selected: those set in a bitmap that starts at rows.Start. span is from the
// first selected row to the last.
type match struct {
	rows, span buffer.Range
	selected   []byte
}

// find decodes the filter's columns and applies it.
func (s *stripeScan) find(ranges []buffer.Range) (found []match, err error) {
	err = s.eachBatch(ranges, func(r buffer.Range) error {
		columns, err := s.read(s.filter, r)
		if err != nil {
			return err
		}
		bitmap, err := s.selected(columns, int(r.Len()))
		if err != nil {
			return err
		}
		if span, any := spanOf(bitmap, int(r.Len())); any {
			found = append(found, match{r, buffer.Range{Start: r.Start + span.Start, End: r.Start + span.End}, bitmap})
		}
		for _, c := range s.filter {
			if !s.shared[c] {
				c.Release(r.End)
			}
		}
		return nil
	})
	return found, err
}

// selected applies filter and marker to their columns.
func (s *stripeScan) selected(columns []arrow.ArrayData, n int) ([]byte, error) {
	bitmap := make([]byte, (n+7)/8)
	bitutil.SetBitsTo(bitmap, 0, int64(n), true)
	if s.needed != nil {
		arrays := make([]arrow.Array, len(s.needed.Fields))
		for i := range arrays {
			arrays[i] = array.MakeFromData(columns[i])
		}
		batch := array.NewRecordBatch(arrowtype.Schema(s.needed), arrays, int64(n))
		selected, _, err := s.o.Filter.Select(batch)
		if err != nil {
			return nil, err
		}
		copy(bitmap, selected)
		columns = columns[len(arrays):]
	}
	if len(columns) > 0 {
		hideDeleted(bitmap, array.NewBooleanData(columns[0]))
	}
	return bitmap, nil
}

// hideDeleted clears the bits of rows that are marked deleted.
func hideDeleted(bitmap []byte, marker *array.Boolean) {
	for i := range marker.Len() {
		if marker.IsValid(i) && marker.Value(i) {
			bitutil.ClearBit(bitmap, i)
		}
	}
}

// spanOf gives the range from the first set bit to the last.
func spanOf(bitmap []byte, n int) (span buffer.Range, any bool) {
	for i := range n {
		if bitutil.BitIsSet(bitmap, i) {
			if !any {
				span.Start, any = uint64(i), true
			}
			span.End = uint64(i) + 1
		}
	}
	return span, any
}

// emit reads the output columns of span and yields what of it is selected, by a bitmap that starts at
// rows.Start; nil selects all.
func (s *stripeScan) emit(rows, span buffer.Range, selected []byte) error {
	columns, err := s.read(s.output, span)
	if errors.Is(err, field.ErrTooLarge) && selected != nil && span.Len() > 1 {
		half := span.Start + span.Len()/2
		if err := s.emit(rows, buffer.Range{Start: span.Start, End: half}, selected); err != nil {
			return err
		}
		return s.emit(rows, buffer.Range{Start: half, End: span.End}, selected)
	}
	if err != nil {
		return err
	}
	n := int(span.Len())
	if selected != nil {
		mine := make([]byte, (n+7)/8)
		bitutil.CopyBitmap(selected, int(span.Start-rows.Start), n, mine, 0)
		if n = bitutil.CountSetBits(mine, 0, n); n == 0 {
			return nil
		}
		for i, d := range columns {
			columns[i] = field.Select(d, mine)
		}
	}
	s.o.Stats.RowsMatched += int64(n)
	for _, c := range s.output {
		c.Release(span.End)
	}
	if !s.yield(s.batch(columns, n), nil) {
		return errStopped
	}
	return nil
}

// read decodes columns, several at a time.
func (s *stripeScan) read(columns []field.Column, r buffer.Range) ([]arrow.ArrayData, error) {
	out := make([]arrow.ArrayData, len(columns))
	err := parallel(s.ctx, s.o.Workers, len(columns), func(i int) (err error) {
		out[i], err = columns[i].Read(r)
		return err
	})
	return out, err
}

// fetch makes the requests that columns need for ranges, all of a round together.
func (s *stripeScan) fetch(columns []field.Column, ranges []buffer.Range) error {
	whole := s.whole(ranges)
	for {
		var round []buffer.Request
		for _, c := range columns {
			q, err := c.Need(ranges, whole)
			if err != nil {
				return err
			}
			round = append(round, q...)
		}
		if len(round) == 0 {
			return nil
		}
		if err := fetch(s.ctx, s.sp, round); err != nil {
			return err
		}
	}
}

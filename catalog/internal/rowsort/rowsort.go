// Package rowsort sorts record batches that may not fit into memory.
//
// Batches are gathered until they take up the memory that was granted; then they are sorted and written to a
// temporary file as one run. At the end the runs are merged:
//
//	Add ──> buffer ──sort──> run 1 ┐
//	               ──sort──> run 2 ├──merge──> sorted batches
//	               ──sort──> buffer┘
//
// More than maxRuns runs are first merged into one, so that a merge holds few batches whatever the input's size. The
// first N rows (Options.Limit) need no file as long as N rows fit into memory: the buffer is cut to N whenever it has
// twice as many, and later rows that do not come before the N-th are dropped as they arrive.
//
// The sort is stable: rows of equal keys keep their order.
package rowsort

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt"
)

// Key is one column to sort by.
type Key struct {
	// Path leads from a column of the batches through members of structs.
	Path []string
	// Descending turns the order of the values; NullsFirst puts nulls before them, in either order.
	Descending, NullsFirst bool
}

// Options of a sort; the zero value is valid.
type Options struct {
	// Memory is how many bytes of batches are gathered before they are written to a file, DefaultMemory if 0. Sorting
	// takes about three times as much for a moment.
	Memory int64
	// Dir is where temporary files go, the system's folder for them if empty.
	Dir string
	// Limit is the number of rows wanted, all if 0.
	Limit int64
}

// defaultMemory keeps a sort below half a gigabyte.
const defaultMemory = 128 << 20

const (
	// maxRuns is how many runs are merged at a time: with batches of outRows ordinary rows, some dozens of megabytes.
	maxRuns = 64
	// outRows is the most rows of a batch that is written to a run or given back.
	outRows = 4096
)

// ErrKey: a column that has no order, or is not there.
var errKey = errors.New("it has no order")

// Sorter sorts. Not for concurrent use.
type Sorter struct {
	options Options
	keys    []Key
	plain   *arrow.Schema // of the batches
	stored  *arrow.Schema // of the batches as they are kept; see unions.go
	buffer  []arrow.RecordBatch
	bytes   int64
	rows    int64
	runs    []*run
	// last is the last row of the buffer after a cut to Limit rows, or nil: rows that do not come before it are not wanted.
	last *lastRow
	// Spilled counts the runs that were written.
	Spilled int
}

// New begins a sort of batches of a schema.
func New(s *arrow.Schema, keys []Key, o Options) (*Sorter, error) {
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	sorter := &Sorter{options: o, keys: keys, plain: s, stored: storedSchema(s)}
	empty := array.NewRecordBatch(sorter.stored, emptyColumns(sorter.stored), 0)
	if _, err := newOrder(empty, keys); err != nil { // keys that have no order are refused at once
		return nil, err
	}
	return sorter, nil
}

// Add takes a batch, which must not change afterwards.
func (s *Sorter) Add(ctx context.Context, b arrow.RecordBatch) error {
	if b.NumRows() == 0 {
		return nil
	}
	b = stored(b, s.stored)
	if s.last != nil {
		var err error
		if b, err = s.last.before(b, s.keys); b == nil || err != nil {
			return err
		}
	}
	s.buffer = append(s.buffer, b)
	s.bytes += sizeOf(b)
	s.rows += b.NumRows()
	if s.bytes < s.options.Memory {
		if s.options.Limit > 0 && s.rows >= 2*s.options.Limit+cutSlack {
			return s.cut()
		}
		return nil
	}
	if s.options.Limit > 0 && s.rows > s.options.Limit {
		if err := s.cut(); err != nil || s.bytes < s.options.Memory/2 {
			return err
		}
	}
	return s.spill(ctx)
}

// cut keeps the first rows of the buffer only.
func (s *Sorter) cut() error {
	first, err := s.sorted()
	if err != nil {
		return err
	}
	s.buffer = []arrow.RecordBatch{first}
	s.rows, s.bytes = first.NumRows(), sizeOf(first)
	if s.rows == s.options.Limit {
		o, err := newOrder(first, s.keys)
		if err != nil {
			return err
		}
		s.last = newLastRow(o, int(s.rows)-1)
	}
	return nil
}

// cutSlack is how many rows more than twice the limit are gathered between two cuts.
const cutSlack = 8192

// lastRow is the last of the rows wanted so far.
type lastRow struct {
	order order
	row   int
	code  uint64
	coded bool
}

func newLastRow(o order, row int) *lastRow {
	l := &lastRow{order: o, row: row}
	if codes := o.codes(row + 1); codes != nil {
		l.code, l.coded = codes[row], true
	}
	return l
}

// before returns the rows of a batch that come before l, nil if there are none. Equal rows come behind, since they arrived later.
func (l *lastRow) before(b arrow.RecordBatch, keys []Key) (arrow.RecordBatch, error) {
	o, err := newOrder(b, keys)
	if err != nil {
		return nil, err
	}
	rows := l.rowsBefore(o, int(b.NumRows()))
	switch len(rows) {
	case 0:
		return nil, nil
	case int(b.NumRows()):
		return b, nil
	}
	return shardfmt.TakeRows(b, rows), nil
}

// rowsBefore are the numbers of the rows that come before l.
func (l *lastRow) rowsBefore(o order, n int) (rows []int64) {
	var codes []uint64
	if l.coded {
		codes = o.codes(n)
	}
	for i := range n {
		if codes != nil && codes[i] > l.code {
			continue
		}
		if codes != nil && codes[i] < l.code || o.compare(i, l.order, l.row) < 0 {
			rows = append(rows, int64(i))
		}
	}
	return rows
}

// sorted is the buffer as one sorted batch, without the rows that nobody wants.
func (s *Sorter) sorted() (arrow.RecordBatch, error) {
	all, err := concatenate(s.stored, s.buffer)
	if err != nil {
		return nil, err
	}
	o, err := newOrder(all, s.keys)
	if err != nil {
		return nil, err
	}
	n := int(all.NumRows())
	limit := n
	if s.options.Limit > 0 {
		limit = int(min(int64(n), s.options.Limit))
	}
	rows := newRanking(o, n).first(n, limit)
	return shardfmt.TakeRows(all, rows), nil
}

// spill writes the buffer as a run.
func (s *Sorter) spill(ctx context.Context) error {
	sorted, err := s.sorted()
	if err != nil {
		return err
	}
	s.buffer, s.bytes, s.rows = nil, 0, 0
	if err := s.write(func(yield func(arrow.RecordBatch, error) bool) { slice(sorted, yield) }); err != nil {
		return err
	}
	if len(s.runs) < maxRuns {
		return nil
	}
	old := s.runs
	s.runs = nil
	return errors.Join(s.write(s.first(merge(ctx, s.stored, s.keys, old))), closeAll(old))
}

// write makes a run of sorted batches.
func (s *Sorter) write(batches iter.Seq2[arrow.RecordBatch, error]) error {
	r, err := newRun(s.options.Dir, s.stored, batches)
	if err != nil {
		return fmt.Errorf("sort: a temporary file: %w", err)
	}
	s.runs = append(s.runs, r)
	s.Spilled++
	return nil
}

// Sorted gives the batches in order; nothing may be added any more. It may be called once.
func (s *Sorter) Sorted(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		out := func(b arrow.RecordBatch, err error) bool {
			if err == nil {
				b = restored(b, s.plain)
			}
			return yield(b, err)
		}
		if s.rows == 0 && len(s.runs) == 0 {
			return
		}
		if len(s.runs) == 0 {
			sorted, err := s.sorted()
			if err != nil {
				yield(nil, err)
				return
			}
			s.buffer = nil
			slice(sorted, out)
			return
		}
		if s.rows > 0 {
			if err := s.spill(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
		for b, err := range s.first(merge(ctx, s.stored, s.keys, s.runs)) {
			if !out(b, err) || err != nil {
				return
			}
		}
	}
}

// first passes on the first Limit rows, or all.
func (s *Sorter) first(batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	if s.options.Limit <= 0 {
		return batches
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		left := s.options.Limit
		for b, err := range batches {
			if err == nil {
				b = b.NewSlice(0, min(left, b.NumRows()))
				left -= b.NumRows()
			}
			if !yield(b, err) || err != nil || left == 0 {
				return
			}
		}
	}
}

// Close removes the temporary files.
func (s *Sorter) Close() error {
	s.buffer = nil
	return closeAll(s.runs)
}

// slice gives a batch in pieces.
func slice(b arrow.RecordBatch, yield func(arrow.RecordBatch, error) bool) {
	for from := int64(0); from < b.NumRows(); from += outRows {
		if !yield(b.NewSlice(from, min(from+outRows, b.NumRows())), nil) {
			return
		}
	}
}

// sizeOf is the memory of a batch in bytes; what is shared between columns counts once for each.
func sizeOf(b arrow.RecordBatch) (n int64) {
	for _, c := range b.Columns() {
		n += dataSize(c.Data())
	}
	return n
}

func dataSize(d arrow.ArrayData) (n int64) {
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, child := range d.Children() {
		n += dataSize(child)
	}
	return n
}

// Drain feeds a sort and gives the sorted rows, once.
func (s *Sorter) Drain(ctx context.Context, rows iter.Seq2[arrow.RecordBatch, error], log *slog.Logger) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		err := func() error {
			for b, err := range rows {
				if err == nil {
					err = s.Add(ctx, b)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}()
		if err != nil {
			yield(nil, errors.Join(err, s.Close()))
			return
		}
		s.Sorted(ctx)(yield)
		if err := s.Close(); err != nil {
			log.Warn("a temporary file of a sort could not be deleted", "error", err)
		}
	}
}

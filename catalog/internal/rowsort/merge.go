package rowsort

import (
	"bufio"
	"container/heap"
	"context"
	"errors"
	"io"
	"iter"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt"
)

// run is a file of sorted batches. It has no name from the moment it is open, so that it goes with the process.
type run struct{ file *os.File }

// runBuffer is the buffer for writing and reading a run, in bytes.
const runBuffer = 256 << 10

func newRun(dir string, s *arrow.Schema, batches iter.Seq2[arrow.RecordBatch, error]) (*run, error) {
	f, err := os.CreateTemp(dir, "shardcat-sort-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // where an open file can't be removed, close does it
	r := &run{f}
	out := bufio.NewWriterSize(f, runBuffer)
	w := ipc.NewWriter(out, ipc.WithSchema(s))
	for b, err := range batches {
		if err == nil {
			err = w.Write(b)
		}
		if err != nil {
			return nil, errors.Join(err, w.Close(), r.close())
		}
	}
	if err := errors.Join(w.Close(), out.Flush()); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *run) close() error {
	err := r.file.Close()
	if removeErr := os.Remove(r.file.Name()); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

func closeAll(runs []*run) error {
	var errs []error
	for _, r := range runs {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// cursor is a place in a run.
type cursor struct {
	from  *ipc.Reader
	keys  []Key
	index int // of the run; runs keep the order of the input
	batch arrow.RecordBatch
	order order
	// begin is the first row of the batch that was not given away, row the one to compare.
	begin, row int64
}

// next goes to the next row; false at the end of the batch.
func (c *cursor) next() bool {
	c.row++
	return c.row < c.batch.NumRows()
}

// load reads the next batch; io.EOF at the end of the run.
func (c *cursor) load() error {
	if !c.from.Next() {
		if err := c.from.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	c.batch, c.begin, c.row = c.from.RecordBatch(), 0, 0
	c.batch.Retain()
	var err error
	c.order, err = newOrder(c.batch, c.keys)
	return err
}

// cursors is a heap of runs by the row they are at.
type cursors []*cursor

func (c cursors) Len() int      { return len(c) }
func (c cursors) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *cursors) Push(x any)   { *c = append(*c, x.(*cursor)) }
func (c *cursors) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

func (c cursors) Less(i, j int) bool {
	a, b := c[i], c[j]
	if by := a.order.compare(int(a.row), b.order, int(b.row)); by != 0 {
		return by < 0
	}
	return a.index < b.index
}

// merge gives the rows of sorted runs in order. What is put together at a time comes from one batch of each run.
func merge(ctx context.Context, s *arrow.Schema, keys []Key, runs []*run) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		all, err := openRuns(s, keys, runs)
		if err != nil {
			yield(nil, err)
			return
		}
		queue := cursors(append([]*cursor(nil), all...))
		heap.Init(&queue)
		var rows []*cursor // the run of each row that goes out next
		for len(queue) > 0 {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			c := queue[0]
			rows = append(rows, c)
			inBatch := c.next()
			if inBatch && len(rows) < outRows {
				heap.Fix(&queue, 0)
				continue
			}
			b, err := assemble(s, all, rows)
			if !yield(b, err) || err != nil {
				return
			}
			rows = rows[:0]
			if inBatch {
				heap.Fix(&queue, 0)
				continue
			}
			switch err := c.load(); {
			case errors.Is(err, io.EOF):
				c.batch = nil
				heap.Pop(&queue)
			case err != nil:
				yield(nil, err)
				return
			default:
				heap.Fix(&queue, 0)
			}
		}
	}
}

func openRuns(s *arrow.Schema, keys []Key, runs []*run) ([]*cursor, error) {
	var out []*cursor
	for i, r := range runs {
		if _, err := r.file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		from, err := ipc.NewReader(bufio.NewReaderSize(r.file, runBuffer), ipc.WithSchema(s))
		if err != nil {
			return nil, err
		}
		c := &cursor{from: from, keys: keys, index: i}
		if err := c.load(); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// assemble makes a batch of rows that are the next ones of their runs.
func assemble(s *arrow.Schema, all []*cursor, rows []*cursor) (arrow.RecordBatch, error) {
	var parts []arrow.RecordBatch
	offset := make([]int64, len(all)) // of each run's part in what is put together
	total := int64(0)
	for _, c := range all {
		if c.batch == nil || c.row == c.begin {
			continue
		}
		offset[c.index] = total
		parts = append(parts, c.batch.NewSlice(c.begin, c.row))
		total += c.row - c.begin
		c.begin = c.row
	}
	joined, err := concatenate(s, parts)
	if err != nil || len(parts) == 1 {
		return joined, err
	}
	at := make([]int64, len(rows))
	for i, c := range rows {
		at[i] = offset[c.index]
		offset[c.index]++
	}
	return shardfmt.TakeRows(joined, at), nil
}

// concatenate makes one batch of many.
func concatenate(s *arrow.Schema, batches []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(batches) == 1 {
		return batches[0], nil
	}
	rows := int64(0)
	for _, b := range batches {
		rows += b.NumRows()
	}
	columns := make([]arrow.Array, s.NumFields())
	for i := range columns {
		parts := make([]arrow.Array, len(batches))
		for k, b := range batches {
			parts[k] = b.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(parts, memory.DefaultAllocator); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(s, columns, rows), nil
}

package dataset

import (
	"context"
	"fmt"
	"io"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// ReadOptions determine what of a dataset is read. The zero value reads everything.
type ReadOptions struct {
	// Columns to read, by index in the schema, in the order of the batches; nil reads all.
	Columns []int
	// Rows to read, in rising order, numbered without those that are deleted; nil reads all. Fragments without any of them
	// are not touched.
	Rows []lance.Rows
	// BatchRows is the most rows of a batch, fileformat.DefaultBatchRows if 0.
	BatchRows int
}

// Source reads rows, fragment after fragment. Not for concurrent use.
type Source struct {
	d       *Dataset
	o       ReadOptions
	columns []*lance.Node
	schema  *arrow.Schema
	parts   []part
	reader  *fragmentReader
	batch   arrow.RecordBatch
}

// part is the rest to read of a fragment: a range of its rows that are not deleted.
type part struct {
	f          *fragment
	start, end uint64
}

// Read implements fileformat.File. Filters are not asked: all rows are read.
func (d *Dataset) Read(_ context.Context, o fileformat.ReadOptions) (fileformat.Source, error) {
	return d.NewSource(ReadOptions{Columns: o.Columns, BatchRows: o.BatchRows})
}

// NewSource starts reading; nothing is requested before the first batch.
func (d *Dataset) NewSource(o ReadOptions) (*Source, error) {
	if o.BatchRows <= 0 {
		o.BatchRows = fileformat.DefaultBatchRows
	}
	s := &Source{d: d, o: o, columns: d.nodes, schema: d.schema}
	if o.Columns != nil {
		s.columns = []*lance.Node{}
		var fields []arrow.Field
		for _, i := range o.Columns {
			if i < 0 || i >= len(d.nodes) {
				return nil, fmt.Errorf("column %d of %d", i, len(d.nodes))
			}
			s.columns, fields = append(s.columns, d.nodes[i]), append(fields, d.schema.Field(i))
		}
		metadata := d.schema.Metadata()
		s.schema = arrow.NewSchema(fields, &metadata)
	}
	if o.Rows == nil {
		s.o.Rows = []lance.Rows{{Start: 0, End: d.Rows()}}
	}
	return s, s.choose()
}

// choose finds the rows that are wanted of each fragment.
func (s *Source) choose() error {
	last := uint64(0)
	for _, r := range s.o.Rows {
		if r.Start < last || r.End < r.Start || r.End > s.d.Rows() {
			return fmt.Errorf("rows %d to %d of %d: ranges must be ascending", r.Start, r.End, s.d.Rows())
		}
		last = r.End
		first := uint64(0)
		for i := range s.d.m.fragments {
			f := &s.d.m.fragments[i]
			end := first + f.rows()
			if low, high := max(r.Start, first), min(r.End, end); low < high {
				s.parts = append(s.parts, part{f, low - first, high - first})
			}
			first = end
		}
	}
	return nil
}

// Schema implements fileformat.Source.
func (s *Source) Schema() *arrow.Schema { return s.schema }

// Report implements fileformat.Source: batches hold all that the dataset does.
func (s *Source) Report() *arrowtype.Report { return &arrowtype.Report{} }

// Close implements fileformat.Source.
func (s *Source) Close() error {
	s.release()
	if s.reader != nil {
		s.reader.close()
		s.reader = nil
	}
	return nil
}

func (s *Source) release() {
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
}

// Next implements fileformat.Source.
func (s *Source) Next(ctx context.Context) (arrow.RecordBatch, error) {
	s.release()
	for {
		if s.reader == nil {
			if len(s.parts) == 0 {
				return nil, io.EOF
			}
			var err error
			if s.reader, err = s.open(ctx, s.parts[0]); err != nil {
				return nil, err
			}
			s.parts = s.parts[1:]
		}
		batch, err := s.reader.next(ctx)
		if err == io.EOF {
			s.reader.close()
			s.reader = nil
			continue
		}
		s.batch = batch
		return batch, err
	}
}

// fragmentReader reads rows of one fragment.
type fragmentReader struct {
	s       *Source
	files   []*fileReader
	from    []origin // of each column
	deleted *roaring.Bitmap
	spans   []lance.Rows // physical rows left to read
	rows    int64        // most of a batch
}

// origin is where a column comes from: a column of the batches of a file, or nowhere.
type origin struct {
	file, column int
	have         *lance.Node
}

// fileReader is a data file on its way; its batches are as long as its windows allow.
type fileReader struct {
	src   *lance.Source
	url   string
	batch arrow.RecordBatch
	at    int64
}

// open opens the data files that hold wanted columns of a fragment.
func (s *Source) open(ctx context.Context, p part) (*fragmentReader, error) {
	deleted, err := s.d.deletions(ctx, p.f)
	if err != nil {
		return nil, err
	}
	r := &fragmentReader{s: s, deleted: deleted}
	r.spans = spans(deleted, nth(deleted, p.start, p.f.physical), nth(deleted, p.end-1, p.f.physical)+1)
	wanted := make([][]int32, len(p.f.files)) // ids of fields at the top, by file
	for _, n := range s.columns {
		at, err := holder(p.f, n)
		if err != nil {
			return nil, s.d.located(err)
		}
		from := origin{file: -1}
		if at >= 0 {
			from = origin{file: at, column: len(wanted[at])}
			wanted[at] = append(wanted[at], n.ID)
		}
		r.from = append(r.from, from)
	}
	opened := make([]int, len(p.f.files))
	for i, ids := range wanted {
		opened[i] = -1
		if len(ids) == 0 {
			continue
		}
		opened[i] = len(r.files)
		if err := r.openFile(ctx, p.f, i, ids); err != nil {
			r.close()
			return nil, err
		}
	}
	for i := range r.from {
		if r.from[i].file >= 0 {
			r.from[i].file = opened[r.from[i].file]
		}
	}
	if len(r.files) == 0 && len(r.from) > 0 { // nulls alone: as many as there are rows, not as the manifest states
		if _, err := s.d.file(ctx, p.f, 0); err != nil {
			return nil, err
		}
	}
	return r, r.weigh()
}

// maxNullBytes is about the most that the nulls of a batch take: nothing is stored that would bound them.
const maxNullBytes = 64 << 20

// weigh makes batches short enough for nulls that no file holds.
func (r *fragmentReader) weigh() error {
	width := 0.0
	for i, from := range r.from {
		if from.file < 0 {
			width += nullBytes(r.s.schema.Field(i).Type)
		}
	}
	if width > maxNullBytes {
		return r.s.d.located(corrupt.Unsupported(0, "a row of nulls of %.0f bytes", width))
	}
	r.rows = int64(min(float64(r.s.o.BatchRows), max(1, maxNullBytes/max(width, 1))))
	return nil
}

// nullBytes is about what a null of a type takes in memory.
func nullBytes(t arrow.DataType) float64 {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		return float64(t.Len()) * nullBytes(t.Elem())
	case *arrow.StructType:
		width := 1.0
		for _, f := range t.Fields() {
			width += nullBytes(f.Type)
		}
		return width
	case arrow.FixedWidthDataType:
		return float64(t.BitWidth())/8 + 1
	}
	return 9
}

// openFile starts reading the fields of a data file.
func (r *fragmentReader) openFile(ctx context.Context, f *fragment, i int, ids []int32) error {
	url := r.s.d.dataURL(f.files[i])
	file, err := r.s.d.file(ctx, f, i)
	if err != nil {
		return err
	}
	var columns []int
	for _, id := range ids {
		c, err := top(file, id)
		if err != nil {
			return r.s.d.fileError(url, err)
		}
		columns = append(columns, c)
		for j := range r.from {
			if r.from[j].file == i && r.s.columns[j].ID == id {
				r.from[j].have = file.Fields()[c]
			}
		}
	}
	src, err := file.NewSource(ctx, lance.ReadOptions{Columns: columns, Rows: r.spans, BatchRows: r.s.o.BatchRows})
	if err == nil {
		r.files = append(r.files, &fileReader{src: src, url: url})
	}
	return err
}

func (r *fragmentReader) close() {
	for _, f := range r.files {
		f.src.Close()
	}
}

// next gives the rows that all files have available, without the deleted ones.
func (r *fragmentReader) next(ctx context.Context) (arrow.RecordBatch, error) {
	for len(r.spans) > 0 && r.spans[0].Start == r.spans[0].End {
		r.spans = r.spans[1:]
	}
	if len(r.spans) == 0 {
		return nil, io.EOF
	}
	low := r.spans[0].Start
	n := min(int64(r.spans[0].End-low), r.rows)
	for _, f := range r.files {
		if f.batch == nil || f.at == f.batch.NumRows() {
			var err error
			if f.batch, err = f.src.Next(ctx); err != nil {
				return nil, unexpected(f.url, err)
			}
			f.at = 0
		}
		n = min(n, f.batch.NumRows()-f.at)
	}
	rows := r.live(low, low+uint64(n))
	columns := make([]arrow.Array, len(r.from))
	total := int64(0)
	for _, run := range rows {
		total += run[1] - run[0]
	}
	for i := range r.from {
		c, err := r.column(i, n, rows, total)
		if err != nil {
			return nil, err
		}
		columns[i] = c
		defer c.Release()
	}
	for _, f := range r.files {
		f.at += n
	}
	r.spans[0].Start += uint64(n)
	return array.NewRecordBatch(r.s.schema, columns, total), nil
}

// live are the runs of rows of [low, high) that are not deleted, counted from low.
func (r *fragmentReader) live(low, high uint64) (out [][2]int64) {
	liveRuns(r.deleted, low, high, func(start, end uint64) { out = append(out, [2]int64{int64(start - low), int64(end - low)}) })
	return out
}

// column is the rows of a column among the next n, of which runs are wanted, total rows of them.
func (r *fragmentReader) column(i int, n int64, runs [][2]int64, total int64) (arrow.Array, error) {
	t := r.s.schema.Field(i).Type
	from := r.from[i]
	if from.file < 0 {
		return array.MakeArrayOfNull(memory.DefaultAllocator, t, int(total)), nil
	}
	f := r.files[from.file]
	data, err := adapt(r.s.columns[i], from.have, f.batch.Column(from.column).Data())
	if err != nil {
		return nil, r.s.d.fileError(f.url, err)
	}
	whole := array.MakeFromData(data)
	defer whole.Release()
	if len(runs) == 1 {
		return array.NewSlice(whole, f.at+runs[0][0], f.at+runs[0][1]), nil
	}
	slices := make([]arrow.Array, len(runs))
	for j, run := range runs {
		slices[j] = array.NewSlice(whole, f.at+run[0], f.at+run[1])
		defer slices[j].Release()
	}
	if len(slices) == 0 {
		return array.NewSlice(whole, 0, 0), nil
	}
	return array.Concatenate(slices, memory.DefaultAllocator)
}

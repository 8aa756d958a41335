package lance

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Rows is a range of rows: those from Start on, before End.
type Rows struct{ Start, End uint64 }

// ReadOptions determine what of a file is read. The zero value reads everything.
type ReadOptions struct {
	// Columns to read, by index in the schema, in the order of the batches; nil reads all.
	Columns []int
	// Rows to read, in rising order; nil reads all.
	Rows []Rows
	// BatchRows is the most rows of a batch, fileformat.DefaultBatchRows if 0.
	BatchRows int
	// WindowBytes is about how much is fetched at once, for all columns together, DefaultWindowBytes if 0. A single row
	// may take more.
	WindowBytes int
	// MayMatch: see fileformat.ReadOptions.
	MayMatch func(stats func(column int) *filter.Stats) bool
}

// DefaultWindowBytes is the usual size of a window.
const DefaultWindowBytes = 32 << 20

// Source reads rows in order. Not for concurrent use.
type Source struct {
	f        *File
	o        ReadOptions
	schema   *arrow.Schema
	columns  []int
	decoders []decoder
	runs     []Rows // the rest to read
	window   uint64 // what was fetched ends here, in the first of the runs
	batch    arrow.RecordBatch
}

// Read implements fileformat.File.
func (f *File) Read(ctx context.Context, o fileformat.ReadOptions) (fileformat.Source, error) {
	return f.NewSource(ctx, ReadOptions{Columns: o.Columns, BatchRows: o.BatchRows, MayMatch: o.MayMatch})
}

// NewSource starts reading rows. Encodings of the columns that are not known are refused here.
func (f *File) NewSource(ctx context.Context, o ReadOptions) (*Source, error) {
	if o.BatchRows <= 0 {
		o.BatchRows = fileformat.DefaultBatchRows
	}
	if o.WindowBytes <= 0 {
		o.WindowBytes = DefaultWindowBytes
	}
	s := &Source{f: f, o: o, columns: o.Columns, runs: []Rows{{0, f.desc.rows}}}
	if s.columns == nil {
		s.columns = make([]int, len(f.top))
		for i := range s.columns {
			s.columns[i] = i
		}
	}
	if err := s.choose(); err != nil {
		return nil, err
	}
	var fields []arrow.Field
	for _, i := range s.columns {
		if i < 0 || i >= len(f.top) {
			return nil, fmt.Errorf("column %d of %d", i, len(f.top))
		}
		d, err := f.top[i].decoder(ctx, f)
		if err != nil {
			return nil, corrupt.Locate(err, f.url, 0)
		}
		fields, s.decoders = append(fields, f.schema.Field(i)), append(s.decoders, d)
	}
	metadata := f.schema.Metadata()
	s.schema = arrow.NewSchema(fields, &metadata)
	return s, corrupt.Locate(s.prune(ctx), f.url, 0)
}

// choose takes the rows that were requested.
func (s *Source) choose() error {
	if s.o.Rows == nil {
		return nil
	}
	s.runs = nil
	last := uint64(0)
	for _, r := range s.o.Rows {
		if r.Start < last || r.End < r.Start || r.End > s.f.desc.rows {
			return fmt.Errorf("rows %d to %d of %d: ranges must be ascending", r.Start, r.End, s.f.desc.rows)
		}
		s.runs, last = append(s.runs, r), r.End
	}
	return nil
}

// Schema implements fileformat.Source.
func (s *Source) Schema() *arrow.Schema { return s.schema }

// Report implements fileformat.Source: batches hold all that a file does.
func (s *Source) Report() *arrowtype.Report { return &arrowtype.Report{} }

// Close implements fileformat.Source.
func (s *Source) Close() error {
	s.release()
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
	for len(s.runs) > 0 && s.runs[0].Start == s.runs[0].End {
		s.runs, s.window = s.runs[1:], 0
	}
	if len(s.runs) == 0 {
		return nil, io.EOF
	}
	if err := s.next(ctx); err != nil {
		return nil, corrupt.Locate(err, s.f.url, 0)
	}
	return s.batch, nil
}

func (s *Source) next(ctx context.Context) error {
	run := &s.runs[0]
	if s.window <= run.Start {
		if err := s.load(ctx, run); err != nil {
			return err
		}
	}
	end := min(s.window, run.Start+uint64(s.o.BatchRows))
	for s.weigh(run.Start, end) > maxBatchBytes && end-run.Start > 1 {
		end = run.Start + (end-run.Start)/2
	}
	columns := make([]arrow.Array, len(s.decoders))
	for i, d := range s.decoders {
		data, err := d.decode(run.Start, end)
		if err != nil {
			return err
		}
		columns[i] = array.MakeFromData(data)
	}
	s.batch = array.NewRecordBatch(s.schema, columns, int64(end-run.Start))
	for _, c := range columns {
		c.Release()
	}
	run.Start = end
	return nil
}

// maxBatchBytes is about the most that a batch takes, unless a single row takes more: few stored bytes can stand for many.
const maxBatchBytes = 64 << 20

func (s *Source) weigh(low, end uint64) (total uint64) {
	for _, d := range s.decoders {
		total += d.weigh(low, end)
	}
	return total
}

// load fetches the next window: rows that all columns have in one page, as many as the budget allows. What there is to
// fetch shows step by step, as offsets come in.
func (s *Source) load(ctx context.Context, run *Rows) error {
	end := run.End
	for _, d := range s.decoders {
		end = min(end, pageEnd(d, run.Start))
	}
	var r requests
	for {
		for s.weigh(run.Start, end) > uint64(s.o.WindowBytes) && end-run.Start > 1 {
			end = run.Start + (end-run.Start)/2
		}
		for _, d := range s.decoders {
			if err := d.request(run.Start, end, &r); err != nil {
				return err
			}
		}
		more, err := r.fetch(ctx, s.f.src)
		if err != nil {
			return err
		}
		if !more {
			s.window = end
			return nil
		}
	}
}

// pageEnd is where the page of a field that holds a row ends; for a struct, the first page of any of its fields.
func pageEnd(d decoder, row uint64) uint64 {
	end := uint64(math.MaxUint64)
	switch d := d.(type) {
	case *chain:
		if i := d.find(row); i < len(d.pages) {
			p := &d.pages[i]
			end = p.end
			inner := p.decoder
			if n, ok := inner.(*nulls); ok {
				inner = n.values
			}
			if s, ok := inner.(*structs); ok {
				for _, field := range s.fields {
					end = min(end, pageEnd(field, row))
				}
			}
		}
	case *typed:
		return pageEnd(d.decoder, row)
	case *structural:
		return d.pageEnd(row)
	}
	return end
}

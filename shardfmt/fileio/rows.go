package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Rows are the records of one file of any format, some of its columns and those that a filter selects.
type Rows struct {
	src     Source
	where   *filter.Bound
	columns []int // of the source's fields, in the order requested
	schema  *schema.Schema
}

// openFile opens an object of one of Files.
func openFile(ctx context.Context, st fileformat.Store, url string, f *fileformat.Format, settings fileformat.Settings) (fileformat.File, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	return f.Open(ctx, st, url, fileformat.OpenOptions{Settings: settings})
}

// OpenRows opens the file at url, of the format o.Format, to read the columns o.Columns of the records for which o.Where is true. Formats with
// statistics or an index read no more than those leave.
func OpenRows(ctx context.Context, sp *blobio.Client, url string, o SourceOptions) (*Rows, error) {
	o = o.withDefaults()
	wanted := selection{o.Columns, o.Where}
	o.Columns, o.Where = nil, nil
	f := o.Format.File()
	if f == nil {
		src, err := OpenSource(ctx, sp, []string{url}, o)
		if err != nil {
			return nil, err
		}
		where, err := wanted.bind(src.Schema())
		if err != nil {
			return nil, errors.Join(err, src.Close())
		}
		return newRows(src, src.Schema(), wanted.columns, where)
	}
	file, err := openFile(ctx, sp, url, f, o.Settings)
	if err != nil {
		return nil, err
	}
	r, err := rowsOf(ctx, file, path.Base(url), wanted, o)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// selection is what is requested of a file: columns, by name, nil for all, of the records that a filter selects, nil for none.
type selection struct {
	columns []string
	where   filter.Expr
}

// bind ties the filter to the fields of the file.
func (s selection) bind(all *schema.Schema) (*filter.Bound, error) {
	if s.where == nil {
		return nil, nil
	}
	return filter.Bind(s.where, all)
}

// rowsOf reads from a file the columns that are requested and those that the filter needs.
func rowsOf(ctx context.Context, file fileformat.File, name string, wanted selection, o SourceOptions) (*Rows, error) {
	all, _, err := arrowtype.FromArrow(arrowtype.Named(file.Schema()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all.Number()
	if o.bound, err = wanted.bind(all); err != nil {
		return nil, err
	}
	o.Schema = all
	if wanted.columns != nil {
		needed := &schema.Schema{Count: all.Count}
		for _, f := range all.Fields {
			if slices.Contains(wanted.columns, f.Name) || o.bound != nil && slices.ContainsFunc(o.bound.Paths(), func(p filter.Path) bool { return p[0] == f.Name }) {
				needed.Fields, o.Columns = append(needed.Fields, f), append(o.Columns, f.Name)
			}
		}
		o.Schema = needed
	}
	f, err := readFile(ctx, file, o)
	if err != nil {
		return nil, err
	}
	src := &batchSource{options: o, schema: o.Schema, original: f.schema(), name: name, file: f, told: map[string]bool{},
		unpacking: unpacking{limit: o.withDefaults().MaxMemory}}
	if err := src.begin(); err != nil {
		return nil, err
	}
	return newRows(src, all, wanted.columns, o.bound)
}

// newRows selects columns and records from a source whose file has the fields all.
func newRows(src Source, all *schema.Schema, columns []string, where *filter.Bound) (*Rows, error) {
	r := &Rows{src: src, schema: src.Schema(), where: where}
	if columns == nil {
		return r, nil
	}
	fields := src.Schema().Fields
	r.schema, r.columns = &schema.Schema{Count: src.Schema().Count}, []int{}
	for _, name := range columns {
		i := slices.IndexFunc(fields, func(n *schema.Node) bool { return n.Name == name })
		if i < 0 {
			_, err := all.Lookup(name)
			if err == nil {
				err = fmt.Errorf("%w: %q: only top-level columns can be selected from a file that is not a shard", schema.ErrNoField, name)
			}
			return nil, errors.Join(err, src.Close())
		}
		r.columns, r.schema.Fields = append(r.columns, i), append(r.schema.Fields, fields[i])
	}
	return r, nil
}

// Schema of the records.
func (r *Rows) Schema() *schema.Schema { return r.schema }

// Original is the Arrow schema of the file, or nil.
func (r *Rows) Original() *arrow.Schema { return OriginalSchema(r.src) }

// Close lets go of the file.
func (r *Rows) Close() error { return r.src.Close() }

// All yields the records as batches of the canonical types, which are valid until the next one.
func (r *Rows) All(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for {
			batch, err := r.src.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			more := r.emit(ctx, batch, yield)
			batch.Release()
			if !more {
				return
			}
		}
	}
}

// emit yields the selected runs of a batch.
func (r *Rows) emit(ctx context.Context, batch arrow.RecordBatch, yield func(arrow.RecordBatch, error) bool) bool {
	out := r.project(batch)
	defer out.Release()
	if r.where == nil {
		return yield(out, nil)
	}
	bits, _, err := r.where.Charged(func(uint64) error { return ctx.Err() }).Select(batch)
	if err != nil {
		return yield(nil, err)
	}
	set := func(i int64) bool { return bits[i/8]>>(i%8)&1 == 1 }
	for i := int64(0); i < batch.NumRows(); i++ {
		start := i
		for i < batch.NumRows() && set(i) {
			i++
		}
		if i == start {
			continue
		}
		run := out.NewSlice(start, i)
		more := yield(run, nil)
		run.Release()
		if !more {
			return false
		}
	}
	return true
}

func (r *Rows) project(batch arrow.RecordBatch) arrow.RecordBatch {
	if r.columns == nil {
		batch.Retain()
		return batch
	}
	columns := make([]arrow.Array, len(r.columns))
	fields := make([]arrow.Field, len(r.columns))
	for i, c := range r.columns {
		columns[i], fields[i] = batch.Column(c), batch.Schema().Field(c)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows())
}

// Inspect describes a file that is not a shard.
func (f Format) Inspect(ctx context.Context, sp *blobio.Client, url string, detail int, settings fileformat.Settings) (*fileformat.Inspection, error) {
	if format := f.File(); format != nil {
		file, err := openFile(ctx, sp, url, format, settings)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return file.Inspect(ctx, detail)
	}
	rows, err := OpenRows(ctx, sp, url, SourceOptions{Format: f})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	x := &fileformat.Inspection{URL: url, Format: string(f), Schema: rows.Schema().Fields}
	for batch, err := range rows.All(ctx) {
		if err != nil {
			return nil, err
		}
		x.Records += uint64(batch.NumRows())
	}
	info, err := sp.Stat(ctx, url)
	x.SizeBytes = info.Size
	return x, err
}

// Verify reads all of a file that is not a shard and checks what its format lets it check. progress, if not nil, is called with how
// many bytes were read or checked, and how many there are.
func (f Format) Verify(ctx context.Context, sp *blobio.Client, url string, settings fileformat.Settings, progress func(done, total int64)) (*corrupt.Report, error) {
	if format := f.File(); format != nil {
		file, err := openFile(ctx, sp, url, format, settings)
		if err == nil {
			defer file.Close()
			return verifyFile(ctx, sp, url, file, progress)
		}
		return evaluated(&corrupt.Report{Objects: 1, Errors: []corrupt.Finding{}}, url, err)
	}
	info, err := sp.Stat(ctx, url)
	if err != nil {
		return nil, err
	}
	r := &corrupt.Report{Objects: 1, Bytes: info.Size, UnprotectedBytes: info.Size, Errors: []corrupt.Finding{}}
	rows, err := OpenRows(ctx, sp, url, SourceOptions{Format: f, Progress: progress})
	if err != nil {
		return evaluated(r, url, err)
	}
	defer rows.Close()
	for _, err := range rows.All(ctx) {
		if err != nil {
			return evaluated(r, url, err)
		}
	}
	return evaluated(r, url, nil)
}

// verifyFile lets the format of a file check it; the bytes that it does not count, of heads and footers, are done at the end.
func verifyFile(ctx context.Context, st fileformat.Store, url string, file fileformat.File, progress func(done, total int64)) (*corrupt.Report, error) {
	if progress == nil {
		return file.Verify(ctx, fileformat.VerifyOptions{})
	}
	total, err := storedSize(ctx, st, url)
	if err != nil {
		return nil, err
	}
	var done atomic.Int64
	r, err := file.Verify(ctx, fileformat.VerifyOptions{Progress: func(n int64) { progress(min(done.Add(n), total), total) }})
	if err == nil {
		progress(total, total)
	}
	return r, err
}

// evaluated makes a finding of an error of stored data, and gives back any other.
func evaluated(r *corrupt.Report, url string, err error) (*corrupt.Report, error) {
	var damage *corrupt.Error
	switch {
	case err == nil:
	case errors.As(err, &damage) && damage.Kind == corrupt.ErrCorrupt:
		r.Errors = append(r.Errors, corrupt.Finding{Object: url, Offset: damage.Offset, What: damage.What})
	case errors.Is(err, ErrRecord):
		r.Errors = append(r.Errors, corrupt.Finding{Object: url, Offset: -1, What: err.Error()})
	default:
		return nil, err
	}
	r.OK = len(r.Errors) == 0
	return r, nil
}

package fileio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowipc"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/cole"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance/dataset"
	"github.com/shardcat/shardcat/shardfmt/internal/layer"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Files are the formats that have a package of their own, each of which knows no other.
var Files = []*fileformat.Format{dataset.Format, cole.Format, layer.Format}

// File gives the format by its package, or nil if it is none of Files.
func (f Format) File() *fileformat.Format {
	for _, file := range Files {
		if file.Name == string(f) {
			return file
		}
	}
	return nil
}

// HoldsBatches reports whether the format's files are read as Arrow batches and written from them, so that a
// conversion needs no types but Arrow's.
func (f Format) HoldsBatches() bool {
	return f == Parquet || f == Arrow || f == ArrowStream || f.File() != nil
}

// ErrUnknownFormat is an object whose format neither its name nor its bytes tell.
var ErrUnknownFormat = errors.New("format not detected from name or content")

// Detect reports the format of an object by its name or else by its first and last bytes.
func Detect(ctx context.Context, st fileformat.Store, url string) (Format, error) {
	if f, ok := formatOf(url); ok {
		return f, nil
	}
	tail, info, err := st.ReadSuffix(ctx, strings.TrimSuffix(url, "/"), fileformat.SniffBytes)
	if errors.Is(err, blobio.ErrNotFound) {
		if is, listErr := isDataset(ctx, st, url); is || listErr != nil {
			return Format(dataset.Format.Name), listErr
		}
	}
	if err != nil {
		return "", err
	}
	head := tail
	if info.Size > int64(len(tail)) {
		head = make([]byte, fileformat.SniffBytes)
		if _, err := st.ReadRange(ctx, url, 0, head); err != nil {
			return "", err
		}
	}
	if f := sniff(head, tail); f != "" {
		return f, nil
	}
	if bytes.HasPrefix(head, meta.Magic[:4]) {
		return "", shardError(path.Base(url))
	}
	return "", fmt.Errorf("%s: %w: name it by --format or --from", path.Base(url), ErrUnknownFormat)
}

// shardError is an object of a shard where a file of another format was expected; it is an ErrUnknownFormat.
type shardError string

func (e shardError) Error() string {
	return string(e) + ": an Amudai shard: shardcat register adds it to a table, shardcat convert writes its rows to a file"
}
func (e shardError) Is(target error) bool { return target == ErrUnknownFormat }

func sniff(head, tail []byte) Format {
	for _, f := range Files {
		if f.Sniff(head, tail) {
			return Format(f.Name)
		}
	}
	switch {
	case strings.HasPrefix(string(head), "PAR1"):
		return Parquet
	case strings.HasPrefix(string(head), arrowipc.Magic):
		return Arrow
	}
	return ""
}

// columnarFile reads a file of one of Files as an input of a batchSource.
type columnarFile struct {
	fileformat.Source
	file fileformat.File
}

func (f columnarFile) schema() *arrow.Schema                               { return f.Schema() }
func (f columnarFile) next(ctx context.Context) (arrow.RecordBatch, error) { return f.Next(ctx) }
func (f columnarFile) close() error                                        { return errors.Join(f.Source.Close(), f.file.Close()) }

// openColumnar opens an input that has a package of its own.
func openColumnar(ctx context.Context, sp *blobio.Client, f *fileformat.Format, in input, o SourceOptions) (batchFile, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if in.url == "" {
		return nil, fmt.Errorf("%s needs random access and can't be read from standard input: use a file", f.Name)
	}
	file, err := f.Open(ctx, in.meter.store(sp), in.url, fileformat.OpenOptions{Settings: o.Settings})
	if err != nil {
		return nil, err
	}
	opened, err := readFile(ctx, file, o)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return opened, nil
}

// readFile starts reading an open file.
func readFile(ctx context.Context, file fileformat.File, o SourceOptions) (batchFile, error) {
	report := &arrowtype.Report{}
	fields, changed := arrowtype.UniqueNames(file.Schema().Fields(), report)
	named := arrow.NewSchema(fields, nil)
	columns, err := columnsOf(named, o.Columns)
	if err != nil {
		return nil, err
	}
	src, err := file.Read(ctx, fileformat.ReadOptions{BatchRows: o.BatchRows, Columns: columns, MayMatch: mayMatch(named, o)})
	if err != nil {
		return nil, err
	}
	out := columnarFile{src, file}
	if !changed {
		return out, nil
	}
	// Names go by the place in the whole file, whatever columns are read.
	if columns != nil {
		fields = nil
		for _, i := range columns {
			fields = append(fields, named.Field(i))
		}
	}
	metadata := src.Schema().Metadata()
	return &renamed{batchFile: out, types: arrow.NewSchema(fields, &metadata), report: report}, nil
}

// columnsOf finds columns by name; nil means all.
func columnsOf(s *arrow.Schema, names []string) ([]int, error) {
	if names == nil {
		return nil, nil
	}
	out := []int{}
	for _, name := range names {
		i := s.FieldIndices(name)
		if len(i) == 0 {
			return nil, fmt.Errorf("%w: %q", schema.ErrNoField, name)
		}
		out = append(out, i[0])
	}
	return out, nil
}

// mayMatch asks the filter of a source by the columns of a file, which have the names of its fields.
func mayMatch(s *arrow.Schema, o SourceOptions) func(func(int) *filter.Stats) bool {
	if o.bound == nil || o.Schema == nil {
		return nil
	}
	column := map[uint32]int{}
	for _, n := range o.Schema.Fields {
		if i := s.FieldIndices(n.Name); len(i) == 1 {
			column[n.ID] = i[0]
		}
	}
	return func(stats func(int) *filter.Stats) bool {
		return o.bound.MayMatch(func(id uint32) *filter.Stats {
			if i, ok := column[id]; ok {
				return stats(i)
			}
			return nil
		})
	}
}

// OpenBatches opens one object of a format that holds batches, to be read in its own Arrow types.
func OpenBatches(ctx context.Context, sp *blobio.Client, url string, o SourceOptions) (fileformat.Source, error) {
	o = o.withDefaults()
	name := path.Base(url)
	in := []input{{name: name, url: url}}
	if err := metered(ctx, sp, in, o); err != nil {
		return nil, err
	}
	f, err := openBatches(ctx, sp, in[0], o)
	if err != nil {
		return nil, corrupt.Locate(err, name, 0)
	}
	return batches{f}, nil
}

// batches is an input as a Source of the seam.
type batches struct{ batchFile }

func (b batches) Schema() *arrow.Schema { return b.schema() }

func (b batches) Next(ctx context.Context) (arrow.RecordBatch, error) { return b.next(ctx) }

func (b batches) Close() error { return b.close() }

func (b batches) Report() *arrowtype.Report {
	if c, ok := b.batchFile.(reporter); ok {
		return c.Report()
	}
	return &arrowtype.Report{}
}

// openBatchSink starts writing batches of any Arrow types in a format that holds batches and consists of one object.
func openBatchSink(f Format, w io.Writer, s *arrow.Schema, o SinkOptions) (fileformat.Sink, error) {
	if file := f.File(); file != nil {
		if err := file.Check(); err != nil {
			return nil, err
		}
		if file.NewSink == nil {
			return nil, fmt.Errorf("%s is written as a folder and can't be written to a stream", f)
		}
		return file.NewSink(w, s, o.sink())
	}
	return newArrowSink(f, w, s, o.Exact)
}

func (o SinkOptions) sink() fileformat.SinkOptions {
	return fileformat.SinkOptions{Settings: o.Settings, AllowLossy: !o.Exact, Remote: o.Remote}
}

// CreateBatches starts a file of batches of any Arrow types at url.
func (f Format) CreateBatches(ctx context.Context, sp *blobio.Client, url string, s *arrow.Schema, o SinkOptions) (fileformat.Output, error) {
	if file := f.File(); file != nil {
		return file.Create(ctx, sp, url, s, o.sink())
	}
	one := &fileformat.Format{Name: string(f), NewSink: func(w io.Writer, s *arrow.Schema, _ fileformat.SinkOptions) (fileformat.Sink, error) {
		return newArrowSink(f, w, s, o.Exact)
	}}
	return one.Create(ctx, sp, url, s, o.sink())
}

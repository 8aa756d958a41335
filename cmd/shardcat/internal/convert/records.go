package convert

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// magic starts the eight bytes at either end of an object of a shard; a version follows.
const (
	magic     = "amud"
	magicSize = 8
)

// Detect reports the format of an object, shards among them, by its name or else by its first and last bytes.
func Detect(ctx context.Context, st fileformat.Store, url string) (fileio.Format, error) {
	if f := Named(url); f != "" {
		return f, nil
	}
	tail, _, err := st.ReadSuffix(ctx, url, magicSize)
	if err != nil && !errors.Is(err, blobio.ErrNotFound) { // what is not found may be a folder
		return "", err
	}
	if len(tail) == magicSize && string(tail[:4]) == magic {
		return Amudai, nil
	}
	return fileio.Detect(ctx, st, url)
}

// records copies batches in the types of a shard.
func (j *job) records(ctx context.Context) (*arrowtype.Report, error) {
	src, original, err := j.openRecords(ctx)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	out, err := j.createRecords(ctx, src, original)
	if err != nil {
		return nil, err
	}
	next := func(ctx context.Context) (arrow.RecordBatch, error) { return src.Next(ctx) }
	write := func(b arrow.RecordBatch) error {
		defer b.Release()
		return out.Write(b)
	}
	return j.copy(ctx, next, write, out, func() *arrowtype.Report { return j.kept(fileio.Report(src)) })
}

// openRecords opens the input as records of a shard's types, with the Arrow schema they came with, if any.
func (j *job) openRecords(ctx context.Context) (fileio.Source, *arrow.Schema, error) {
	if j.from == Amudai {
		return openShard(ctx, j.c, j.in, j.o, &j.read)
	}
	src, err := fileio.OpenSource(ctx, j.c, []string{j.in}, j.o.Source)
	if err != nil {
		return nil, nil, err
	}
	return src, fileio.OriginalSchema(src), nil
}

// createRecords starts the output.
func (j *job) createRecords(ctx context.Context, src fileio.Source, original *arrow.Schema) (fileio.Output, error) {
	if j.to != Amudai {
		j.o.Sink.Original = original
		if j.o.TimeUnit != "" {
			var err error
			if j.o.Sink.Original, err = arrowtype.InUnit(original, j.o.TimeUnit); err != nil {
				return nil, err
			}
		}
		return j.to.Create(ctx, j.c, j.out, src.Schema(), j.o.Sink)
	}
	o := j.o.Shard
	if err := KeepSchema(original, &o.Properties); err != nil {
		return nil, err
	}
	w, err := shardfmt.NewWriter(ctx, j.c, j.out, src.Schema(), o)
	if err != nil {
		return nil, err
	}
	return &shardOutput{w, ctx}, nil
}

// KeepSchema adds the property from which the types of records that came with an Arrow schema are restored, where the default mapping does not
// restore them by itself. The schema may be nil.
func KeepSchema(original *arrow.Schema, properties *[]shardfmt.Property) error {
	if original == nil || arrowtype.Restores(original) {
		return nil
	}
	value, err := arrowtype.MarshalSchema(original)
	if err != nil {
		return err
	}
	*properties = append(*properties, shardfmt.BytesProperty(arrowtype.PropertySchema, value))
	return nil
}

// shardOutput writes a shard; its methods have no context of their own, so it works in that of the conversion.
type shardOutput struct {
	w  *shardfmt.Writer
	of context.Context
}

// Write implements fileio.Sink.
func (s *shardOutput) Write(b arrow.RecordBatch) error { return s.w.Write(s.of, b) }

// Close implements fileio.Sink.
func (s *shardOutput) Close() error {
	_, err := s.w.Close(s.of)
	return err
}

// Abort implements fileio.Output.
func (s *shardOutput) Abort() { s.w.Abort(s.of) }

// Report implements fileio.Output: a shard holds all of its types.
func (s *shardOutput) Report() *arrowtype.Report { return &arrowtype.Report{} }

// shardSource reads a shard.
type shardSource struct {
	schema     *schema.Schema
	next       func() (arrow.RecordBatch, error, bool)
	stop       func()
	rows, read int64
	progress   func(done, total int64)
}

func openShard(ctx context.Context, c *blobio.Client, url string, o Options, stats *shardfmt.ScanStats) (fileio.Source, *arrow.Schema, error) {
	shard, err := shardfmt.Open(ctx, c, url, shardfmt.OpenOptions{})
	if err != nil {
		return nil, nil, err
	}
	s, err := shard.Project(ctx, nil, false)
	if err != nil {
		return nil, nil, err
	}
	src := &shardSource{schema: s, rows: int64(shard.Records() - shard.Deleted()), progress: o.Progress}
	src.next, src.stop = iter.Pull2(shard.Scan(ctx, shardfmt.ScanOptions{MaxMemory: o.MaxMemory, Stats: stats}))
	return src, OriginalSchema(ctx, shard), nil
}

// OriginalSchema is the Arrow schema that a shard's records came with, or nil. A property that is none is of
// no more use than none.
func OriginalSchema(ctx context.Context, shard *shardfmt.Shard) *arrow.Schema {
	p, err := shard.Properties(ctx)
	if err != nil {
		return nil
	}
	for _, custom := range p.Custom {
		if custom.Name() != arrowtype.PropertySchema {
			continue
		}
		value, _ := custom.Bytes()
		s, err := arrowtype.UnmarshalSchema(value)
		if err != nil {
			return nil
		}
		return s
	}
	return nil
}

// Schema implements fileio.Source.
func (s *shardSource) Schema() *schema.Schema { return s.schema }

// Next implements fileio.Source.
func (s *shardSource) Next(context.Context) (arrow.RecordBatch, error) {
	batch, err, more := s.next()
	if !more {
		return nil, io.EOF
	}
	if err == nil {
		batch.Retain()
		s.read += batch.NumRows()
		if s.progress != nil {
			s.progress(s.read, s.rows)
		}
	}
	return batch, err
}

// Close implements fileio.Source.
func (s *shardSource) Close() error {
	s.stop()
	return nil
}

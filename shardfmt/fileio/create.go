package fileio

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Output is a sink that owns the objects it writes: Close commits them.
type Output interface {
	Sink
	// Report reports what the file does not hold; what concerns whole columns is in it before the first batch.
	Report() *arrowtype.Report
	// Abort abandons what was written; after Close it does nothing.
	Abort()
}

// Create starts a file of records at url.
func (f Format) Create(ctx context.Context, sp *blobio.Client, url string, s *schema.Schema, o SinkOptions) (Output, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if f.HoldsBatches() {
		return createRecords(f, s, o, func(types *arrow.Schema) (fileformat.Output, error) {
			return f.CreateBatches(ctx, sp, url, types, o)
		})
	}
	w, err := fileformat.NewObject(ctx, sp, url)
	if err != nil {
		return nil, err
	}
	out := &textOutput{w: w}
	warn := o.Warn
	o.Warn = func(message string) {
		out.report.Add("", message, 1)
		warn(message)
	}
	if out.Sink, err = NewSink(f, w, s, o); err != nil {
		w.Abort()
		return nil, err
	}
	return out, nil
}

// textOutput is a file of text.
type textOutput struct {
	Sink
	w      *fileformat.Object
	report arrowtype.Report
}

func (t *textOutput) Report() *arrowtype.Report { return &t.report }

func (t *textOutput) Abort() { t.w.Abort() }

// Close implements Sink.
func (t *textOutput) Close() error {
	if err := t.Sink.Close(); err != nil {
		t.w.Abort()
		return err
	}
	return t.w.Commit()
}

// batchOutput is a file of batches, which is begun when its Arrow types are known.
type batchOutput struct {
	*batchSink
	out fileformat.Output
}

func createRecords(f Format, s *schema.Schema, o SinkOptions, create func(*arrow.Schema) (fileformat.Output, error)) (Output, error) {
	b := &batchOutput{}
	open := func(types *arrow.Schema) (fileformat.Sink, error) {
		var err error
		b.out, err = create(types)
		return b.out, err
	}
	var err error
	b.batchSink, err = newBatchSink(f, open, s, o)
	return b, err
}

func (b *batchOutput) Abort() {
	if b.out != nil {
		b.out.Abort()
	}
}

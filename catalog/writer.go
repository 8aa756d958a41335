package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// WriterOptions of NewWriter. The zero value is valid.
type WriterOptions struct {
	// Ingest are the options of each flush. A JobID is refused: what a flush holds depends on time, so the same id
	// would not mean the same rows when the stream is delivered again.
	Ingest IngestOptions
	// A flush begins when so many rows or bytes wait, or when the oldest has waited for so long; 0 is the default.
	// A negative age never flushes by age.
	FlushRows  int64
	FlushBytes int64
	FlushAge   time.Duration
	// MaxBytes is how many bytes may wait, those of the flush at work among them, before Write blocks: twice
	// FlushBytes if 0.
	MaxBytes int64
	// Flushed, if not nil, is called for every flush, from one goroutine.
	Flushed func(*IngestResult)
}

// The defaults of a Writer.
const (
	defaultFlushRows  = defaultShardRows
	defaultFlushBytes = 256 << 20
	defaultFlushAge   = time.Minute
)

func (o *WriterOptions) fill() {
	if o.FlushRows == 0 {
		o.FlushRows = defaultFlushRows
	}
	if o.FlushBytes == 0 {
		o.FlushBytes = defaultFlushBytes
	}
	if o.FlushAge == 0 {
		o.FlushAge = defaultFlushAge
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 2 * o.FlushBytes
	}
}

// Writer appends batches to a table as they come: each flush is a job and a snapshot of its own. Rows that were
// written and not yet flushed are lost if the process dies; a flush is in the table whole or not at all. Its
// methods may be called concurrently.
type Writer struct {
	ctx    context.Context
	table  *Table
	schema *schema.Schema
	o      WriterOptions

	mu   sync.Mutex
	cond *sync.Cond
	// waiting batches, and what they and the flush at work hold.
	waiting []arrow.RecordBatch
	rows    int64
	bytes   int64
	held    int64
	oldest  time.Time
	// taken counts the batches that were taken, flushed those of them that are in the table.
	taken, flushed int64
	// asked: Flush or Close want everything flushed that waits.
	asked   int
	closing bool
	err     error
	stopped chan struct{}
}

// NewWriter starts a writer of batches of the given schema, in canonical types. The table is the writer's until Close
// returns.
func (t *Table) NewWriter(ctx context.Context, s *schema.Schema, o WriterOptions) (*Writer, error) {
	if _, err := t.projectSource(s); err != nil {
		return nil, err
	}
	if o.Ingest.keyed() {
		if _, err := t.keyOf(&o.Ingest); err != nil {
			return nil, err
		}
	}
	o.fill()
	if o.Ingest.named(); o.Ingest.JobID != "" {
		return nil, fmt.Errorf("%w: a stream can't have a job id or ingest-by tag, because the rows of a flush depend on timing", ErrInvalid)
	}
	if o.FlushRows < 0 || o.FlushBytes < 0 || o.MaxBytes < o.FlushBytes {
		return nil, fmt.Errorf("%w: invalid flush limits: %d rows, %d bytes, at most %d bytes buffered", ErrInvalid, o.FlushRows, o.FlushBytes, o.MaxBytes)
	}
	w := &Writer{ctx: ctx, table: t, schema: s, o: o, stopped: make(chan struct{})}
	w.cond = sync.NewCond(&w.mu)
	go w.run()
	return w, nil
}

// Write takes a batch, which is kept until it was flushed. It blocks while MaxBytes wait. The error is that of an
// earlier flush; nothing is taken any more then.
func (w *Writer) Write(ctx context.Context, b arrow.RecordBatch) error {
	size := sizeOf(b)
	stop := context.AfterFunc(ctx, w.wake)
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && !w.closing && ctx.Err() == nil && w.held > 0 && w.held+size > w.o.MaxBytes {
		w.asked++ // waiting for more would wait for ever
		w.cond.Broadcast()
		w.cond.Wait()
	}
	switch {
	case w.err != nil:
		return w.err
	case w.closing:
		return errWriterClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case b.NumRows() == 0:
		return nil
	}
	b.Retain()
	if len(w.waiting) == 0 {
		w.oldest = time.Now()
		if w.o.FlushAge > 0 {
			time.AfterFunc(w.o.FlushAge, w.wake)
		}
	}
	w.waiting = append(w.waiting, b)
	w.taken++
	w.rows, w.bytes, w.held = w.rows+b.NumRows(), w.bytes+size, w.held+size
	w.cond.Broadcast()
	return nil
}

// sizeOf is how many bytes a batch holds, at least one.
func sizeOf(b arrow.RecordBatch) int64 {
	size := int64(1)
	for _, c := range b.Columns() {
		size += int64(c.Data().SizeInBytes())
	}
	return size
}

var errWriterClosed = errors.New("the writer is closed")

func (w *Writer) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cond.Broadcast()
}

// Flush commits everything that was written before, and waits for it; what is written meanwhile may come later.
func (w *Writer) Flush(ctx context.Context) error {
	stop := context.AfterFunc(ctx, w.wake)
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	w.cond.Broadcast()
	for until := w.taken; w.flushed < until; w.cond.Wait() {
		if err := errors.Join(w.err, ctx.Err()); err != nil {
			return err
		}
	}
	return w.err
}

// Close flushes what waits and ends the writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closing = true
	w.cond.Broadcast()
	w.mu.Unlock()
	<-w.stopped
	return w.err
}

// run flushes until the writer is closed.
func (w *Writer) run() {
	defer close(w.stopped)
	for {
		batches, held := w.next()
		if batches == nil {
			return
		}
		err := parallel.Guarded(func() error {
			done, err := w.table.Ingest(w.ctx, &waitingSource{w.schema, batches}, w.o.Ingest)
			if err == nil && w.o.Flushed != nil {
				w.o.Flushed(done)
			}
			return err
		})
		w.mu.Lock()
		if err != nil { // what waits will never be flushed
			w.err = err
			batches, held = append(batches, w.waiting...), w.held
			w.waiting, w.rows, w.bytes = nil, 0, 0
		} else {
			w.flushed += int64(len(batches))
		}
		for _, b := range batches {
			b.Release()
		}
		w.held -= held
		w.cond.Broadcast()
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// next waits until there is something to flush; nil ends the writer.
func (w *Writer) next() (batches []arrow.RecordBatch, held int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.due() {
		if w.closing && len(w.waiting) == 0 {
			return nil, 0
		}
		w.asked = 0 // nothing waits for it
		w.cond.Wait()
	}
	batches, held = w.waiting, w.bytes
	w.waiting, w.rows, w.bytes, w.asked = nil, 0, 0, 0
	return batches, held
}

func (w *Writer) due() bool {
	if len(w.waiting) == 0 {
		return false
	}
	return w.closing || w.asked > 0 || w.rows >= w.o.FlushRows || w.bytes >= w.o.FlushBytes ||
		w.o.FlushAge > 0 && time.Since(w.oldest) >= w.o.FlushAge
}

// waitingSource yields batches that wait.
type waitingSource struct {
	schema *schema.Schema
	left   []arrow.RecordBatch
}

// Schema implements RecordSource.
func (s *waitingSource) Schema() *schema.Schema { return s.schema }

// Next implements RecordSource.
func (s *waitingSource) Next(context.Context) (arrow.RecordBatch, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	b := s.left[0]
	s.left = s.left[1:]
	return b, nil
}

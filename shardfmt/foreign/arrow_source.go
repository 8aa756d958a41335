package foreign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/arrowipc"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// DefaultMaxMemory is the most bytes of one Arrow IPC message, which is read and unpacked whole.
const DefaultMaxMemory = 1 << 30

// arrowStream reads Arrow IPC, a stream or a file.
type arrowStream struct {
	r        *ipc.Reader
	messages *arrowipc.Messages
	body     io.Closer
}

// openArrow opens an Arrow IPC file or stream, told by the magic that only files have.
func openArrow(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (batchFile, error) {
	r, err := in.open(ctx, sp)
	if err != nil {
		return nil, err
	}
	f, err := newArrowStream(r, bufio.NewReaderSize(r, 256<<10), o.MaxMemory)
	if err != nil {
		r.Close()
		return nil, err
	}
	return f, nil
}

// newArrowStream reads what comes through a buffer, and closes the body with it.
func newArrowStream(body io.Closer, r *bufio.Reader, maxMemory int64) (*arrowStream, error) {
	m, err := arrowipc.Open(r, arrowipc.Limits{Message: maxMemory, Window: maxWindow, TooLarge: batchTooLarge})
	if err != nil {
		return nil, damaged(err)
	}
	batches, err := ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(m.Memory()))
	if err != nil {
		return nil, causeOf(m, err)
	}
	return &arrowStream{batches, m, body}, nil
}

func batchTooLarge(size, most int64) error {
	return fmt.Errorf("a batch of %d bytes: at most %d are read at once; a larger limit (--max-memory) allows more, or write smaller batches", size, most)
}

// causeOf is the error that a reader met: its own, or that of the messages, which it only wraps in text.
func causeOf(m *arrowipc.Messages, err error) error {
	if source := m.SourceErr(); source != nil {
		return source
	}
	if own := m.Err(); own != nil {
		err = own
	}
	if errors.Is(err, corrupt.ErrCorrupt) {
		return err
	}
	return damaged(err)
}

func (s *arrowStream) schema() *arrow.Schema { return s.r.Schema() }

func (s *arrowStream) next(context.Context) (b arrow.RecordBatch, err error) {
	defer guard(&err, "Arrow stream")
	if s.r.Next() {
		return s.r.RecordBatch(), sound(s.r.RecordBatch(), s.messages.Unpacked())
	}
	if err := s.r.Err(); err != nil && err != io.EOF {
		return nil, causeOf(s.messages, err)
	}
	return nil, io.EOF
}

// reuse implements reuser.
func (s *arrowStream) reuse(may bool) { s.messages.Reuse(may) }

func (s *arrowStream) close() error {
	s.r.Release()
	return s.body.Close()
}

// damaged is an error of a library that reads a file's bytes.
func damaged(err error) error {
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: "the file can't be read", Err: err}
}

// sound reports whether a batch of unknown origin may be read without harm. A batch may hold many more rows than
// bytes, if all are null for instance, but not without end.
func sound(batch arrow.RecordBatch, bytes int64) error {
	const free = 1 << 24
	if batch.NumRows() > free && batch.NumRows()/8 > bytes {
		return damaged(fmt.Errorf("a batch of %d rows in %d bytes: more than a bit for each is wanted", batch.NumRows(), bytes))
	}
	if err := arrowtype.Validate(batch); err != nil {
		return damaged(err)
	}
	return nil
}

package fileio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowipc"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

// defaultMaxMemory is the most bytes of one Arrow IPC message, which is read and unpacked whole.
const defaultMaxMemory = 1 << 30

// arrowStream reads Arrow IPC, a stream or a file.
type arrowStream struct {
	r        *ipc.Reader
	messages *arrowipc.Messages
	body     io.Closer
}

// openArrow opens an Arrow IPC file or stream, told by the magic that only files have. A file is read by its footer: what is packed, or
// comes from a pipe, from a temporary file.
func openArrow(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (batchFile, error) {
	r, err := in.open(ctx, sp)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(r, arrowBuffer)
	var f *arrowStream
	if head, _ := b.Peek(len(arrowipc.Magic)); string(head) == arrowipc.Magic {
		f, err = (&arrowFile{sp: sp, in: in, body: r}).stream(ctx, b, o)
	} else if f, err = newArrowStream(r, b, o.MaxMemory); err != nil {
		r.Close()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// arrowBuffer is the buffer that Arrow is read through, in bytes.
const arrowBuffer = 256 << 10

// arrowFile is an Arrow file that is read by its footer, and the body that is open of it.
type arrowFile struct {
	sp   *blobio.Client
	in   input
	body io.ReadCloser
	// spooled is the temporary file, nil where the input is an object that is no longer than it was.
	spooled random
	// err is an error of the store, which states nothing of the file.
	err error
}

// stream reads the file, whose body is at its beginning and read through b.
func (a *arrowFile) stream(ctx context.Context, b *bufio.Reader, o SourceOptions) (*arrowStream, error) {
	size := a.in.size
	var err error
	if u, ok := a.body.(*unpacked); a.in.stream == nil && ok && u.plain {
		if size == 0 {
			info, statErr := a.sp.Stat(ctx, a.in.url)
			size, err = info.Size, statErr
		}
	} else if a.spooled, err = spool(b); err == nil {
		size = a.spooled.Size()
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	first := a.spooled == nil
	m, err := arrowipc.OpenFile(arrowipc.File{
		Size: size,
		Read: func(p []byte, off int64) error { return a.read(ctx, p, off) },
		Open: func(off int64) (*bufio.Reader, error) {
			if first && off <= arrowBuffer { // what is open is about there
				first = false
				_, err := b.Discard(int(off))
				return b, err
			}
			first = false
			return a.open(ctx, off)
		},
	}, arrowLimits(o.MaxMemory))
	if a.err != nil {
		err = a.err
	} else if err != nil {
		err = damaged(err)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	s, err := newMessageStream(a, m)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return s, nil
}

// read fills p from an offset on.
func (a *arrowFile) read(ctx context.Context, p []byte, off int64) error {
	if a.spooled != nil {
		_, a.err = a.spooled.ReadAt(p, off)
	} else {
		_, a.err = a.sp.ReadRange(ctx, a.in.url, off, p)
		a.in.meter.add(len(p))
	}
	return a.err
}

// open starts reading at an offset, in place of what was open.
func (a *arrowFile) open(ctx context.Context, off int64) (*bufio.Reader, error) {
	if a.spooled != nil {
		return bufio.NewReaderSize(io.NewSectionReader(a.spooled, off, a.spooled.Size()-off), arrowBuffer), nil
	}
	r, _, err := a.sp.Open(ctx, a.in.url, off)
	if err != nil {
		return nil, err
	}
	err = a.body.Close()
	a.body = a.in.meter.reader(r)
	return bufio.NewReaderSize(a.body, arrowBuffer), err
}

// Close implements io.Closer.
func (a *arrowFile) Close() error {
	err := a.body.Close()
	if a.spooled != nil {
		err = errors.Join(err, a.spooled.Close())
	}
	return err
}

// featherMagic begins files of the first version of Feather, which have a layout of their own.
const featherMagic = "FEA1"

// newArrowStream reads what comes through a buffer, and closes the body with it.
func newArrowStream(body io.Closer, r *bufio.Reader, maxMemory int64) (*arrowStream, error) {
	if head, _ := r.Peek(len(featherMagic)); string(head) == featherMagic {
		return nil, corrupt.Unsupported(0, "the file is Feather of version 1, which is not read: write version 2, which is an Arrow file")
	}
	m, err := arrowipc.Open(r, arrowLimits(maxMemory))
	if err != nil {
		return nil, damaged(err)
	}
	return newMessageStream(body, m)
}

func arrowLimits(maxMemory int64) arrowipc.Limits {
	return arrowipc.Limits{Message: maxMemory, Window: maxWindow, TooLarge: batchTooLarge}
}

// newMessageStream reads the batches of messages, and closes the body with them.
func newMessageStream(body io.Closer, m *arrowipc.Messages) (*arrowStream, error) {
	batches, err := ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(m.Memory()))
	if err != nil {
		return nil, causeOf(m, err)
	}
	return &arrowStream{batches, m, body}, nil
}

func batchTooLarge(size, most int64) error {
	return fmt.Errorf("a batch of %d bytes: at most %d are read at once; raise the limit with --max-memory, or write smaller batches", size, most)
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

// noEncoding is said of pages that the library does not decode.
const noEncoding = "a column has an encoding that is not read for its type, which the footer does not list: leave it out, or write the file with other encodings"

// damaged is an error of a library that reads a file's bytes.
func damaged(err error) error {
	if errors.Is(err, arrowtype.ErrVersion) {
		return &corrupt.Error{Kind: corrupt.ErrUnsupported, Offset: -1, What: "unsupported file", Err: err}
	}
	switch text := err.Error(); {
	case errors.Is(err, corrupt.ErrUnsupported):
		return err
	case strings.Contains(text, "decrypt"):
		return corrupt.Unsupported(-1, "the file is encrypted: write it without encryption")
	case parquetcodec.Undecoded(text):
		return corrupt.Unsupported(-1, noEncoding)
	case strings.Contains(text, "exceeds configured limit"):
		return corrupt.Unsupported(-1, "a page of the file is larger than the memory for it: a larger limit (--max-memory) allows more")
	case strings.Contains(text, "INT96 timestamp is outside"):
		return corrupt.Unsupported(-1, "an INT96 before 1677 or after 2262, which Arrow's nanoseconds don't hold: choose a coarser time unit (--time-unit us), or a format that has them (amudai, ndjson, csv)")
	}
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: "the file can't be read", Err: plainly(err)}
}

// sound reports whether a batch of unknown origin may be read without harm. A batch may hold many more rows than
// bytes, if all are null for instance, but not without end.
func sound(batch arrow.RecordBatch, bytes int64) error {
	const free = 1 << 24
	if batch.NumRows() > free && batch.NumRows()/8 > bytes {
		return damaged(fmt.Errorf("a batch of %d rows in %d bytes: at least one bit per row is required", batch.NumRows(), bytes))
	}
	if err := arrowtype.Validate(batch); err != nil {
		return damaged(err)
	}
	return nil
}

package arrowhttp

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// errUnchunked refuses rows to who can't report the end of an answer from a broken connection.
var errUnchunked = &problem{Status: http.StatusHTTPVersionNotSupported, Code: "usage", Detail: "rows need HTTP/1.1 or later: earlier versions can't signal an incomplete response"}

// answer writes the rows of a plan. An error that it gives is the answer; once a byte was written, an error breaks the
// connection instead.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, p *catalog.Plan, f form) error {
	if !r.ProtoAtLeast(1, 1) {
		return errUnchunked
	}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{}) // that of the request, which has come; a client that goes is seen by reading on
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	reader, err := p.Reader(ctx, catalog.ReadOptions{Canonical: f.format != fileio.ArrowStream, TimeUnit: f.timeUnit})
	if err != nil {
		return err
	}
	defer reader.Release()
	f.header(w.Header())
	if r.Method == http.MethodHead {
		return nil
	}
	more := reader.Next() // before the first byte, so that what fails at once is reported
	if err := reader.Err(); err != nil {
		return err
	}
	s.stats.begin()
	out := &steady{w: w, control: control, stall: s.o.Stall}
	err = f.write(out, reader, p, more)
	s.stats.end(err, out.err)
	if err != nil {
		s.o.Log.Info("a response ended early", "path", r.URL.Path, "from", r.RemoteAddr, "bytes", out.written, "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// header reports what the answer is.
func (f *form) header(h http.Header) {
	media := f.media
	switch f.format {
	case fileio.CSV:
		media += "; charset=utf-8; header=present"
	case fileio.ArrowStream:
	default:
		media += "; charset=utf-8"
	}
	h.Set("Content-Type", media)
	h.Set("Vary", "Accept, Accept-Encoding")
	if f.encoding != "" {
		h.Set("Content-Encoding", f.encoding)
	}
}

// write writes the rows of a reader; more means that it stands at a batch.
func (f *form) write(out *steady, reader array.RecordReader, p *catalog.Plan, more bool) error {
	packed, err := f.encode(out)
	if err != nil {
		return err
	}
	rows, err := f.sink(packed, reader, p)
	for ; more && err == nil; more = reader.Next() {
		err = errors.Join(rows.write(reader.RecordBatch()), packed.Flush())
	}
	if err == nil {
		err = reader.Err()
	}
	if err == nil {
		err = errors.Join(rows.close(), packed.Close(), out.Flush())
	} else {
		packed.abandon()
	}
	return err
}

// sink is what becomes of batches.
type sink struct {
	write func(arrow.RecordBatch) error
	close func() error
}

func (f *form) sink(w io.Writer, reader array.RecordReader, p *catalog.Plan) (sink, error) {
	if f.format == fileio.ArrowStream {
		options := []ipc.Option{ipc.WithSchema(reader.Schema())}
		if f.packed {
			options = append(options, ipc.WithZstd(), ipc.WithCompressConcurrency(1))
		}
		out := ipc.NewWriter(w, options...)
		return sink{func(b arrow.RecordBatch) error {
			if err := arrowtype.CheckNulls(b); err != nil {
				return err
			}
			return out.Write(b)
		}, out.Close}, nil
	}
	out, err := fileio.NewSink(f.format, w, &schema.Schema{Fields: p.Fields()}, fileio.SinkOptions{})
	if err != nil {
		return sink{}, err
	}
	return sink{out.Write, out.Close}, nil
}

// encoded is a stream with its Content-Encoding.
type encoded struct {
	io.WriteCloser
	out   *steady
	flush func() error
	// abandon lets go of the encoder without ending its stream.
	abandon func()
}

// Flush sends what was written so far.
func (e *encoded) Flush() error { return errors.Join(e.flush(), e.out.Flush()) }

// zstdWindow is what an encoder remembers, for each answer.
const zstdWindow = 1 << 20

func (f *form) encode(out *steady) (*encoded, error) {
	switch f.encoding {
	case "zstd":
		z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return nil, err
		}
		return &encoded{z, out, z.Flush, func() { z.Reset(nil) }}, nil
	case "gzip":
		z := gzip.NewWriter(out)
		return &encoded{z, out, z.Flush, func() {}}, nil
	}
	return &encoded{plain{out}, out, func() error { return nil }, func() {}}, nil
}

// plain is a stream that is not encoded.
type plain struct{ io.Writer }

// Close implements io.Closer.
func (plain) Close() error { return nil }

// steady is the way to a client that must keep taking: each piece of pieceBytes has its own deadline, so that an answer may
// last for ever, and a client that stands still is shed.
type steady struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	written int64
	// err is what the client's side failed with.
	err error
}

// pieceBytes is what a client must take within the stall time.
const pieceBytes = 64 << 10

// Write implements io.Writer.
func (s *steady) Write(p []byte) (n int, err error) {
	for len(p) > 0 && s.err == nil {
		s.err = s.deadline()
		if s.err != nil {
			break
		}
		var m int
		m, s.err = s.w.Write(p[:min(len(p), pieceBytes)])
		n, p = n+m, p[m:]
		s.written += int64(m)
	}
	return n, s.err
}

// Flush sends what the server has gathered.
func (s *steady) Flush() error {
	if s.err == nil {
		if s.err = s.deadline(); s.err == nil {
			s.err = s.control.Flush()
		}
	}
	return s.err
}

func (s *steady) deadline() error {
	err := s.control.SetWriteDeadline(time.Now().Add(s.stall))
	if errors.Is(err, http.ErrNotSupported) {
		return nil // an http.ResponseWriter of tests, which takes all
	}
	return err
}

// shed reports whether a client was too slow.
func shed(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

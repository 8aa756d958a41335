package httprange

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/blobio"
)

// Unknown is a size or an end that an answer does not state. A missing header is never 0.
const Unknown = -1

// Extent is the stretch of an object that an answer holds.
type Extent struct {
	At   int64 // of the first byte
	End  int64 // behind the last byte, Unknown if the answer does not state it
	Size int64 // of the object, Unknown if the answer does not state it
}

// ParseContentRange reads the extent of an answer: from "bytes 5-9/10", or, where the store sent the whole object and no
// such header, from the length of the body, which is Unknown (or any negative number) for a body without a Content-Length.
func ParseContentRange(contentRange string, contentLength int64) (Extent, error) {
	if contentRange == "" {
		length := max(contentLength, Unknown)
		return Extent{End: length, Size: length}, nil
	}
	spec, total, _ := strings.Cut(strings.TrimPrefix(contentRange, "bytes "), "/")
	first, last, _ := strings.Cut(spec, "-")
	e := Extent{End: Unknown, Size: Unknown}
	var err1, err2 error
	e.At, err1 = strconv.ParseInt(first, 10, 64)
	if total != "*" {
		e.Size, err2 = strconv.ParseInt(total, 10, 64)
	}
	if n, err := strconv.ParseInt(last, 10, 64); err == nil && n >= e.At && n < math.MaxInt64 {
		e.End = n + 1
	}
	switch {
	case err1 != nil || err2 != nil || e.At < 0 || e.Size < Unknown,
		e.Size >= 0 && (e.Size < e.At || e.End > e.Size),
		e.End >= 0 && contentLength >= 0 && contentLength != e.End-e.At:
		return Extent{}, fmt.Errorf("%w: response of %d bytes has content range %q", blobio.ErrUnknown, contentLength, contentRange)
	}
	return e, nil
}

// body is the rest of an object from some byte on. It knows how much must come: one that ends early ends with an error.
// An answer that states a shorter extent than was requested is followed by a request for what comes behind it.
type body struct {
	ctx  context.Context
	from io.ReadCloser
	left int64 // of the object
	part int64 // of the answer that is being read
	// exact: the answer did not state the object's size, so that a body of more bytes is of another object.
	exact bool
	fail  func(error) error
	// more requests the last left bytes of the object; nil where no answer may be shorter than requested.
	more func(left int64) (Download, error)
}

// newBody wraps an answer's body of which left bytes must come. Every error, also that of a body cut short, goes
// through fail, which makes it the driver's own; io.EOF comes only after the last byte. When ctx ends, reads end
// too, whatever the network has in its buffers.
func newBody(ctx context.Context, from io.ReadCloser, left int64, fail func(error) error) *body {
	return &body{ctx: ctx, from: from, left: left, part: left, fail: fail}
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, b.end()
	}
	if err := b.ctx.Err(); err != nil {
		return 0, b.fail(err)
	}
	if b.part == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.part)])
	b.left -= int64(n)
	b.part -= int64(n)
	switch {
	case err == io.EOF && b.part > 0:
		err = b.fail(io.ErrUnexpectedEOF)
	case err == io.EOF && b.left > 0: // the next answer follows
		err = nil
	case err == io.EOF:
		err = b.end()
	case err != nil:
		err = b.fail(err)
	}
	return n, err
}

// next goes on with the answer to another request. Its errors are the driver's own already.
func (b *body) next() error {
	d, err := b.more(b.left)
	if err != nil {
		return err
	}
	b.from.Close()
	b.from, b.part = d.Body, d.holds(b.left)
	return nil
}

// end is io.EOF if the body ends where the object does.
func (b *body) end() error {
	if b.exact {
		if n, _ := io.ReadFull(b.from, make([]byte, 1)); n > 0 {
			return b.fail(blobio.ErrChanged)
		}
		b.exact = false
	}
	return io.EOF
}

func (b *body) Close() error { return b.from.Close() }

package rangeread

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/shardcat/shardcat/blobio"
)

// ParseContentRange reads where the body of an answer begins and how long the object is: from "bytes 5-9/10", or, where
// the store sent all of it and no such header, from the length of the body.
func ParseContentRange(contentRange string, contentLength int64) (at, size int64, err error) {
	if contentRange == "" {
		return 0, contentLength, nil
	}
	spec, total, _ := strings.Cut(strings.TrimPrefix(contentRange, "bytes "), "/")
	first, _, _ := strings.Cut(spec, "-")
	at, err1 := strconv.ParseInt(first, 10, 64)
	size, err2 := strconv.ParseInt(total, 10, 64)
	if err1 != nil || err2 != nil || at < 0 || size < at {
		return 0, 0, fmt.Errorf("%w: answer has content range %q", blobio.ErrUnknown, contentRange)
	}
	return at, size, nil
}

// body is an answer's body that knows how much must come: one that ends early ends with an error.
type body struct {
	ctx  context.Context
	from io.ReadCloser
	left int64
	fail func(error) error
}

// newBody wraps an answer's body of which left bytes must come. Every error, also that of a body cut short, goes
// through fail, which makes it the driver's own; io.EOF comes only after the last byte. When ctx ends, reads end
// too, whatever the network has in its buffers.
func newBody(ctx context.Context, from io.ReadCloser, left int64, fail func(error) error) io.ReadCloser {
	return &body{ctx: ctx, from: from, left: left, fail: fail}
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if err := b.ctx.Err(); err != nil {
		return 0, b.fail(err)
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	switch {
	case err == io.EOF && b.left > 0:
		err = b.fail(io.ErrUnexpectedEOF)
	case err != nil && err != io.EOF:
		err = b.fail(err)
	}
	return n, err
}

func (b *body) Close() error { return b.from.Close() }

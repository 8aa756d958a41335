// Package rangeread makes the reads of a driver, by ranges, of the last bytes and as a stream, from the GET and HEAD of
// its store, and checks what each answer says of itself.
package rangeread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/shardcat/shardcat/blobio"
)

// Span is the bytes of an object that a GET asks for.
type Span struct {
	// Off is the first byte; negative asks for the last N bytes.
	Off int64
	// N is how many bytes; negative asks for all from Off on.
	N int64
}

// Header is the span as the value of a Range header, empty for the whole object.
func (s Span) Header() string {
	switch {
	case s.Off < 0:
		return fmt.Sprintf("bytes=-%d", s.N)
	case s.N >= 0:
		return fmt.Sprintf("bytes=%d-%d", s.Off, s.Off+s.N-1)
	case s.Off > 0:
		return fmt.Sprintf("bytes=%d-", s.Off)
	}
	return ""
}

// begins is where a body of this span begins in an object of a size.
func (s Span) begins(size int64) int64 {
	if s.Off < 0 {
		return size - min(s.N, size)
	}
	return s.Off
}

// Download is a store's answer to a GET. The receiver closes the body.
type Download struct {
	Body io.ReadCloser
	// Info of the object as a whole.
	Info blobio.Info
	// At is where the body begins in the object.
	At int64
}

// Reader makes the reads of a driver from the store's own GET and HEAD. It checks each answer: that it begins
// where it was asked to, that all of it comes, that it is of the object which the read is pinned to.
type Reader struct {
	// Get makes one GET. A non-empty IfMatch is to be sent as a condition.
	Get func(ctx context.Context, key string, s Span, opts blobio.ReadOptions) (Download, error)
	// Head asks for an object without its content.
	Head func(ctx context.Context, key string) (blobio.Info, error)
	// Fail makes an error the driver's own, with its class. It sees blobio's sentinels too, and its own errors.
	Fail func(ctx context.Context, op, key string, err error) error
	// NoSuffix: the store can't be asked for the last bytes of an object whose size is not known.
	NoSuffix bool
	// NoConditions: Get makes up for conditions by a request of its own.
	NoConditions bool
}

// ReadRange is blobio.BucketReader's.
func (r *Reader) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	const op = "read"
	if len(dst) == 0 {
		info, err := r.head(ctx, op, key, opts)
		if err == nil && (off < 0 || off > info.Size) {
			err = r.Fail(ctx, op, key, blobio.ErrRange)
		}
		return 0, info, err
	}
	end := off + int64(len(dst))
	if off < 0 || end < off {
		return 0, blobio.Info{}, r.Fail(ctx, op, key, blobio.ErrRange)
	}
	d, err := r.get(ctx, op, key, Span{off, int64(len(dst))}, opts)
	if err != nil {
		return 0, d.Info, err
	}
	defer d.Body.Close()
	if end > d.Info.Size {
		return 0, d.Info, r.Fail(ctx, op, key, blobio.ErrRange)
	}
	n, err := readFull(d.Body, dst)
	if err != nil {
		err = r.Fail(ctx, op, key, err)
	}
	return n, d.Info, err
}

// ReadSuffix is blobio.BucketReader's.
func (r *Reader) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	const op = "read"
	if n <= 0 {
		info, err := r.head(ctx, op, key, opts)
		return nil, info, err
	}
	if r.NoSuffix {
		return r.suffixBySize(ctx, key, n, opts)
	}
	d, err := r.get(ctx, op, key, Span{-1, n}, opts)
	if errors.Is(err, blobio.ErrRange) { // an empty object has no last byte
		info, err := r.head(ctx, op, key, opts)
		return nil, info, err
	}
	if err != nil {
		return nil, d.Info, err
	}
	return r.whole(ctx, op, key, d, min(n, d.Info.Size))
}

// suffixBySize makes two requests, which see one version of the object.
func (r *Reader) suffixBySize(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	const op = "read"
	info, err := r.head(ctx, op, key, opts)
	if n = min(n, info.Size); err != nil || n == 0 {
		return nil, info, err
	}
	if !r.NoConditions {
		opts.IfMatch = info.ETag
	}
	d, err := r.get(ctx, op, key, Span{info.Size - n, n}, opts)
	if err != nil {
		return nil, d.Info, err
	}
	return r.whole(ctx, op, key, d, n)
}

// whole reads a body of n bytes.
func (r *Reader) whole(ctx context.Context, op, key string, d Download, n int64) ([]byte, blobio.Info, error) {
	defer d.Body.Close()
	dst := make([]byte, n)
	if _, err := readFull(d.Body, dst); err != nil {
		return nil, d.Info, r.Fail(ctx, op, key, err)
	}
	return dst, d.Info, nil
}

// Open is blobio.BucketReader's. The body ends with an error where it breaks.
func (r *Reader) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	const op = "open"
	if off < 0 {
		return nil, blobio.Info{}, r.Fail(ctx, op, key, blobio.ErrRange)
	}
	d, err := r.get(ctx, op, key, Span{off, -1}, opts)
	if off > 0 && errors.Is(err, blobio.ErrRange) {
		return r.openEnd(ctx, key, off, opts, err)
	}
	if err != nil {
		return nil, d.Info, err
	}
	fail := func(err error) error { return r.Fail(ctx, "read", key, err) }
	return newBody(ctx, d.Body, d.Info.Size-off, fail), d.Info, nil
}

// openEnd settles an Open that the store refused: at the very end of the object there is nothing to read.
func (r *Reader) openEnd(ctx context.Context, key string, off int64, opts blobio.ReadOptions, refused error) (io.ReadCloser, blobio.Info, error) {
	info, err := r.head(ctx, "open", key, opts)
	switch {
	case err != nil:
		return nil, info, err
	case off != info.Size:
		return nil, info, refused
	}
	return http.NoBody, info, nil
}

// get makes one GET and checks what the answer says of itself.
func (r *Reader) get(ctx context.Context, op, key string, s Span, opts blobio.ReadOptions) (Download, error) {
	d, err := r.Get(ctx, key, s, opts)
	if err != nil {
		err = r.Fail(ctx, op, key, err)
		if opts.IfMatch != "" && errors.Is(err, blobio.ErrExists) { // the condition did not hold
			err = r.Fail(ctx, op, key, blobio.ErrChanged)
		}
		return Download{}, err
	}
	switch at := s.begins(d.Info.Size); {
	case opts.IfMatch != "" && d.Info.ETag != opts.IfMatch: // a store that does not look at the condition
		err = blobio.ErrChanged
	case d.At != at:
		err = fmt.Errorf("%w: asked for bytes from %d on, was sent bytes from %d on", blobio.ErrUnknown, at, d.At)
	}
	if err != nil {
		d.Body.Close()
		return Download{Info: d.Info}, r.Fail(ctx, op, key, err)
	}
	return d, nil
}

// Stat is blobio.BucketReader's.
func (r *Reader) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	return r.head(ctx, "stat", key, opts)
}

// head is a read that has no bytes to ask for. It has the conditions of any read.
func (r *Reader) head(ctx context.Context, op, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	info, err := r.Head(ctx, key)
	if err == nil && opts.IfMatch != "" && opts.IfMatch != info.ETag {
		err = blobio.ErrChanged
	}
	if err != nil {
		return info, r.Fail(ctx, op, key, err)
	}
	return info, nil
}

// readFull fills dst from an answer's body and tells how much came: all of it, or else with
// io.ErrUnexpectedEOF or what the network said.
func readFull(from io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(from, dst)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

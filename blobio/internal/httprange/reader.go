// Package httprange makes the reads of a driver, by ranges, of the last bytes and as a stream, from the GET and HEAD of
// its store, and checks what each answer states about itself.
package httprange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
	"github.com/shardcat/shardcat/internal/etags"
)

// Span is the bytes of an object that a GET requests.
type Span struct {
	// Off is the first byte; negative requests the last N bytes.
	Off int64
	// N is how many bytes; negative requests all from Off on.
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
	// Info of the object as a whole. Its size is Unknown where the answer does not state it.
	Info blobio.Info
	// At is where the body begins in the object.
	At int64
	// End is where it ends, Unknown where the answer does not state it.
	End int64
	// exact: the size was found by another request.
	exact bool
}

// holds is how many of the n requested bytes the body has by its own headers: some stores send less.
func (d Download) holds(n int64) int64 {
	if d.End < 0 {
		return n
	}
	return min(n, d.End-d.At)
}

// Reader makes the reads of a driver from the store's own GET and HEAD. It checks each answer: that it begins
// where it was requested to, that all of it comes, that it is of the object which the read is pinned to.
type Reader struct {
	// Get makes one GET. A non-empty IfMatch is to be sent as a condition.
	Get func(ctx context.Context, key string, s Span, opts blobio.ReadOptions) (Download, error)
	// Head requests an object without its content.
	Head func(ctx context.Context, key string) (blobio.Info, error)
	// Fail makes an error the driver's own, with its class. It sees blobio's sentinels too, and its own errors.
	Fail func(ctx context.Context, op, key string, err error) error
	// NoSuffix: the store can't be sent a request for the last bytes of an object whose size is not known.
	NoSuffix bool
	// NoConditions: Get makes up for conditions by a request of its own.
	NoConditions bool
}

// opRead is what errors call a read of bytes.
const opRead = "read"

// ReadRange is blobio.Bucket's.
func (r *Reader) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	if len(dst) == 0 {
		info, err := r.head(ctx, opRead, key, opts)
		if err == nil && (off < 0 || off > info.Size) {
			err = r.Fail(ctx, opRead, key, blobio.ErrRange)
		}
		return 0, info, err
	}
	end := off + int64(len(dst))
	if off < 0 || end < off {
		return 0, blobio.Info{}, r.Fail(ctx, opRead, key, blobio.ErrRange)
	}
	for filled := 0; ; {
		n, info, err := r.readPart(ctx, key, off+int64(filled), dst[filled:], opts)
		if filled += n; err != nil || filled == len(dst) {
			return filled, info, err
		}
		if opts.IfMatch == "" && !r.NoConditions {
			opts.IfMatch = info.ETag
		}
	}
}

// readPart makes one GET and fills dst as far as the answer reaches by its own account.
func (r *Reader) readPart(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	d, err := r.get(ctx, opRead, key, Span{off, int64(len(dst))}, opts)
	if err != nil {
		return 0, d.Info, err
	}
	defer d.Body.Close()
	holds := d.holds(int64(len(dst)))
	switch {
	case off+int64(len(dst)) > d.Info.Size:
		err = blobio.ErrRange
	case holds <= 0:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, d.Info, r.Fail(ctx, opRead, key, err)
	}
	n, err := readFull(d.Body, dst[:holds])
	if err != nil {
		err = r.Fail(ctx, opRead, key, err)
	}
	return n, d.Info, err
}

// ReadSuffix is blobio.Bucket's.
func (r *Reader) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	if n <= 0 {
		info, err := r.head(ctx, opRead, key, opts)
		return nil, info, err
	}
	if r.NoSuffix {
		return r.suffixBySize(ctx, key, n, opts)
	}
	d, err := r.get(ctx, opRead, key, Span{-1, n}, opts)
	if errors.Is(err, blobio.ErrRange) { // an empty object has no last byte
		info, err := r.head(ctx, opRead, key, opts)
		return nil, info, err
	}
	if err != nil {
		return nil, d.Info, err
	}
	return r.whole(ctx, key, d, min(n, d.Info.Size), opts)
}

// suffixBySize makes two requests, which see one version of the object.
func (r *Reader) suffixBySize(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	info, err := r.head(ctx, opRead, key, opts)
	if n = min(n, info.Size); err != nil || n == 0 {
		return nil, info, err
	}
	if !r.NoConditions {
		opts.IfMatch = info.ETag
	}
	d, err := r.get(ctx, opRead, key, Span{info.Size - n, n}, opts)
	if err != nil {
		return nil, d.Info, err
	}
	return r.whole(ctx, key, d, n, opts)
}

// whole reads the last n bytes of an object, of which a body holds all or the first ones.
func (r *Reader) whole(ctx context.Context, key string, d Download, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	defer d.Body.Close()
	dst := make([]byte, n)
	holds := max(0, d.holds(n))
	if _, err := readFull(d.Body, dst[:holds]); err != nil {
		return nil, d.Info, r.Fail(ctx, opRead, key, err)
	}
	if holds < n {
		if opts.IfMatch == "" && !r.NoConditions {
			opts.IfMatch = d.Info.ETag
		}
		if _, _, err := r.ReadRange(ctx, key, d.Info.Size-n+holds, dst[holds:], opts); err != nil {
			return nil, d.Info, err
		}
	}
	return dst, d.Info, nil
}

// Open is blobio.Bucket's. The body ends with an error where it breaks.
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
	left := d.Info.Size - off
	b := newBody(ctx, d.Body, left, func(err error) error { return r.Fail(ctx, opRead, key, err) })
	b.part, b.exact = d.holds(left), d.exact
	b.more = func(left int64) (Download, error) {
		if opts.IfMatch == "" && !r.NoConditions {
			opts.IfMatch = d.Info.ETag
		}
		next, err := r.get(ctx, opRead, key, Span{d.Info.Size - left, -1}, opts)
		if err == nil && next.holds(left) <= 0 {
			next.Body.Close()
			err = r.Fail(ctx, opRead, key, io.ErrUnexpectedEOF)
		}
		return next, err
	}
	return b, d.Info, nil
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

// get makes one GET and checks what the answer states about itself.
func (r *Reader) get(ctx context.Context, op, key string, s Span, opts blobio.ReadOptions) (Download, error) {
	d, err := r.Get(ctx, key, s, opts)
	if err != nil {
		err = r.Fail(ctx, op, key, err)
		if opts.IfMatch != "" && errors.Is(err, blobio.ErrExists) { // the condition did not hold
			err = r.Fail(ctx, op, key, blobio.ErrChanged)
		}
		return Download{}, err
	}
	if d.Info.Size < 0 {
		if d.Info.Size, err = r.size(ctx, op, key, d.Info.ETag); err != nil {
			d.Body.Close()
			return Download{}, err
		}
		d.exact = true
	}
	switch at := s.begins(d.Info.Size); {
	case opts.IfMatch != "" && !etags.Same(d.Info.ETag, opts.IfMatch): // a store that does not look at the condition
		err = blobio.ErrChanged
	case d.At != at:
		err = fmt.Errorf("%w: requested bytes from offset %d, received bytes from offset %d", blobio.ErrUnknown, at, d.At)
	}
	if err != nil {
		d.Body.Close()
		return Download{Info: d.Info}, r.Fail(ctx, op, key, err)
	}
	return d, nil
}

// errNoSize means that no answer states how long an object is.
var errNoSize = fmt.Errorf("%w: the store's responses do not state the object's size (neither Content-Length nor Content-Range)", blobio.ErrUnknown)

// size requests the size of an object of which an answer stated only the ETag.
func (r *Reader) size(ctx context.Context, op, key, etag string) (int64, error) {
	info, err := r.head(ctx, op, key, blobio.ReadOptions{})
	if err == nil && etag != "" && info.ETag != "" && !etags.Same(info.ETag, etag) {
		err = r.Fail(ctx, op, key, blobio.ErrChanged)
	}
	return info.Size, err
}

// wordless reports whether the store has no HEAD, or refused one with 400: an answer without a body can't report why.
func wordless(err error) bool {
	var said *apierror.Error
	if !errors.As(err, &said) {
		return false
	}
	return said.Status == http.StatusMethodNotAllowed || said.Status == http.StatusNotImplemented ||
		said.Status == http.StatusBadRequest && errors.Is(err, blobio.ErrUnknown)
}

// sizeByRange requests one byte of an object, the answer to which states the size where that to a HEAD does not.
func (r *Reader) sizeByRange(ctx context.Context, op, key string) (blobio.Info, error) {
	d, err := r.Get(ctx, key, Span{0, 1}, blobio.ReadOptions{})
	if err != nil {
		if err = r.Fail(ctx, op, key, err); errors.Is(err, blobio.ErrRange) {
			return blobio.Info{Key: key}, nil // no first byte
		}
		return blobio.Info{}, err
	}
	d.Body.Close()
	if d.Info.Size < 0 {
		return d.Info, errNoSize
	}
	return d.Info, nil
}

// Stat is blobio.Bucket's.
func (r *Reader) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	return r.head(ctx, "stat", key, opts)
}

// head is a read that has no bytes to request. It has the conditions of any read.
func (r *Reader) head(ctx context.Context, op, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	info, err := r.Head(ctx, key)
	switch {
	case err == nil && info.Size < 0:
		var ranged blobio.Info
		ranged, err = r.sizeByRange(ctx, op, key)
		if err == nil && ranged.ETag != "" && !etags.Same(ranged.ETag, info.ETag) {
			err = blobio.ErrChanged
		}
		info.Size = ranged.Size
	case err != nil && wordless(r.Fail(ctx, op, key, err)):
		info, err = r.sizeByRange(ctx, op, key)
	}
	if err == nil && opts.IfMatch != "" && !etags.Same(opts.IfMatch, info.ETag) {
		err = blobio.ErrChanged
	}
	if err != nil {
		return info, r.Fail(ctx, op, key, err)
	}
	return info, nil
}

// readFull fills dst from an answer's body and reports how much came: all of it, or else with
// io.ErrUnexpectedEOF or what the network reported.
func readFull(from io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(from, dst)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

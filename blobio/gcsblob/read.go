package gcsblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	raw "google.golang.org/api/storage/v1"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
)

// ReadRange implements blobio.BucketReader.
func (b *Bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte) (blobio.Info, error) {
	const op = "read"
	if len(dst) == 0 {
		info, err := b.statSame(ctx, op, key)
		if err == nil && (off < 0 || off > info.Size) {
			err = b.fail(ctx, op, key, blobio.ErrRange)
		}
		return info, err
	}
	end := off + int64(len(dst))
	if off < 0 || end < off {
		return blobio.Info{}, b.fail(ctx, op, key, blobio.ErrRange)
	}
	body, info, err := b.get(ctx, op, key, fmt.Sprintf("bytes=%d-%d", off, end-1), off)
	if err != nil {
		return info, err
	}
	defer body.Close()
	if end > info.Size {
		return info, b.fail(ctx, op, key, blobio.ErrRange)
	}
	if n, err := answer.ReadFull(body, dst); err != nil {
		return info, answer.Filled(b.fail(ctx, op, key, err), n)
	}
	return info, nil
}

// ReadSuffix implements blobio.BucketReader.
func (b *Bucket) ReadSuffix(ctx context.Context, key string, n int64) ([]byte, blobio.Info, error) {
	const op = "read"
	if n <= 0 {
		info, err := b.statSame(ctx, op, key)
		return nil, info, err
	}
	body, info, err := b.get(ctx, op, key, fmt.Sprintf("bytes=-%d", n), anywhere)
	if errors.Is(err, blobio.ErrRange) { // an empty object has no last byte
		info, err = b.statSame(ctx, op, key)
		return nil, info, err
	}
	if err != nil {
		return nil, info, err
	}
	defer body.Close()
	dst := make([]byte, min(n, info.Size))
	if _, err := answer.ReadFull(body, dst); err != nil {
		return nil, info, b.fail(ctx, op, key, err)
	}
	return dst, info, nil
}

// Open implements blobio.BucketReader. The body is the store's own: it ends with an error where it breaks.
func (b *Bucket) Open(ctx context.Context, key string, off int64) (io.ReadCloser, blobio.Info, error) {
	const op = "open"
	rng := ""
	if off > 0 {
		rng = fmt.Sprintf("bytes=%d-", off)
	}
	body, info, err := b.get(ctx, op, key, rng, off)
	if off > 0 && errors.Is(err, blobio.ErrRange) {
		return b.openEnd(ctx, key, off, err)
	}
	if err != nil {
		return nil, info, err
	}
	fail := func(err error) error { return b.fail(ctx, op, key, err) }
	return answer.Body(ctx, body, info.Size-off, fail), info, nil
}

// openEnd settles an Open that the store refused: at the very end of the object there is nothing to read.
func (b *Bucket) openEnd(ctx context.Context, key string, off int64, refused error) (io.ReadCloser, blobio.Info, error) {
	info, err := b.statSame(ctx, "open", key)
	switch {
	case err != nil:
		return nil, info, err
	case off != info.Size:
		return nil, info, refused
	}
	return io.NopCloser(strings.NewReader("")), info, nil
}

// anywhere is the offset of a range that counts from the end.
const anywhere = -1

// get makes one GET of a range, all of the object if rng is empty, and checks that the answer begins at off.
// The caller closes the body.
func (b *Bucket) get(ctx context.Context, op, key, rng string, off int64) (io.ReadCloser, blobio.Info, error) {
	if err := b.check(ctx, op, key); err != nil {
		return nil, blobio.Info{}, err
	}
	call := b.objects.Get(b.name, key).Context(ctx)
	if rng != "" {
		call.Header().Set("Range", rng)
	}
	if b.opts.UserProject != "" {
		call.UserProject(b.opts.UserProject)
	}
	pin := blobio.Pinned(ctx)
	if pin != "" {
		call.IfGenerationMatch(generation(pin))
	}
	out, err := call.Download()
	if err != nil {
		err = b.fail(ctx, op, key, err)
		if pin != "" && errors.Is(err, blobio.ErrExists) {
			err = b.fail(ctx, op, key, blobio.ErrChanged)
		}
		return nil, blobio.Info{}, err
	}
	info, at, err := answered(key, out)
	switch {
	case err == nil && off != anywhere && at != off:
		err = fmt.Errorf("%w: asked for bytes from %d on, was sent bytes from %d on", blobio.ErrUnknown, off, at)
	case err == nil && pin != "" && info.ETag != pin:
		err = blobio.ErrChanged
	}
	if err != nil {
		out.Body.Close()
		return nil, info, b.fail(ctx, op, key, err)
	}
	return out.Body, info, nil
}

// answered is what the headers of a download tell of the object and of where the body begins.
func answered(key string, out *http.Response) (info blobio.Info, at int64, err error) {
	info = blobio.Info{Key: key, ETag: out.Header.Get("X-Goog-Generation")}
	info.ModTime, _ = http.ParseTime(out.Header.Get("Last-Modified")) // left zero where it is not told
	if out.Uncompressed || out.ContentLength < 0 {
		return info, 0, fmt.Errorf("%w: the object has a Content-Encoding and was unpacked on the way", blobio.ErrUnknown)
	}
	at, info.Size, err = answer.Extent(out.Header.Get("Content-Range"), out.ContentLength)
	return info, at, err
}

// statSame is the Stat of a read that has no bytes to ask for. It heeds a pin as any read.
func (b *Bucket) statSame(ctx context.Context, op, key string) (blobio.Info, error) {
	info, err := b.Stat(ctx, key)
	if err == nil {
		err = answer.Same(ctx, info)
	}
	if err != nil {
		return info, b.fail(ctx, op, key, err)
	}
	return info, nil
}

// Stat implements blobio.BucketReader.
func (b *Bucket) Stat(ctx context.Context, key string) (blobio.Info, error) {
	const op = "stat"
	if err := b.check(ctx, op, key); err != nil {
		return blobio.Info{}, err
	}
	call := b.objects.Get(b.name, key).Context(ctx)
	if b.opts.UserProject != "" {
		call.UserProject(b.opts.UserProject)
	}
	o, err := call.Do()
	if err != nil {
		return blobio.Info{}, b.fail(ctx, op, key, err)
	}
	return told(o), nil
}

// told is what the store's metadata tell of an object.
func told(o *raw.Object) blobio.Info {
	at, _ := time.Parse(time.RFC3339, o.Updated) // left zero where it is not told
	return blobio.Info{Key: o.Name, Size: int64(o.Size), ETag: fmt.Sprint(o.Generation), ModTime: at}
}

// List implements blobio.BucketReader. Keys come in the order of their bytes.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blobio.Info, error] {
	const op = "list"
	return func(yield func(blobio.Info, error) bool) {
		call := b.objects.List(b.name).Prefix(prefix).Context(ctx)
		if b.opts.UserProject != "" {
			call.UserProject(b.opts.UserProject)
		}
		if b.opts.ListPage > 0 {
			call.MaxResults(int64(b.opts.ListPage))
		}
		for more := true; more; {
			if err := b.check(ctx, op, prefix); err != nil {
				yield(blobio.Info{}, err)
				return
			}
			page, err := call.Do()
			if err != nil {
				yield(blobio.Info{}, b.fail(ctx, op, prefix, err))
				return
			}
			for _, o := range page.Items {
				if !yield(told(o), nil) {
					return
				}
			}
			call.PageToken(page.NextPageToken)
			if more = page.NextPageToken != ""; more {
				blobio.Count(ctx, blobio.Counters{Lists: 1, Depth: 1})
			}
		}
	}
}

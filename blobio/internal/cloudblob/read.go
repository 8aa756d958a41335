package cloudblob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/zeebo/xxh3"
	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/httprange"
	"github.com/shardcat/shardcat/internal/etags"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// ReadRange implements blobio.Bucket.
func (b *Bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	return b.reads.ReadRange(counted(ctx, opts.Trace), key, off, dst, opts)
}

// ReadSuffix implements blobio.Bucket.
func (b *Bucket) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	return b.reads.ReadSuffix(counted(ctx, opts.Trace), key, n, opts)
}

// Open implements blobio.Bucket.
func (b *Bucket) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	return b.reads.Open(counted(ctx, opts.Trace), key, off, opts)
}

// Stat implements blobio.Bucket.
func (b *Bucket) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	return b.reads.Stat(counted(ctx, opts.Trace), key, opts)
}

// get makes one GET.
func (b *Bucket) get(ctx context.Context, key string, span httprange.Span, opts blobio.ReadOptions) (httprange.Download, error) {
	if err := b.ready(ctx); err != nil {
		return httprange.Download{}, err
	}
	if !b.opts.hooked() {
		return b.getPortable(ctx, key, span, opts)
	}
	read := Read{Off: span.Off, N: span.N, Key: key, IfMatch: opts.IfMatch}
	if span.Off < 0 && b.opts.Tail != nil {
		body, got, err := b.opts.Tail(httptransport.Once(ctx), read)
		return httprange.Download{Body: body, Info: blobio.Info{Key: key, Size: got.Size, ETag: got.ETag}, At: got.At, End: got.End}, err
	}
	before := func(as func(any) bool) error { return b.opts.BeforeRead(as, read) }
	r, err := b.open(httptransport.Once(ctx), key, max(0, span.Off), span.N, &blob.ReaderOptions{BeforeRead: before})
	if err != nil {
		return httprange.Download{}, err
	}
	got, err := b.opts.Got(r)
	if err != nil {
		r.Close()
		return httprange.Download{}, err
	}
	info := blobio.Info{Key: key, Size: got.Size, ETag: got.ETag, ModTime: r.ModTime()}
	return httprange.Download{Body: r, Info: info, At: got.At, End: got.End}, nil
}

// open makes one GET by gocloud's reader.
func (b *Bucket) open(ctx context.Context, key string, off, n int64, opts *blob.ReaderOptions) (r *blob.Reader, err error) {
	err = request(ctx, httptransport.Get, func() (err error) {
		r, err = b.bucket.NewRangeReader(ctx, key, off, n, opts)
		return err
	})
	return r, err
}

// getPortable is get without hooks. Drivers differ in what they do at and beyond the end of an object, so the
// size decides. A condition is compared with the attributes right before.
func (b *Bucket) getPortable(ctx context.Context, key string, span httprange.Span, opts blobio.ReadOptions) (httprange.Download, error) {
	if err := b.compare(ctx, key, opts.IfMatch); err != nil {
		return httprange.Download{}, err
	}
	r, err := b.open(ctx, key, span.Off, span.N, nil)
	if err != nil {
		return httprange.Download{}, b.beyond(ctx, key, span.Off, err)
	}
	info := blobio.Info{Key: key, Size: r.Size(), ETag: opts.IfMatch, ModTime: r.ModTime()}
	if span.Off > info.Size {
		r.Close()
		return httprange.Download{}, blobio.ErrRange
	}
	d := httprange.Download{Body: r, Info: info, At: span.Off, End: httprange.Unknown}
	if info.Size == 0 {
		return d, stated(&d)
	}
	return d, nil
}

// stated refuses a body that has bytes although its size is reported to be 0: gocloud has no word for a size that the store
// did not state.
func stated(d *httprange.Download) error {
	n, err := io.ReadFull(d.Body, make([]byte, 1))
	if n == 0 && err == io.EOF {
		return nil
	}
	d.Body.Close()
	if n > 0 {
		err = fmt.Errorf("%w: the response does not state the object's size", blobio.ErrUnknown)
	}
	return err
}

// compare makes up for a condition that a request can't have.
func (b *Bucket) compare(ctx context.Context, key, etag string) error {
	if etag == "" {
		return nil
	}
	info, err := b.head(ctx, key)
	if err == nil && !etags.Same(info.ETag, etag) {
		err = blobio.ErrChanged
	}
	return err
}

// beyond finds out whether a driver refused a read because it begins at or behind the end of the object.
func (b *Bucket) beyond(ctx context.Context, key string, off int64, refused error) error {
	if _, class := b.opts.Explain(ctx, refused); off == 0 || class != blobio.ErrUnknown {
		return refused
	}
	if info, err := b.head(ctx, key); err == nil && off >= info.Size {
		return blobio.ErrRange
	}
	return refused
}

// head makes one HEAD.
func (b *Bucket) head(ctx context.Context, key string) (info blobio.Info, err error) {
	if err := b.ready(ctx); err != nil {
		return blobio.Info{}, err
	}
	once := httptransport.Once(ctx)
	err = request(once, httptransport.Stat, func() (err error) {
		if b.opts.Head != nil {
			info, err = b.opts.Head(once, key)
			return err
		}
		a, err := b.bucket.Attributes(once, key)
		if err == nil {
			info = blobio.Info{Key: key, Size: a.Size, ETag: a.ETag, ModTime: a.ModTime}
		}
		return err
	})
	return info, err
}

// mostEmptyPages is how many pages without a key may follow one another: stores send them where much was deleted. Of those
// that have the token which was requested, mostSamePages may.
const mostEmptyPages, mostSamePages = 10_000, 10

// List implements blobio.Bucket, in the order of the keys' bytes where the store keeps one. The transport
// counts where it sees the requests: a page may take several. A token that comes again, pages without end that hold no
// key and keys that were not requested end the list in an error.
func (b *Bucket) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		seen, empty, same := map[[16]byte]bool{}, 0, 0
		full := cmp.Or(opts.Page, b.opts.ListPage)
		most := full
		for token, first := "", true; first || token != ""; first = false {
			var page []blobio.Info
			var next string
			err := opts.Retry.Do(ctx, func() (err error) {
				if page, next, err = b.page(counted(ctx, opts.Trace), token, prefix, opts.Page, most); err != nil {
					err = b.fail(ctx, "list", prefix, err)
					most = max(1, most/fewer)
				}
				return err
			})
			most = min(full, 2*most)
			if empty++; len(page) > 0 {
				empty = 0
			}
			mark := xxh3.HashString128(next).Bytes()
			if same++; len(page) > 0 || next != token {
				same = 0
			}
			switch {
			case err != nil:
			case same > 0 && same <= mostSamePages && next != "":
			case next != "" && seen[mark]:
				err = fmt.Errorf("%w: the listing repeats a continuation token", blobio.ErrUnknown)
			case empty > mostEmptyPages:
				err = fmt.Errorf("%w: %d pages of the listing hold no key", blobio.ErrUnknown, empty)
			}
			if err != nil {
				yield(blobio.Info{}, b.fail(ctx, "list", prefix, err))
				return
			}
			seen[mark] = true
			for _, info := range page {
				if !strings.HasPrefix(info.Key, prefix) {
					err := fmt.Errorf("%w: the listing has the key %q, which is outside the requested prefix", blobio.ErrUnknown, info.Key)
					yield(blobio.Info{}, b.fail(ctx, "list", prefix, err))
					return
				}
				if !yield(info, nil) {
					return
				}
			}
			token = next
		}
	}
}

// fewer is by what a page is smaller after one that failed. gocloud fills a page by any number of requests, where a store gives fewer keys
// than it was requested, and begins again where one of them fails; a page of one key is one request.
const fewer = 16

// page gives the objects of one page, and the token of the next. It has most keys where gocloud makes the request.
func (b *Bucket) page(ctx context.Context, token, prefix string, size, most int) (page []blobio.Info, next string, err error) {
	if err := b.ready(ctx); err != nil {
		return nil, "", err
	}
	err = request(ctx, httptransport.List, func() (err error) {
		if b.opts.List != nil {
			page, next, err = b.opts.List(ctx, token, prefix, size)
			return err
		}
		at := blob.FirstPageToken
		if token != "" {
			at = []byte(token)
		}
		objects, more, err := b.bucket.ListPage(ctx, at, most, &blob.ListOptions{Prefix: prefix, BeforeList: b.opts.BeforeList})
		for _, o := range objects {
			if info, ok := b.listed(o); ok {
				page = append(page, info)
			}
		}
		next = string(more)
		return err
	})
	if err == nil && b.opts.List == nil {
		page, err = b.timed(ctx, page)
	}
	return page, next, err
}

// timed completes the entries of a page that have no time by a HEAD. One that is gone by then is left out.
func (b *Bucket) timed(ctx context.Context, page []blobio.Info) ([]blobio.Info, error) {
	out := page[:0]
	for _, info := range page {
		if !blobio.KnownTime(info.ModTime) {
			is, err := b.reads.Stat(ctx, info.Key, blobio.ReadOptions{})
			if errors.Is(err, blobio.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			info.ModTime = is.ModTime
		}
		out = append(out, info)
	}
	return out, nil
}

// listed is what a list reports about an object; ok is false for what is none.
func (b *Bucket) listed(o *blob.ListObject) (info blobio.Info, ok bool) {
	info = blobio.Info{Key: o.Key, Size: o.Size, ModTime: o.ModTime}
	if o.IsDir || b.opts.Listed == nil {
		return info, !o.IsDir
	}
	info.Key, info.ETag, ok = b.opts.Listed(o)
	return info, ok
}

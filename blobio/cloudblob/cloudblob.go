// Package cloudblob makes a blobio.Bucket of any bucket of gocloud.dev/blob: those of the clouds, and one that
// you opened yourself, with your own credentials, prefix or driver:
//
//	bucket, err := blob.OpenBucket(ctx, "s3://mine?region=eu-west-1")
//	…
//	err = client.MountBucket("s3://mine/", cloudblob.FromBucket("s3://mine/", bucket, cloudblob.Options{}))
//
// The portable layer of gocloud hides the ETag in the answer to a ranged read, reads of the last bytes,
// conditions, and the provider's own error codes. Hooks reach them by the provider's types (BeforeRead
// and As): Options holds them, and the drivers of this module give theirs. Without them FromBucket makes up for what can be made up for,
// at the price of requests, and Limits names the rest.
package cloudblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
	"github.com/shardcat/shardcat/internal/storehttp"
	"github.com/shardcat/shardcat/urlresolve"
)

// Read is what one read asks for.
type Read struct {
	// Off is the first byte; negative asks for the last N bytes.
	Off int64
	// N is how many bytes; negative asks for all from Off on.
	N int64
	// Key of the object, which gocloud may have spelled in another way.
	Key string
	// IfMatch is the ETag that the object must have; empty: any.
	IfMatch string
}

// Got is what the answer to a read told.
type Got struct {
	// ETag of the object.
	ETag string
	// At is where the body begins in the object.
	At int64
	// Size of the object as a whole.
	Size int64
}

// Options reach what gocloud's portable layer hides of one provider. The zero value reaches nothing.
type Options struct {
	// BeforeRead sets the range and the condition of a read on the provider's request. As is that of
	// blob.ReaderOptions.BeforeRead. Nil: there are no conditions.
	BeforeRead func(as func(any) bool, r Read) error
	// Got reads an answer by the provider's type. Nil: the ETag is not known.
	Got func(r *blob.Reader) (Got, error)
	// Head asks for an object without its content in the provider's own way. Nil: by gocloud's attributes.
	Head func(ctx context.Context, key string) (blobio.Info, error)
	// BeforeList sets options of the provider's request; as blob.ListOptions.BeforeList.
	BeforeList func(as func(any) bool) error
	// Listed reads what a list told of an object by the provider's type; ok is false for what is no object.
	// Nil: lists tell no ETags.
	Listed func(o *blob.ListObject) (key, etag string, ok bool)
	// Explain finds what the store said in an error, and its class: one of blobio's. Nil: gocloud's codes
	// decide, which call some refusals "not found".
	Explain func(ctx context.Context, err error) (cause, class error)
	// Suffix: BeforeRead can ask for the last bytes of an object of unknown size.
	Suffix bool
	// Create starts an object in the provider's own way. Nil: by gocloud's writer with IfNotExist.
	Create func(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error)
	// Delete removes an object in the provider's own way, with its condition. Nil: the ETag is compared
	// before, not in one step with the delete.
	Delete func(ctx context.Context, key string, opts blobio.DeleteOptions) error
	// ListPage is how many keys one page of a list has, 1,000 if 0.
	ListPage int
	// KeepOpen leaves the gocloud bucket open when this one is closed.
	KeepOpen bool
}

// Bucket is a gocloud bucket as blobio sees it.
type Bucket struct {
	reads  answer.Reader
	bucket *blob.Bucket
	root   string
	opts   Options
	closed atomic.Bool
}

var _ blobio.Bucket = (*Bucket)(nil)

// FromBucket makes a blobio.Bucket of a gocloud one whose root has the given canonical URL, with its trailing
// slash; it names objects in errors. Closing it closes the gocloud bucket.
func FromBucket(rootURL string, bucket *blob.Bucket, opts Options) *Bucket {
	b := &Bucket{bucket: bucket, root: rootURL, opts: opts}
	if b.opts.Explain == nil {
		b.opts.Explain = explain
	}
	if b.opts.ListPage == 0 {
		b.opts.ListPage = 1000
	}
	b.reads = answer.Reader{Get: b.get, Head: b.head, Fail: b.fail, NoSuffix: !opts.Suffix,
		NoConditions: opts.BeforeRead == nil || opts.Got == nil}
	return b
}

// Limits names what the bucket can't promise, one sentence each.
func (b *Bucket) Limits() []string {
	var out []string
	for _, limit := range []struct {
		reached bool
		what    string
	}{
		{b.opts.BeforeRead != nil && b.opts.Got != nil, "an object that is replaced while it is read is not noticed: the driver's reads have no conditions and tell no ETag"},
		{b.opts.Suffix || b.opts.BeforeRead != nil, "reading the end of an object of unknown size costs a second request"},
		{b.opts.Create != nil, "that a create fails if the key is taken rests on the driver's IfNotExist"},
		{b.opts.Delete != nil, "the condition of a delete is compared before it, not in one step with it"},
	} {
		if !limit.reached {
			out = append(out, limit.what)
		}
	}
	return out
}

// Location implements blobio.Locator.
func (b *Bucket) Location() string { return b.root }

// As reaches the provider's client, as blob.Bucket's method does.
func (b *Bucket) As(target any) bool { return b.bucket.As(target) }

// Close implements blobio.Bucket.
func (b *Bucket) Close() error {
	if b.closed.Swap(true) || b.opts.KeepOpen {
		return nil
	}
	return b.bucket.Close()
}

// ReadRange implements blobio.BucketReader.
func (b *Bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	return b.reads.ReadRange(ctx, key, off, dst, opts)
}

// ReadSuffix implements blobio.BucketReader.
func (b *Bucket) ReadSuffix(ctx context.Context, key string, n int64, opts blobio.ReadOptions) ([]byte, blobio.Info, error) {
	return b.reads.ReadSuffix(ctx, key, n, opts)
}

// Open implements blobio.BucketReader.
func (b *Bucket) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	return b.reads.Open(ctx, key, off, opts)
}

// Stat implements blobio.BucketReader.
func (b *Bucket) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	return b.reads.Stat(ctx, key, opts)
}

// ready refuses operations on a closed bucket and under a cancelled context, before a request is made.
func (b *Bucket) ready(ctx context.Context) error {
	if b.closed.Load() {
		return blobio.ErrClosed
	}
	return ctx.Err()
}

// get makes one GET.
func (b *Bucket) get(ctx context.Context, key string, span answer.Span, opts blobio.ReadOptions) (answer.Download, error) {
	if err := b.ready(ctx); err != nil {
		return answer.Download{}, err
	}
	if b.opts.BeforeRead == nil || b.opts.Got == nil {
		return b.getPortable(ctx, key, span, opts)
	}
	before := func(as func(any) bool) error {
		return b.opts.BeforeRead(as, Read{Off: span.Off, N: span.N, Key: key, IfMatch: opts.IfMatch})
	}
	var r *blob.Reader
	err := unpanicked(func() (err error) {
		r, err = b.bucket.NewRangeReader(storehttp.Once(ctx), key, max(0, span.Off), span.N, &blob.ReaderOptions{BeforeRead: before})
		return err
	})
	if err != nil {
		return answer.Download{}, err
	}
	got, err := b.opts.Got(r)
	if err != nil {
		r.Close()
		return answer.Download{}, err
	}
	info := blobio.Info{Key: key, Size: got.Size, ETag: got.ETag, ModTime: r.ModTime()}
	return answer.Download{Body: r, Info: info, At: got.At}, nil
}

// getPortable is get without hooks. Drivers differ in what they do at and beyond the end of an object, so the
// size decides. A condition is compared with the attributes right before.
func (b *Bucket) getPortable(ctx context.Context, key string, span answer.Span, opts blobio.ReadOptions) (answer.Download, error) {
	if opts.IfMatch != "" {
		opts.Trace.Count(blobio.Counters{Heads: 1, Depth: 1})
		info, err := b.head(ctx, key)
		switch {
		case err != nil:
			return answer.Download{}, err
		case info.ETag != opts.IfMatch:
			return answer.Download{}, blobio.ErrChanged
		}
	}
	var r *blob.Reader
	err := unpanicked(func() (err error) {
		r, err = b.bucket.NewRangeReader(ctx, key, span.Off, span.N, nil)
		return err
	})
	if err != nil {
		return answer.Download{}, b.beyond(ctx, key, span.Off, err)
	}
	info := blobio.Info{Key: key, Size: r.Size(), ETag: opts.IfMatch, ModTime: r.ModTime()}
	if span.Off > info.Size {
		r.Close()
		return answer.Download{}, blobio.ErrRange
	}
	return answer.Download{Body: r, Info: info, At: span.Off}, nil
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
func (b *Bucket) head(ctx context.Context, key string) (blobio.Info, error) {
	if err := b.ready(ctx); err != nil {
		return blobio.Info{}, err
	}
	if b.opts.Head != nil {
		return b.opts.Head(storehttp.Once(ctx), key)
	}
	var a *blob.Attributes
	err := unpanicked(func() (err error) {
		a, err = b.bucket.Attributes(storehttp.Once(ctx), key)
		return err
	})
	if err != nil {
		return blobio.Info{}, err
	}
	return blobio.Info{Key: key, Size: a.Size, ETag: a.ETag, ModTime: a.ModTime}, nil
}

// List implements blobio.BucketReader, in the order of the keys' bytes where the store keeps one.
func (b *Bucket) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	return func(yield func(blobio.Info, error) bool) {
		// The transport counts where it sees the requests: a page may take several.
		seen := false
		counted := storehttp.Watch(ctx, func(n int) {
			if seen = true; n > 1 {
				opts.Trace.Count(blobio.Counters{Lists: 1, Depth: 1})
			}
		})
		for token := blob.FirstPageToken; len(token) > 0; {
			page, next, err := b.page(counted, token, prefix)
			if err != nil {
				yield(blobio.Info{}, b.fail(ctx, "list", prefix, err))
				return
			}
			for _, o := range page {
				if info, ok := b.listed(o); ok && !yield(info, nil) {
					return
				}
			}
			if token = next; len(token) > 0 && !seen {
				opts.Trace.Count(blobio.Counters{Lists: 1, Depth: 1})
			}
		}
	}
}

func (b *Bucket) page(ctx context.Context, token []byte, prefix string) ([]*blob.ListObject, []byte, error) {
	if err := b.ready(ctx); err != nil {
		return nil, nil, err
	}
	var page []*blob.ListObject
	var next []byte
	err := unpanicked(func() (err error) {
		page, next, err = b.bucket.ListPage(ctx, token, b.opts.ListPage, &blob.ListOptions{Prefix: prefix, BeforeList: b.opts.BeforeList})
		return err
	})
	return page, next, err
}

// unpanicked makes an error of a panic: gocloud's drivers follow pointers to headers and elements that a store
// may have left out of its answer, such as the time of the last modification.
func unpanicked(request func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the answer lacks what every store sends: %v", blobio.ErrUnknown, p)
		}
	}()
	return request()
}

// listed is what a list tells of an object; ok is false for what is none.
func (b *Bucket) listed(o *blob.ListObject) (info blobio.Info, ok bool) {
	info = blobio.Info{Key: o.Key, Size: o.Size, ModTime: o.ModTime}
	if o.IsDir || b.opts.Listed == nil {
		return info, !o.IsDir
	}
	info.Key, info.ETag, ok = b.opts.Listed(o)
	return info, ok
}

// Delete implements blobio.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	err := b.ready(ctx)
	switch {
	case err != nil:
	case b.opts.Delete != nil:
		err = b.opts.Delete(ctx, key, opts)
	default:
		err = b.deletePortable(ctx, key, opts)
	}
	if err != nil {
		return b.fail(ctx, "delete", key, err)
	}
	return nil
}

func (b *Bucket) deletePortable(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	if opts.IfMatch != "" {
		opts.Trace.Count(blobio.Counters{Heads: 1, Depth: 1})
		info, err := b.head(ctx, key)
		switch {
		case err != nil:
			return err
		case info.ETag != opts.IfMatch:
			return blobio.ErrChanged
		}
	}
	return b.bucket.Delete(ctx, key)
}

// fail makes the error of an operation on a key.
func (b *Bucket) fail(ctx context.Context, op, key string, err error) error {
	var told *blobio.Error
	if errors.As(err, &told) {
		return err
	}
	url := b.root + urlresolve.EscapeKey(key)
	if class := answer.Own(err); class != nil {
		return blobio.NewError(op, url, class, err)
	}
	switch {
	case errors.Is(err, storehttp.ErrSecondRequest):
		return blobio.NewError(op, url, blobio.ErrTransient, io.ErrUnexpectedEOF)
	case errors.Is(err, storehttp.ErrRedirect):
		return blobio.NewError(op, url, blobio.ErrDenied, storehttp.ErrRedirect)
	case ctx.Err() != nil:
		return blobio.NewError(op, url, blobio.ErrCanceled, context.Cause(ctx))
	}
	cause, class := b.opts.Explain(ctx, err)
	return blobio.NewError(op, url, class, cause)
}

// codes are gocloud's classes of errors in blobio's terms.
var codes = map[gcerrors.ErrorCode]error{
	gcerrors.NotFound:           blobio.ErrNotFound,
	gcerrors.AlreadyExists:      blobio.ErrExists,
	gcerrors.FailedPrecondition: blobio.ErrExists,
	gcerrors.PermissionDenied:   blobio.ErrDenied,
	gcerrors.ResourceExhausted:  blobio.ErrThrottled,
	gcerrors.Internal:           blobio.ErrTransient,
	gcerrors.DeadlineExceeded:   blobio.ErrTransient,
	gcerrors.Canceled:           blobio.ErrCanceled,
}

// explain goes by gocloud's codes, and by the network's errors below them.
func explain(ctx context.Context, err error) (cause, class error) {
	if class := answer.Network(ctx, err); class == blobio.ErrTransient {
		return answer.Redact(err), class
	}
	if class := codes[gcerrors.Code(err)]; class != nil {
		return answer.Redact(err), class
	}
	return answer.Redact(err), blobio.ErrUnknown
}

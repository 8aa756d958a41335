// Package cloudblob makes a blobio.Bucket of any bucket of gocloud.dev/blob: those of the clouds, and those that callers opened.
//
// The portable layer of gocloud hides the ETag in the answer to a ranged read, reads of the last bytes,
// conditions, and the provider's own error codes. Hooks reach them by the provider's types (BeforeRead, BeforeWrite
// and As), and what no hook reaches uses the provider's own client: Options holds both, and the drivers of this
// module give theirs. Without them FromBucket makes up for what can be made up for, at the price of requests, and
// Limits names the rest.
package cloudblob

import (
	"context"
	"crypto/md5"
	"io"
	"net/http"
	"sync/atomic"

	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/httprange"
	"github.com/shardcat/shardcat/blobio/internal/upload"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// Read is what one read requests.
type Read struct {
	// Off is the first byte; negative requests the last N bytes.
	Off int64
	// N is how many bytes; negative requests all from Off on.
	N int64
	// Key of the object, which gocloud may have spelled in another way.
	Key string
	// IfMatch is the ETag that the object must have; empty: any.
	IfMatch string
}

// Got is the metadata in the response to a read.
type Got struct {
	// ETag of the object.
	ETag string
	// At is where the body begins in the object.
	At int64
	// End is where it ends, -1 where the answer does not state it.
	End int64
	// Size of the object as a whole, -1 where the answer does not state it.
	Size int64
}

// Write is what one write in one request sends.
type Write struct {
	// Key of the object, which gocloud may have spelled in another way.
	Key string
	// Body is its content.
	Body []byte
	// ContentType of it.
	ContentType string
	// IfAbsent: the write must fail if the key is taken.
	IfAbsent bool
}

// Options reach what gocloud's portable layer hides of one provider. The zero value reaches nothing.
type Options struct {
	// BeforeRead sets the range and the condition of a read on the provider's request. As is that of
	// blob.ReaderOptions.BeforeRead. Nil: there are no conditions.
	BeforeRead func(as func(any) bool, r Read) error
	// Got reads an answer by the provider's type. Nil: the ETag is not known.
	Got func(r *blob.Reader) (Got, error)
	// Suffix: BeforeRead can request the last bytes of an object of unknown size.
	Suffix bool
	// Tail reads the last bytes in the provider's own way, where no hook can request them.
	Tail func(ctx context.Context, r Read) (io.ReadCloser, Got, error)
	// Head requests an object without its content in the provider's own way. Its size is -1 where the answer does not
	// state it. Nil: by gocloud's attributes.
	Head func(ctx context.Context, key string) (blobio.Info, error)
	// List gives the page of a list behind a token, empty for the first one, and the token of the next, empty for the
	// last one, in the provider's own way; most is the number of its keys, 0 for ListPage. Nil: by gocloud's pages.
	List func(ctx context.Context, token, prefix string, most int) (page []blobio.Info, next string, err error)
	// BeforeList sets options of the provider's request; as blob.ListOptions.BeforeList.
	BeforeList func(as func(any) bool) error
	// Listed reads what a list reported about an object by the provider's type; ok is false for what is not an object.
	// Nil: lists have no ETags.
	Listed func(o *blob.ListObject) (key, etag string, ok bool)
	// Explain finds what the store reported in an error, and its class: one of blobio's. Nil: gocloud's codes
	// decide, which call some refusals "not found".
	Explain func(ctx context.Context, err error) (cause, class error)

	// BeforeWrite sets condition, checksum and options of a write in one request. As is that of
	// blob.WriterOptions.BeforeWrite. Nil: gocloud's IfNotExist has to do.
	BeforeWrite func(as func(any) bool, w Write) error
	// Took reads the MD5 of the content from the answer to a write in one request, where the store states it. Nil: it does not.
	Took func(r *http.Response) (sum [md5.Size]byte, ok bool)
	// Parts begins the upload of an object that is more than one part, by the provider's own client. Nil: all
	// objects go up by gocloud's writer.
	Parts func(key, contentType string) Parts
	// Serial: the parts of an upload are one stream, sent one after the other, and none of them twice.
	Serial bool
	// PartSize in bytes, 8 MiB if 0, and MaxParts of one upload, 10,000 if 0.
	PartSize, MaxParts int
	// CopyPart copies a range of another object of the bucket on the store's side; errors.ErrUnsupported where it can't. CopyLeast and CopyMost bound
	// what one request may copy, and CopyLeast is what each part but the last must have. Nil: no range is copied so.
	CopyPart            func(ctx context.Context, p Parts, n int, of upload.Copied) error
	CopyLeast, CopyMost int64
	// Unconditional: the store knows no condition for a create. A HEAD precedes it, which settles no race.
	Unconditional bool
	// RefusesCondition reports whether a create was refused because the store knows no condition. Nil: never.
	RefusesCondition func(ctx context.Context, err error) bool
	// Probe sends an object with the checksum of another body, and reports whether it was refused for that.
	Probe func(ctx context.Context, key string) (refused bool, err error)
	// Delete removes an object in the provider's own way, if it has this ETag or none is given. Nil: the ETag
	// is compared before, not in one step with the delete.
	Delete func(ctx context.Context, key, ifMatch string) error

	// ListPage is how many keys one page of a list has, 1,000 if 0.
	ListPage int
	// KeepOpen leaves the gocloud bucket open when this one is closed.
	KeepOpen bool
	// CloseIdle closes the idle connections of the provider's client when the bucket is closed. Nil: they end by themselves.
	CloseIdle func()
}

// Bucket is a gocloud bucket as blobio sees it.
type Bucket struct {
	reads  httprange.Reader
	bucket *blob.Bucket
	root   string
	opts   Options
	closed atomic.Bool
	// unconditional is set once the store refused a condition and was to be written to without.
	unconditional atomic.Bool
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
	b.reads = httprange.Reader{Get: b.get, Head: b.head, Fail: b.fail, NoSuffix: !opts.Suffix && opts.Tail == nil,
		NoConditions: !opts.hooked()}
	return b
}

// hooked reports whether reads have conditions and return ETags.
func (o Options) hooked() bool { return o.BeforeRead != nil && o.Got != nil }

// Limits names what the bucket can't promise, one sentence each.
func (b *Bucket) Limits() []string {
	var out []string
	for _, limit := range []struct {
		reached bool
		what    string
	}{
		{b.opts.hooked(), "replacing an object during a read is not detected: the driver's reads have no conditions and return no ETag"},
		{b.opts.Suffix || b.opts.Tail != nil || b.opts.BeforeRead != nil, "reading the end of an object of unknown size costs a second request"},
		{b.opts.BeforeWrite != nil, "conditional creation depends on the driver's IfNotExist"},
		{b.opts.Parts != nil, "an aborted multipart upload may leave its parts in the store"},
		{b.opts.Delete != nil, "the condition of a delete is compared before it, not in one step with it"},
	} {
		if !limit.reached {
			out = append(out, limit.what)
		}
	}
	return out
}

// Location is what package blobio looks for where the canonical URL of a bucket does not follow from the one it was opened by.
func (b *Bucket) Location() string { return b.root }

// As reaches the provider's client, as blob.Bucket's method does, and the *blob.Bucket itself.
func (b *Bucket) As(target any) bool {
	if below, ok := target.(**blob.Bucket); ok {
		*below = b.bucket
		return true
	}
	return b.bucket.As(target)
}

// Close implements blobio.Bucket.
func (b *Bucket) Close() error {
	if b.closed.Swap(true) || b.opts.KeepOpen {
		return nil
	}
	if b.opts.CloseIdle != nil {
		b.opts.CloseIdle()
	}
	return b.bucket.Close()
}

// ready refuses operations on a closed bucket and under a cancelled context, before a request is made.
func (b *Bucket) ready(ctx context.Context) error {
	if b.closed.Load() {
		return blobio.ErrClosed
	}
	return ctx.Err()
}

// kinds are the requests that the transport sees, as they are counted.
var kinds = map[httptransport.Kind]blobio.Counters{
	httptransport.Get:    {Gets: 1, Depth: 1},
	httptransport.Stat:   {Heads: 1, Depth: 1},
	httptransport.List:   {Lists: 1, Depth: 1},
	httptransport.Put:    {Puts: 1, Depth: 1},
	httptransport.Delete: {Deletes: 1, Depth: 1},
}

// counted gives a context in which the transport counts the requests to the store.
func counted(ctx context.Context, trace blobio.Trace) context.Context {
	return httptransport.Watch(ctx, func(k httptransport.Kind) { trace.Count(kinds[k]) })
}

// beside is counted for requests that wait for no other: parts that go up at the same time, and tidying up.
func beside(ctx context.Context, trace blobio.Trace) context.Context {
	return httptransport.Watch(ctx, func(k httptransport.Kind) {
		request := kinds[k]
		request.Depth = 0
		trace.Count(request)
	})
}

// Package gcsblob is the driver for Google Cloud Storage. Importing it enables gs://BUCKET/KEY (and the
// spelling gcs://) in blobio.
//
// It stands on Google's client of the JSON API itself, because the layers above it lose what a shard needs
// to know or do things unseen: one says "not found" where access was denied, another asks again for a broken
// body without end. An object's ETag is its generation, a number that grows with each object under a key.
// What one call costs:
//
//	ReadRange, ReadSuffix, Open   1 GET
//	Stat                          1 GET of the metadata
//	List                          1 LIST per 1,000 keys
//	Create … Close                1 POST up to a part, else a POST and a PUT per part
//	Delete                        1 DELETE
//
// The parameters of a bucket's URL are those of Options. A resumable upload that was abandoned costs nothing
// and is forgotten by the store after a week.
package gcsblob

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync/atomic"

	raw "google.golang.org/api/storage/v1"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
)

func init() {
	blobio.Register("gs", OpenURL)
	blobio.Register("gcs", OpenURL)
}

// OpenURL opens the bucket that the host of u names, with the options of its query.
func OpenURL(ctx context.Context, u *url.URL) (blobio.Bucket, error) {
	if u.User != nil || u.Host == "" {
		return nil, errors.New("not of the form gs://BUCKET/KEY; credentials come from the environment")
	}
	opts, err := ParseOptions(u.Query())
	if err != nil {
		return nil, err
	}
	return Open(ctx, u.Host, opts)
}

// Bucket is one GCS bucket.
type Bucket struct {
	reads   answer.Reader
	objects *raw.ObjectsService
	name    string
	opts    Options
	closed  atomic.Bool
}

var _ blobio.Bucket = (*Bucket)(nil)

// Open opens the bucket name. No request is made to the store; finding credentials may ask the instance.
func Open(ctx context.Context, name string, opts Options) (*Bucket, error) {
	b := &Bucket{name: name, opts: opts}
	b.reads = answer.Reader{Get: b.get, Head: b.head, Fail: b.fail}
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	service, err := opts.service(context.WithoutCancel(ctx))
	if err != nil {
		return nil, b.fail(ctx, "open", "", err)
	}
	b.objects = service.Objects
	return b, nil
}

// Close implements blobio.Bucket. Idle connections end by themselves.
func (b *Bucket) Close() error {
	b.closed.Store(true)
	return nil
}

// Location implements blobio.Locator.
func (b *Bucket) Location() string { return "gs://" + b.name + "/" }

// url is the canonical location of a key.
func (b *Bucket) url(key string) string { return b.Location() + key }

// check refuses operations on a closed bucket and under a cancelled context, before a request is made.
func (b *Bucket) check(ctx context.Context, op, key string) error {
	if b.closed.Load() {
		return b.fail(ctx, op, key, blobio.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return b.fail(ctx, op, key, err)
	}
	return nil
}

// generation reads the number that is an ETag here; what is none can be no object's.
func generation(etag string) int64 {
	n, err := strconv.ParseInt(etag, 10, 64)
	if err != nil || n <= 0 {
		return 1
	}
	return n
}

// Package gcsblob is the driver for Google Cloud Storage. Importing it enables gs://BUCKET/KEY (and the
// spelling gcs://) in blobio.
//
// Reads, lists and objects of one part go through gocloud.dev/blob/gcsblob, whose hooks reach what its portable layer
// hides. Reads of the last bytes, uploads in parts and deletes use the same client of Google's library directly, because
// no hook reaches them. That client makes no second attempt: its readers would reopen a broken body without end.
//
// An object's ETag is its generation, a number that grows with each object under a key. What one call costs:
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

	"cloud.google.com/go/storage"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
	"github.com/shardcat/shardcat/blobio/internal/upload"
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
	opts.Credentials = blobio.CredentialsOf(ctx)
	return Open(ctx, u.Host, opts)
}

// bucket is one GCS bucket.
type bucket struct {
	*cloudblob.Bucket
	handle *storage.BucketHandle // nil for the hooks of a bucket that somebody else opened
	opts   Options
}

var _ blobio.Bucket = (*bucket)(nil)

// Open opens the bucket name. No request is made to the store; finding credentials may call the instance.
func Open(ctx context.Context, name string, opts Options) (blobio.Bucket, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	root := "gs://" + name + "/"
	client, err := opts.client(context.WithoutCancel(ctx))
	if err != nil {
		cause, class := explain(ctx, err)
		return nil, blobio.NewError("open", root, class, cause)
	}
	below, err := opts.open(ctx, client, name)
	if err != nil {
		return nil, err
	}
	b := &bucket{handle: client.Bucket(name), opts: opts}
	hooks := b.reads()
	hooks.Tail, hooks.Head, hooks.Delete, hooks.Probe = b.tail, b.head, b.remove, b.probe
	hooks.BeforeWrite, hooks.Parts, hooks.Serial = b.beforeWrite, b.parts, true
	hooks.PartSize, hooks.MaxParts = opts.PartSize, maxParts
	b.Bucket = cloudblob.FromBucket(root, below, hooks)
	return b, nil
}

// maxParts keeps parts of the default size up to GCS's limit of 5 TiB on an object.
const maxParts = 5 << 40 / upload.DefaultPartSize

// ifMatch is the condition that an object has this ETag.
func ifMatch(o *storage.ObjectHandle, etag string) *storage.ObjectHandle {
	if etag == "" {
		return o
	}
	return o.If(storage.Conditions{GenerationMatch: generation(etag)})
}

// generation reads the number that is an ETag here; what is none can be no object's.
func generation(etag string) int64 {
	n, err := strconv.ParseInt(etag, 10, 64)
	if err != nil || n <= 0 {
		return 1
	}
	return n
}

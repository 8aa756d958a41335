// Package s3blob is the driver for S3 and the stores that speak its protocol. Importing it enables
// s3://BUCKET/KEY (and the spelling s3a://) in blobio.
//
// It stands on the AWS SDK itself, because the layers above it lose what a shard needs to know: the
// provider's own error code, the size in the answer to a ranged GET, a suffix read, a condition on reads and
// deletes. What one call costs:
//
//	ReadRange, ReadSuffix, Open   1 GET
//	Stat                          1 HEAD
//	List                          1 LIST per 1,000 keys
//	Create … Close                1 PUT up to a part, else 2 POSTs and a PUT per part
//	Delete                        1 HEAD and 1 DELETE: S3 does not tell whether there was something
//
// The parameters of a bucket's URL are those of Options.
package s3blob

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
)

func init() {
	blobio.Register("s3", OpenURL)
	blobio.Register("s3a", OpenURL)
}

// OpenURL opens the bucket that the host of u names, with the options of its query.
func OpenURL(ctx context.Context, u *url.URL) (blobio.Bucket, error) {
	if u.User != nil || u.Host == "" {
		return nil, errors.New("not of the form s3://BUCKET/KEY; credentials come from the environment")
	}
	opts, err := ParseOptions(u.Query())
	if err != nil {
		return nil, err
	}
	return Open(ctx, u.Host, opts)
}

// Bucket is one S3 bucket.
type Bucket struct {
	reads  answer.Reader
	client *s3.Client
	name   string
	opts   Options
	closed atomic.Bool
	// plainDelete is set once the store refused a condition on a delete as not implemented.
	plainDelete atomic.Bool
}

var _ blobio.Bucket = (*Bucket)(nil)

// Open opens the bucket name. No request is made.
func Open(ctx context.Context, name string, opts Options) (*Bucket, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	client, err := opts.client(ctx)
	if err != nil {
		return nil, err
	}
	b := &Bucket{client: client, name: name, opts: opts}
	b.reads = answer.Reader{Get: b.get, Head: b.head, Fail: b.fail}
	return b, nil
}

// Close implements blobio.Bucket. Idle connections end by themselves.
func (b *Bucket) Close() error {
	b.closed.Store(true)
	return nil
}

// Location implements blobio.Locator.
func (b *Bucket) Location() string { return "s3://" + b.name + "/" }

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

// payer is what a requester-pays bucket wants to see in each request.
func (b *Bucket) payer() types.RequestPayer {
	if b.opts.RequesterPays {
		return types.RequestPayerRequester
	}
	return ""
}

// optional is a condition or parameter that is left out where it is empty.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}

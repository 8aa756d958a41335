// Package s3blob is the driver for S3 and the stores that speak its protocol. Importing it enables
// s3://BUCKET/KEY (and the spelling s3a://) in blobio.
//
// Reads, lists and objects of one part go through gocloud.dev/blob/s3blob, whose hooks reach what its portable layer
// hides. Uploads in parts and deletes use the same client of the AWS SDK directly: gocloud's transfer manager leaves the
// parts of a cancelled upload behind, and its deletes have no condition. What one call costs:
//
//	ReadRange, ReadSuffix, Open   1 GET
//	Stat                          1 HEAD
//	List                          1 LIST per 1,000 keys
//	Create … Close                1 PUT up to a part, else 2 POSTs and a PUT per part
//	CopyRange                     1 PUT per GiB
//	Delete                        1 HEAD and 1 DELETE: S3 does not report whether there was something
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
	gocloud "gocloud.dev/blob/s3blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
	"github.com/shardcat/shardcat/internal/etags"
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
	if ask := blobio.CredentialsOf(ctx); ask != nil {
		opts.Credentials = handedOut{ask}
	}
	return Open(ctx, u.Host, opts)
}

// bucket is one S3 bucket.
type bucket struct {
	*cloudblob.Bucket
	client *s3.Client // nil for the hooks of a bucket that somebody else opened
	name   string
	opts   Options
	// plainDelete is set once the store refused a condition on a delete as not implemented.
	plainDelete atomic.Bool
	listing
	// noCopy is set once the store refused to copy a range.
	noCopy atomic.Bool
	// badCopies counts refusals in a row that may be meant for one range alone.
	badCopies atomic.Int32
}

var _ blobio.Bucket = (*bucket)(nil)

// Open opens the bucket name. No request is made.
func Open(ctx context.Context, name string, opts Options) (blobio.Bucket, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	client, closeIdle, err := opts.client(ctx)
	if err != nil {
		return nil, err
	}
	below, err := gocloud.OpenBucket(ctx, client, name, nil)
	if err != nil {
		return nil, err
	}
	b := &bucket{client: client, name: name, opts: opts}
	hooks := b.reads()
	hooks.CloseIdle = closeIdle
	hooks.Head, hooks.Delete, hooks.Probe, hooks.List = b.head, b.remove, b.probe, b.list
	hooks.BeforeWrite, hooks.Parts, hooks.PartSize = b.beforeWrite, b.parts, opts.PartSize
	hooks.Took = took
	hooks.Unconditional, hooks.RefusesCondition = opts.Unconditional, refusesCondition
	hooks.CopyPart, hooks.CopyLeast, hooks.CopyMost = b.copyPart, minPart, copyMost
	b.Bucket = cloudblob.FromBucket("s3://"+name+"/", below, hooks)
	return b, nil
}

// payer is what a requester-pays bucket wants to see in each request.
func (b *bucket) payer() types.RequestPayer {
	if b.opts.RequesterPays {
		return types.RequestPayerRequester
	}
	return ""
}

// condition is an ETag as a condition has it, nil if it is empty.
func condition(etag string) *string {
	if etag == "" {
		return nil
	}
	return aws.String(`"` + etags.Bare(etag) + `"`)
}

// optional is a condition or parameter that is left out where it is empty.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}

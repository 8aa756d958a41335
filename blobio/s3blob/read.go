package s3blob

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/cloudblob"
	"github.com/shardcat/shardcat/internal/answer"
	"github.com/shardcat/shardcat/internal/storehttp"
)

// Hooks reach what gocloud hides of a bucket that you opened by gocloud.dev/blob/s3blob. Creates and deletes go
// the portable way.
func Hooks() cloudblob.Options { return (&Bucket{}).reads() }

// reads are the hooks of reading.
func (b *Bucket) reads() cloudblob.Options {
	return cloudblob.Options{BeforeRead: b.beforeRead, Got: got, BeforeList: b.beforeList, Listed: listed,
		Explain: explain, Suffix: true, ListPage: b.opts.ListPage}
}

// errHook says that gocloud asked S3 in a way that this package does not know.
var errHook = errors.New("not a request of gocloud.dev/blob/s3blob")

// beforeRead sets the range, the condition, and the key as it is: gocloud escapes "../".
func (b *Bucket) beforeRead(as func(any) bool, r cloudblob.Read) error {
	var in *s3.GetObjectInput
	if !as(&in) {
		return errHook
	}
	in.Key, in.Range = &r.Key, optional(answer.Span{Off: r.Off, N: r.N}.Header())
	in.IfMatch, in.RequestPayer = optional(r.IfMatch), b.payer()
	return nil
}

func got(r *blob.Reader) (g cloudblob.Got, err error) {
	var out s3.GetObjectOutput
	if !r.As(&out) {
		return g, errHook
	}
	g.ETag = aws.ToString(out.ETag)
	g.At, g.Size, err = answer.Extent(aws.ToString(out.ContentRange), aws.ToInt64(out.ContentLength))
	return g, err
}

// head makes one HEAD, by the native client: gocloud's attributes have no hook for who pays.
func (b *Bucket) head(ctx context.Context, key string) (blobio.Info, error) {
	const op = "stat"
	if err := b.check(ctx, op, key); err != nil {
		return blobio.Info{}, err
	}
	out, err := b.client.HeadObject(storehttp.Once(ctx), &s3.HeadObjectInput{Bucket: &b.name, Key: &key, RequestPayer: b.payer()})
	if err != nil {
		return blobio.Info{}, b.fail(ctx, op, key, err)
	}
	return blobio.Info{Key: key, Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag),
		ModTime: aws.ToTime(out.LastModified)}, nil
}

func (b *Bucket) beforeList(as func(any) bool) error {
	var in *s3.ListObjectsV2Input
	if as(&in) {
		in.RequestPayer = b.payer()
	}
	return nil
}

func listed(o *blob.ListObject) (key, etag string, ok bool) {
	var told types.Object
	ok = o.As(&told)
	return aws.ToString(told.Key), aws.ToString(told.ETag), ok
}

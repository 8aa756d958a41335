package s3blob

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
	"github.com/shardcat/shardcat/blobio/internal/httprange"
)

// FromBucket makes a blobio.Bucket of a bucket that you opened by gocloud.dev/blob/s3blob, and reaches what gocloud
// hides of it. Creates and deletes go the portable way. The bucket is closed with it; root is the canonical URL of its
// root, which errors begin with.
func FromBucket(root string, below *blob.Bucket) blobio.Bucket {
	return cloudblob.FromBucket(root, below, (&bucket{}).reads())
}

// reads are the hooks of reading.
func (b *bucket) reads() cloudblob.Options {
	return cloudblob.Options{BeforeRead: b.beforeRead, Got: got, BeforeList: b.beforeList, Listed: b.listed,
		Explain: explain, Suffix: true, ListPage: b.opts.ListPage}
}

// errHook means that gocloud passed an S3 request of an unknown type.
var errHook = errors.New("not a request of gocloud.dev/blob/s3blob")

// beforeRead sets the range and the condition.
func (b *bucket) beforeRead(as func(any) bool, r cloudblob.Read) error {
	var in *s3.GetObjectInput
	if !as(&in) {
		return errHook
	}
	b.setKey(&in.Key, r.Key)
	in.Range = optional(httprange.Span{Off: r.Off, N: r.N}.Header())
	in.IfMatch, in.RequestPayer = condition(r.IfMatch), b.payer()
	return nil
}

// setKey sets a key as it is: gocloud escapes "../". A bucket that somebody else opened may lie below a prefix.
func (b *bucket) setKey(field **string, key string) {
	if b.client != nil {
		*field = &key
	}
}

func got(r *blob.Reader) (g cloudblob.Got, err error) {
	var out s3.GetObjectOutput
	if !r.As(&out) {
		return g, errHook
	}
	g.ETag = aws.ToString(out.ETag)
	e, err := httprange.ParseContentRange(aws.ToString(out.ContentRange), stated(out.ContentLength))
	g.At, g.End, g.Size = e.At, e.End, e.Size
	return g, err
}

// stated is a number that an answer may lack.
func stated(n *int64) int64 {
	if n == nil {
		return httprange.Unknown
	}
	return *n
}

// head makes one HEAD, by the native client: gocloud's attributes have no hook for who pays.
func (b *bucket) head(ctx context.Context, key string) (blobio.Info, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key, RequestPayer: b.payer()})
	if err != nil {
		return blobio.Info{}, err
	}
	return blobio.Info{Key: key, Size: stated(out.ContentLength), ETag: aws.ToString(out.ETag),
		ModTime: aws.ToTime(out.LastModified)}, nil
}

func (b *bucket) beforeList(as func(any) bool) error {
	var in *s3.ListObjectsV2Input
	if as(&in) {
		in.RequestPayer = b.payer()
	}
	var with *[]func(*s3.Options)
	if as(&with) {
		*with = append(*with, checkedList)
	}
	return nil
}

func (b *bucket) listed(o *blob.ListObject) (key, etag string, ok bool) {
	var told types.Object
	ok = o.As(&told)
	key = o.Key
	if b.client != nil {
		key = aws.ToString(told.Key)
	}
	return key, aws.ToString(told.ETag), ok
}

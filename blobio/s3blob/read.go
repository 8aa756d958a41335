package s3blob

import (
	"context"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
)

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

// get makes one GET.
func (b *Bucket) get(ctx context.Context, key string, span answer.Span, opts blobio.ReadOptions) (answer.Download, error) {
	if err := b.check(ctx, "read", key); err != nil {
		return answer.Download{}, err
	}
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key,
		Range: optional(span.Header()), IfMatch: optional(opts.IfMatch), RequestPayer: b.payer()})
	if err != nil {
		return answer.Download{}, err
	}
	info := blobio.Info{Key: key, ETag: aws.ToString(out.ETag), ModTime: aws.ToTime(out.LastModified)}
	d := answer.Download{Body: out.Body}
	d.At, info.Size, err = answer.Extent(aws.ToString(out.ContentRange), aws.ToInt64(out.ContentLength))
	if d.Info = info; err != nil {
		out.Body.Close()
	}
	return d, err
}

// Stat implements blobio.BucketReader.
func (b *Bucket) Stat(ctx context.Context, key string, opts blobio.ReadOptions) (blobio.Info, error) {
	return b.reads.Stat(ctx, key, opts)
}

// head makes one HEAD.
func (b *Bucket) head(ctx context.Context, key string) (blobio.Info, error) {
	const op = "stat"
	if err := b.check(ctx, op, key); err != nil {
		return blobio.Info{}, err
	}
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: &key, RequestPayer: b.payer()})
	if err != nil {
		return blobio.Info{}, b.fail(ctx, op, key, err)
	}
	return blobio.Info{Key: key, Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag),
		ModTime: aws.ToTime(out.LastModified)}, nil
}

// List implements blobio.BucketReader. Keys come in the order of their bytes.
func (b *Bucket) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	const op = "list"
	return func(yield func(blobio.Info, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: optional(prefix), RequestPayer: b.payer()}
		if b.opts.ListPage > 0 {
			in.MaxKeys = aws.Int32(int32(b.opts.ListPage))
		}
		for pages := s3.NewListObjectsV2Paginator(b.client, in); pages.HasMorePages(); {
			if err := b.check(ctx, op, prefix); err != nil {
				yield(blobio.Info{}, err)
				return
			}
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(blobio.Info{}, b.fail(ctx, op, prefix, err))
				return
			}
			for _, o := range page.Contents {
				if !yield(blobio.Info{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size),
					ETag: aws.ToString(o.ETag), ModTime: aws.ToTime(o.LastModified)}, nil) {
					return
				}
			}
			if pages.HasMorePages() {
				opts.Trace.Count(blobio.Counters{Lists: 1, Depth: 1})
			}
		}
	}
}

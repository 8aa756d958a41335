package s3blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
)

// ReadRange implements blobio.BucketReader.
func (b *Bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte) (blobio.Info, error) {
	const op = "read"
	if len(dst) == 0 {
		info, err := b.statSame(ctx, op, key)
		if err == nil && (off < 0 || off > info.Size) {
			err = b.fail(ctx, op, key, blobio.ErrRange)
		}
		return info, err
	}
	end := off + int64(len(dst))
	if off < 0 || end < off {
		return blobio.Info{}, b.fail(ctx, op, key, blobio.ErrRange)
	}
	body, info, err := b.get(ctx, op, key, fmt.Sprintf("bytes=%d-%d", off, end-1), off)
	if err != nil {
		return info, err
	}
	defer body.Close()
	if end > info.Size {
		return info, b.fail(ctx, op, key, blobio.ErrRange)
	}
	if n, err := answer.ReadFull(body, dst); err != nil {
		return info, answer.Filled(b.fail(ctx, op, key, err), n)
	}
	return info, nil
}

// ReadSuffix implements blobio.BucketReader.
func (b *Bucket) ReadSuffix(ctx context.Context, key string, n int64) ([]byte, blobio.Info, error) {
	const op = "read"
	if n <= 0 {
		info, err := b.statSame(ctx, op, key)
		return nil, info, err
	}
	body, info, err := b.get(ctx, op, key, fmt.Sprintf("bytes=-%d", n), anywhere)
	if errors.Is(err, blobio.ErrRange) { // an empty object has no last byte
		info, err = b.statSame(ctx, op, key)
		return nil, info, err
	}
	if err != nil {
		return nil, info, err
	}
	defer body.Close()
	dst := make([]byte, min(n, info.Size))
	if _, err := answer.ReadFull(body, dst); err != nil {
		return nil, info, b.fail(ctx, op, key, err)
	}
	return dst, info, nil
}

// Open implements blobio.BucketReader. The body is the store's own: it ends with an error where it breaks.
func (b *Bucket) Open(ctx context.Context, key string, off int64) (io.ReadCloser, blobio.Info, error) {
	const op = "open"
	rng := ""
	if off > 0 {
		rng = fmt.Sprintf("bytes=%d-", off)
	}
	body, info, err := b.get(ctx, op, key, rng, off)
	if off > 0 && errors.Is(err, blobio.ErrRange) {
		return b.openEnd(ctx, key, off, err)
	}
	if err != nil {
		return nil, info, err
	}
	fail := func(err error) error { return b.fail(ctx, op, key, err) }
	return answer.Body(ctx, body, info.Size-off, fail), info, nil
}

// openEnd settles an Open that the store refused: at the very end of the object there is nothing to read.
func (b *Bucket) openEnd(ctx context.Context, key string, off int64, refused error) (io.ReadCloser, blobio.Info, error) {
	info, err := b.statSame(ctx, "open", key)
	switch {
	case err != nil:
		return nil, info, err
	case off != info.Size:
		return nil, info, refused
	}
	return io.NopCloser(strings.NewReader("")), info, nil
}

// anywhere is the offset of a range that counts from the end.
const anywhere = -1

// get makes one GET of a range, all of the object if rng is empty, and checks that the answer begins at off.
// The caller closes the body.
func (b *Bucket) get(ctx context.Context, op, key, rng string, off int64) (io.ReadCloser, blobio.Info, error) {
	if err := b.check(ctx, op, key); err != nil {
		return nil, blobio.Info{}, err
	}
	pin := blobio.Pinned(ctx)
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &b.name, Key: &key, Range: optional(rng), IfMatch: optional(pin), RequestPayer: b.payer()})
	if err != nil {
		err = b.fail(ctx, op, key, err)
		if pin != "" && errors.Is(err, blobio.ErrExists) {
			err = b.fail(ctx, op, key, blobio.ErrChanged)
		}
		return nil, blobio.Info{}, err
	}
	info := blobio.Info{Key: key, ETag: aws.ToString(out.ETag), ModTime: aws.ToTime(out.LastModified)}
	at, size, err := answer.Extent(aws.ToString(out.ContentRange), aws.ToInt64(out.ContentLength))
	info.Size = size
	switch {
	case err == nil && off != anywhere && at != off:
		err = fmt.Errorf("%w: asked for bytes from %d on, was sent bytes from %d on", blobio.ErrUnknown, off, at)
	case err == nil && pin != "" && info.ETag != pin: // a store that does not look at the condition
		err = blobio.ErrChanged
	}
	if err != nil {
		out.Body.Close()
		return nil, info, b.fail(ctx, op, key, err)
	}
	return out.Body, info, nil
}

// statSame is the Stat of a read that has no bytes to ask for. It heeds a pin as any read.
func (b *Bucket) statSame(ctx context.Context, op, key string) (blobio.Info, error) {
	info, err := b.Stat(ctx, key)
	if err == nil {
		err = answer.Same(ctx, info)
	}
	if err != nil {
		return info, b.fail(ctx, op, key, err)
	}
	return info, nil
}

// Stat implements blobio.BucketReader.
func (b *Bucket) Stat(ctx context.Context, key string) (blobio.Info, error) {
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
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blobio.Info, error] {
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
				blobio.Count(ctx, blobio.Counters{Lists: 1, Depth: 1})
			}
		}
	}
}

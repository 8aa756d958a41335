package azblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

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
	body, info, err := b.get(ctx, op, key, blob.HTTPRange{Offset: off, Count: int64(len(dst))}, blobio.Pinned(ctx))
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

// ReadSuffix implements blobio.BucketReader, with two requests that see one version of the blob.
func (b *Bucket) ReadSuffix(ctx context.Context, key string, n int64) ([]byte, blobio.Info, error) {
	const op = "read"
	info, err := b.statSame(ctx, op, key)
	if err != nil {
		return nil, info, err
	}
	n = min(n, info.Size)
	if n <= 0 {
		return nil, info, nil
	}
	blobio.Count(ctx, blobio.Counters{Heads: 1, Depth: 1})
	body, info, err := b.get(ctx, op, key, blob.HTTPRange{Offset: info.Size - n, Count: n}, info.ETag)
	if err != nil {
		return nil, info, err
	}
	defer body.Close()
	dst := make([]byte, n)
	if _, err := answer.ReadFull(body, dst); err != nil {
		return nil, info, b.fail(ctx, op, key, err)
	}
	return dst, info, nil
}

// Open implements blobio.BucketReader. The body is the store's own: it ends with an error where it breaks.
func (b *Bucket) Open(ctx context.Context, key string, off int64) (io.ReadCloser, blobio.Info, error) {
	const op = "open"
	body, info, err := b.get(ctx, op, key, blob.HTTPRange{Offset: off}, blobio.Pinned(ctx))
	if off > 0 && errors.Is(err, blobio.ErrRange) {
		return b.openEnd(ctx, key, off, err)
	}
	if err != nil {
		return nil, info, err
	}
	fail := func(err error) error { return b.fail(ctx, op, key, err) }
	return answer.Body(ctx, body, info.Size-off, fail), info, nil
}

// openEnd settles an Open that the store refused: at the very end of the blob there is nothing to read.
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

// get makes one GET of a range and checks that the answer begins where it was asked to. A non-empty pin is
// the ETag the blob must have. The caller closes the body.
func (b *Bucket) get(ctx context.Context, op, key string, rng blob.HTTPRange, pin string) (io.ReadCloser, blobio.Info, error) {
	if err := b.check(ctx, op, key); err != nil {
		return nil, blobio.Info{}, err
	}
	out, err := b.client.NewBlobClient(key).DownloadStream(ctx,
		&blob.DownloadStreamOptions{Range: rng, AccessConditions: ifMatch(pin)})
	if err != nil {
		err = b.fail(ctx, op, key, err)
		if pin != "" && errors.Is(err, blobio.ErrExists) {
			err = b.fail(ctx, op, key, blobio.ErrChanged)
		}
		return nil, blobio.Info{}, err
	}
	info := blobio.Info{Key: key, ETag: quoted(out.ETag), ModTime: deref(out.LastModified)}
	at, size, err := answer.Extent(deref(out.ContentRange), deref(out.ContentLength))
	info.Size = size
	switch {
	case err == nil && at != rng.Offset:
		err = fmt.Errorf("%w: asked for bytes from %d on, was sent bytes from %d on", blobio.ErrUnknown, rng.Offset, at)
	case err == nil && pin != "" && info.ETag != pin:
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
	out, err := b.client.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return blobio.Info{}, b.fail(ctx, op, key, err)
	}
	return blobio.Info{Key: key, Size: deref(out.ContentLength), ETag: quoted(out.ETag),
		ModTime: deref(out.LastModified)}, nil
}

// directory is what accounts with a hierarchical namespace list between the blobs.
const directory = "directory"

// List implements blobio.BucketReader. Keys come in the order of their bytes.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blobio.Info, error] {
	const op = "list"
	return func(yield func(blobio.Info, error) bool) {
		opts := &container.ListBlobsFlatOptions{Prefix: &prefix}
		if b.opts.ListPage > 0 {
			most := int32(b.opts.ListPage)
			opts.MaxResults = &most
		}
		pages := b.client.NewListBlobsFlatPager(opts)
		for pages.More() {
			if err := b.check(ctx, op, prefix); err != nil {
				yield(blobio.Info{}, err)
				return
			}
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(blobio.Info{}, b.fail(ctx, op, prefix, err))
				return
			}
			for _, item := range page.Segment.BlobItems {
				if info, ok := listed(item); ok && !yield(info, nil) {
					return
				}
			}
			if pages.More() {
				blobio.Count(ctx, blobio.Counters{Lists: 1, Depth: 1})
			}
		}
	}
}

// listed is what a list tells of a blob; ok is false for what is none.
func listed(item *container.BlobItem) (info blobio.Info, ok bool) {
	p := item.Properties
	if p == nil || deref(p.ResourceType) == directory {
		return blobio.Info{}, false
	}
	return blobio.Info{Key: deref(item.Name), Size: deref(p.ContentLength), ETag: quoted(p.ETag),
		ModTime: deref(p.LastModified)}, true
}

package azblob

import (
	"context"
	"io"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
)

// ReadRange implements blobio.BucketReader.
func (b *Bucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	return b.reads.ReadRange(ctx, key, off, dst, opts)
}

// ReadSuffix implements blobio.BucketReader, with two requests that see one version of the blob.
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
	rng := blob.HTTPRange{Offset: span.Off, Count: max(0, span.N)}
	out, err := b.client.NewBlobClient(key).DownloadStream(ctx,
		&blob.DownloadStreamOptions{Range: rng, AccessConditions: ifMatch(opts.IfMatch)})
	if err != nil {
		return answer.Download{}, err
	}
	info := blobio.Info{Key: key, ETag: quoted(out.ETag), ModTime: deref(out.LastModified)}
	d := answer.Download{Body: out.Body}
	d.At, info.Size, err = answer.Extent(deref(out.ContentRange), deref(out.ContentLength))
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
func (b *Bucket) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	const op = "list"
	return func(yield func(blobio.Info, error) bool) {
		in := &container.ListBlobsFlatOptions{Prefix: &prefix}
		if b.opts.ListPage > 0 {
			most := int32(b.opts.ListPage)
			in.MaxResults = &most
		}
		pages := b.client.NewListBlobsFlatPager(in)
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
				opts.Trace.Count(blobio.Counters{Lists: 1, Depth: 1})
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

package gcsblob

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	raw "google.golang.org/api/storage/v1"

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
	call := b.objects.Get(b.name, key).Context(ctx)
	if rng := span.Header(); rng != "" {
		call.Header().Set("Range", rng)
	}
	if b.opts.UserProject != "" {
		call.UserProject(b.opts.UserProject)
	}
	if opts.IfMatch != "" {
		call.IfGenerationMatch(generation(opts.IfMatch))
	}
	out, err := call.Download()
	if err != nil {
		return answer.Download{}, err
	}
	info, at, err := answered(key, out)
	if err != nil {
		out.Body.Close()
	}
	return answer.Download{Body: out.Body, Info: info, At: at}, err
}

// answered is what the headers of a download tell of the object and of where the body begins.
func answered(key string, out *http.Response) (info blobio.Info, at int64, err error) {
	info = blobio.Info{Key: key, ETag: out.Header.Get("X-Goog-Generation")}
	info.ModTime, _ = http.ParseTime(out.Header.Get("Last-Modified")) // left zero where it is not told
	if out.Uncompressed || out.ContentLength < 0 {
		return info, 0, fmt.Errorf("%w: the object has a Content-Encoding and was unpacked on the way", blobio.ErrUnknown)
	}
	at, info.Size, err = answer.Extent(out.Header.Get("Content-Range"), out.ContentLength)
	return info, at, err
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
	call := b.objects.Get(b.name, key).Context(ctx)
	if b.opts.UserProject != "" {
		call.UserProject(b.opts.UserProject)
	}
	o, err := call.Do()
	if err != nil {
		return blobio.Info{}, b.fail(ctx, op, key, err)
	}
	return told(o), nil
}

// told is what the store's metadata tell of an object.
func told(o *raw.Object) blobio.Info {
	at, _ := time.Parse(time.RFC3339, o.Updated) // left zero where it is not told
	return blobio.Info{Key: o.Name, Size: int64(o.Size), ETag: fmt.Sprint(o.Generation), ModTime: at}
}

// List implements blobio.BucketReader. Keys come in the order of their bytes.
func (b *Bucket) List(ctx context.Context, prefix string, opts blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	const op = "list"
	return func(yield func(blobio.Info, error) bool) {
		call := b.objects.List(b.name).Prefix(prefix).Context(ctx)
		if b.opts.UserProject != "" {
			call.UserProject(b.opts.UserProject)
		}
		if b.opts.ListPage > 0 {
			call.MaxResults(int64(b.opts.ListPage))
		}
		for more := true; more; {
			if err := b.check(ctx, op, prefix); err != nil {
				yield(blobio.Info{}, err)
				return
			}
			page, err := call.Do()
			if err != nil {
				yield(blobio.Info{}, b.fail(ctx, op, prefix, err))
				return
			}
			for _, o := range page.Items {
				if !yield(told(o), nil) {
					return
				}
			}
			call.PageToken(page.NextPageToken)
			if more = page.NextPageToken != ""; more {
				opts.Trace.Count(blobio.Counters{Lists: 1, Depth: 1})
			}
		}
	}
}

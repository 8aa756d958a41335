package cloudblob

import (
	"context"

	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/httptransport"
)

// createPortable starts an object by gocloud's own writer, which makes it if the key is free.
func (b *Bucket) createPortable(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	inner, cancel := context.WithCancel(counted(ctx, opts.Trace))
	w, err := b.bucket.NewWriter(inner, key, &blob.WriterOptions{ContentType: opts.ContentType,
		DisableContentTypeDetection: true, IfNotExist: true})
	if err != nil {
		cancel()
		return nil, b.fail(ctx, "create", key, err)
	}
	return &writer{b: b, ctx: ctx, inner: inner, cancel: cancel, key: key, w: w}, nil
}

// writer is an object on its way up by gocloud's own writer.
type writer struct {
	b          *Bucket
	ctx, inner context.Context
	cancel     context.CancelFunc
	key        string
	w          *blob.Writer // nil once closed or aborted
}

func (w *writer) Write(p []byte) (int, error) {
	if w.w == nil {
		return 0, w.b.fail(w.ctx, "create", w.key, blobio.ErrClosed)
	}
	n, err := w.w.Write(p)
	if err != nil {
		err = w.b.fail(w.ctx, "create", w.key, err)
	}
	return n, err
}

// Close implements blobio.Writer. The context is looked at first: not every driver does.
func (w *writer) Close() error {
	if w.w == nil {
		return w.b.fail(w.ctx, "create", w.key, blobio.ErrClosed)
	}
	if err := w.ctx.Err(); err != nil {
		w.Abort()
		return w.b.fail(w.ctx, "create", w.key, err)
	}
	defer w.cancel()
	err := request(w.inner, httptransport.Put, w.w.Close)
	w.w = nil
	if err != nil {
		return w.b.fail(w.ctx, "create", w.key, err)
	}
	return nil
}

// Abort implements blobio.Writer: a gocloud writer whose context has ended makes no object when it is closed.
func (w *writer) Abort() {
	if w.w == nil {
		return
	}
	w.cancel()
	_ = w.w.Close()
	w.w = nil
}

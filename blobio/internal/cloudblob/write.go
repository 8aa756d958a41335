package cloudblob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/upload"
	"github.com/shardcat/shardcat/internal/httptransport"
	"github.com/shardcat/shardcat/urlresolve"
)

// defaultContentType of an object about which nothing was reported.
const defaultContentType = "application/octet-stream"

// Create implements blobio.Bucket. The condition that the key is free stands on the request that makes the object:
// the only one of a small object, the last one of an upload in parts.
func (b *Bucket) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.ready(ctx); err != nil {
		return nil, b.fail(ctx, "create", key, err)
	}
	opts.ContentType = cmp.Or(opts.ContentType, defaultContentType)
	if b.opts.Parts == nil {
		return b.createPortable(ctx, key, opts)
	}
	o := &object{b: b, key: key, contentType: opts.ContentType, trace: opts.Trace, allow: opts.AllowUnconditional, receipt: opts.Receipt, parts: b.opts.Parts(key, opts.ContentType)}
	how := upload.Options{PartSize: b.opts.PartSize, MaxParts: b.opts.MaxParts, SizeHint: opts.SizeHint, InParts: opts.InParts, Retry: opts.Retry,
		Wrap: func(err error) error { return b.fail(ctx, "create", key, err) }}
	if b.opts.Serial {
		how.Concurrency, how.Retry = 1, blobio.RetryPolicy{Stall: opts.Retry.Stall}
	}
	return upload.NewWriter(ctx, o, how), nil
}

// Parts is an object on its way up by the provider's own client. The requests of one upload come in this order;
// Part is called concurrently.
type Parts interface {
	// Begin starts the upload.
	Begin(ctx context.Context) error
	// Part sends part n, counted from 0. Body is the callee's until it returns.
	Part(ctx context.Context, n int, body []byte) error
	// Commit makes the object of the parts 0 to n−1.
	Commit(ctx context.Context, n int, ifAbsent bool) error
	// Drop forgets the parts that were sent.
	Drop(ctx context.Context) error
}

// object is one object on its way up: an upload.Target whose requests are counted, and whose outcome is settled.
type object struct {
	b           *Bucket
	trace       blobio.Trace
	key         string
	contentType string
	parts       Parts
	allow       bool // to go on where the store knows no condition
	receipt     *blobio.Receipt
}

// Whole implements upload.Target: one request of gocloud's writer.
func (o *object) Whole(ctx context.Context, body []byte) error {
	if o.receipt != nil && o.b.opts.Took != nil {
		ctx = httptransport.Answered(ctx, func(r *http.Response) {
			if sum, ok := o.b.opts.Took(r); ok && r.Request.Method == http.MethodPut && r.StatusCode/100 == 2 {
				o.receipt.Took(sum)
			}
		})
	}
	return o.conditionally(ctx, func(ctx context.Context, ifAbsent bool) error {
		once := httptransport.Once(ctx)
		return request(once, httptransport.Put, func() error {
			return o.b.bucket.Upload(once, o.key, bytes.NewReader(body), &blob.WriterOptions{
				ContentType: o.contentType, IfNotExist: ifAbsent, BufferSize: len(body) + 1, MaxConcurrency: 1,
				BeforeWrite: o.b.beforeWrite(Write{o.key, body, o.contentType, ifAbsent})})
		})
	})
}

// beforeWrite is the hook of a write, nil if there is none.
func (b *Bucket) beforeWrite(w Write) func(as func(any) bool) error {
	if b.opts.BeforeWrite == nil {
		return nil
	}
	return func(as func(any) bool) error { return b.opts.BeforeWrite(as, w) }
}

// Begin implements upload.Target.
func (o *object) Begin(ctx context.Context) error {
	return o.settle(ctx, o.parts.Begin(counted(ctx, o.trace)))
}

// Part implements upload.Target. Parts go up beside one another: together they are one step.
func (o *object) Part(ctx context.Context, n int, body []byte) error {
	if n > 0 {
		return o.settle(ctx, o.parts.Part(beside(ctx, o.trace), n, body))
	}
	return o.settle(ctx, o.parts.Part(counted(ctx, o.trace), n, body))
}

// CopyAllowed implements upload.Copier.
func (o *object) CopyAllowed() (least, most int64) {
	if o.b.opts.CopyPart == nil {
		return -1, 0
	}
	return o.b.opts.CopyLeast, o.b.opts.CopyMost
}

// CopyPart implements upload.Copier.
func (o *object) CopyPart(ctx context.Context, n int, of upload.Copied) error {
	err := o.b.opts.CopyPart(counted(ctx, o.trace), o.parts, n, of)
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	err = o.b.fail(ctx, "copy", of.Key, err)
	if of.ETag != "" && errors.Is(err, blobio.ErrExists) { // the condition did not hold
		return o.b.fail(ctx, "copy", of.Key, blobio.ErrChanged)
	}
	return err
}

// Commit implements upload.Target.
func (o *object) Commit(ctx context.Context, n int) error {
	return o.conditionally(ctx, func(ctx context.Context, ifAbsent bool) error { return o.parts.Commit(ctx, n, ifAbsent) })
}

// Drop implements upload.Target.
func (o *object) Drop(ctx context.Context) error {
	if err := o.parts.Drop(beside(ctx, o.trace)); err != nil {
		return o.b.fail(ctx, "create", o.key, err)
	}
	return nil
}

// conditionally makes an object if there is none. A store without conditions is called with a HEAD before.
func (o *object) conditionally(ctx context.Context, make func(ctx context.Context, ifAbsent bool) error) error {
	ctx = counted(ctx, o.trace)
	if err := o.b.ready(ctx); err != nil {
		return o.settle(ctx, err)
	}
	if !o.b.opts.Unconditional && !o.b.unconditional.Load() {
		err := make(ctx, true)
		if err == nil || o.b.opts.RefusesCondition == nil || !o.b.opts.RefusesCondition(ctx, err) {
			return o.settle(ctx, err)
		}
		if !o.allow {
			return o.b.fail(ctx, "create", o.key, blobio.NewError("create", o.b.root+urlresolve.EscapeKey(o.key), blobio.ErrDenied,
				fmt.Errorf("%w; --unsafe-no-conditional-writes allows it if there is a single writer: %w", blobio.ErrNoCondition, o.b.fail(ctx, "create", o.key, err))))
		}
		o.b.unconditional.Store(true)
	}
	err := o.absent(ctx)
	if err == nil {
		err = make(ctx, false)
	}
	return o.settle(ctx, err)
}

// absent is nil if the store reports that there is no object.
func (o *object) absent(ctx context.Context) error {
	_, err := o.b.head(ctx, o.key)
	if err == nil {
		return blobio.ErrExists
	}
	if err = o.b.fail(ctx, "stat", o.key, err); errors.Is(err, blobio.ErrNotFound) {
		return nil
	}
	return err
}

// settle deals with answers that don't report how a write ended: a conflict is not yet a loss, and an upload that the
// store no longer knows may have been committed by a request whose answer was lost. If an object is there by now,
// its content identifies its writer.
func (o *object) settle(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = o.b.fail(ctx, "create", o.key, err)
	gone := errors.Is(err, blobio.ErrNotFound)
	if !gone && !errors.Is(err, blobio.ErrConflict) {
		return err
	}
	switch there := o.absent(counted(ctx, o.trace)); {
	case errors.Is(there, blobio.ErrExists):
		return o.b.fail(ctx, "create", o.key, blobio.ErrExists)
	case gone: // not wrapped: nothing is known to be missing
		return o.b.fail(ctx, "create", o.key, fmt.Errorf("%w: no such upload or bucket: %v", blobio.ErrUnknown, err))
	}
	return err
}

// ProbeChecksum is what package blobio looks for to find out whether the store compares checksums.
func (b *Bucket) ProbeChecksum(ctx context.Context, key string) (checked bool, err error) {
	if b.opts.Probe == nil {
		return false, errors.ErrUnsupported
	}
	if checked, err = b.opts.Probe(ctx, key); err != nil {
		err = b.fail(ctx, "create", key, err)
	}
	return checked, err
}

// Delete implements blobio.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	ctx = counted(ctx, opts.Trace)
	err := b.ready(ctx)
	switch {
	case err != nil:
	case b.opts.Delete != nil:
		err = request(ctx, httptransport.Delete, func() error { return b.opts.Delete(ctx, key, opts.IfMatch) })
	default:
		err = b.deletePortable(ctx, key, opts)
	}
	if err == nil {
		return nil
	}
	err = b.fail(ctx, "delete", key, err)
	if opts.IfMatch != "" && errors.Is(err, blobio.ErrExists) { // the condition did not hold
		// Some stores answer so of an object that is gone, which it is where the request was sent again because its answer was lost.
		if _, gone := b.Stat(ctx, key, blobio.ReadOptions{Trace: opts.Trace}); errors.Is(gone, blobio.ErrNotFound) {
			return b.fail(ctx, "delete", key, blobio.ErrNotFound)
		}
		return b.fail(ctx, "delete", key, blobio.ErrChanged)
	}
	return err
}

func (b *Bucket) deletePortable(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	if err := b.compare(ctx, key, opts.IfMatch); err != nil {
		return err
	}
	return request(ctx, httptransport.Delete, func() error { return b.bucket.Delete(ctx, key) })
}

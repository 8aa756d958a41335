package gcsblob

import (
	"bytes"
	"context"
	"errors"
	"io"

	"google.golang.org/api/googleapi"
	raw "google.golang.org/api/storage/v1"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/upload"
)

const (
	// defaultContentType of an object about which nothing was said.
	defaultContentType = "application/octet-stream"
	// maxParts keeps parts of the default size up to GCS's limit of 5 TiB on an object.
	maxParts = 5 << 40 / upload.DefaultPartSize
)

// Create implements blobio.Bucket. The condition that there is no object (generation 0) stands on the
// request that begins the upload, and the store checks it again when it makes the object.
func (b *Bucket) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.check(ctx, "create", key); err != nil {
		return nil, err
	}
	if opts.ContentType == "" {
		opts.ContentType = defaultContentType
	}
	o := &object{bucket: b, key: key, contentType: opts.ContentType}
	return upload.NewWriter(ctx, o, upload.Options{PartSize: b.opts.PartSize, MaxParts: maxParts,
		Concurrency: 1, // chunks of one session go up in turn
		SizeHint:    opts.SizeHint, Wrap: func(err error) error { return b.fail(ctx, "create", key, err) }}), nil
}

// object is one object on its way up: the upload.Target of GCS. Beyond a part, the parts are the body of one
// resumable session, which the library runs beside the writer.
type object struct {
	bucket      *Bucket
	key         string
	contentType string
	pipe        *io.PipeWriter
	ended       chan error
}

// insert makes the object of body, in one request or in chunks of the given size.
func (o *object) insert(ctx context.Context, body io.Reader, chunk int) error {
	b := o.bucket
	if err := b.check(ctx, "create", o.key); err != nil {
		return err
	}
	call := b.objects.Insert(b.name, &raw.Object{Name: o.key, ContentType: o.contentType,
		StorageClass: b.opts.StorageClass}).IfGenerationMatch(0).Context(ctx).Fields("generation").
		Media(body, googleapi.ChunkSize(chunk), googleapi.ContentType(o.contentType))
	if b.opts.KMSKey != "" {
		call.KmsKeyName(b.opts.KMSKey)
	}
	if b.opts.UserProject != "" {
		call.UserProject(b.opts.UserProject)
	}
	if _, err := call.Do(); err != nil {
		return b.fail(ctx, "create", o.key, err)
	}
	return nil
}

// Whole implements upload.Target.
func (o *object) Whole(ctx context.Context, body []byte) error {
	return o.insert(ctx, bytes.NewReader(body), 0)
}

// Begin implements upload.Target.
func (o *object) Begin(ctx context.Context) error {
	body, pipe := io.Pipe()
	o.pipe, o.ended = pipe, make(chan error, 1)
	chunk := o.bucket.opts.PartSize
	if chunk == 0 {
		chunk = upload.DefaultPartSize
	}
	go func() {
		err := o.insert(ctx, body, chunk)
		body.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		o.ended <- err
	}()
	return nil
}

// Part implements upload.Target. The upload calls it for one part after the other.
func (o *object) Part(_ context.Context, _ int, body []byte) error {
	_, err := o.pipe.Write(body)
	return err
}

// Commit implements upload.Target.
func (o *object) Commit(context.Context, int) error {
	o.pipe.Close()
	err := <-o.ended
	o.ended <- err
	return err
}

// Drop implements upload.Target: a session that is not brought to its end leaves nothing.
func (o *object) Drop(context.Context) error {
	o.pipe.CloseWithError(upload.ErrEnded)
	<-o.ended
	return nil
}

// Delete implements blobio.Bucket. The condition goes with the request.
func (b *Bucket) Delete(ctx context.Context, key, etag string) error {
	const op = "delete"
	if err := b.check(ctx, op, key); err != nil {
		return err
	}
	call := b.objects.Delete(b.name, key).Context(ctx)
	if etag != "" {
		call.IfGenerationMatch(generation(etag))
	}
	if b.opts.UserProject != "" {
		call.UserProject(b.opts.UserProject)
	}
	err := call.Do()
	if err == nil {
		return nil
	}
	err = b.fail(ctx, op, key, err)
	if errors.Is(err, blobio.ErrExists) {
		return b.fail(ctx, op, key, blobio.ErrChanged)
	}
	return err
}

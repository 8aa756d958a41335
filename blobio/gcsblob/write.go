package gcsblob

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"

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
	o := &object{bucket: b, key: key, contentType: opts.ContentType, trace: opts.Trace}
	return upload.NewWriter(ctx, o, upload.Options{PartSize: b.opts.PartSize, MaxParts: maxParts,
		Concurrency: 1, // chunks of one session go up in turn
		SizeHint:    opts.SizeHint, Wrap: func(err error) error { return b.fail(ctx, "create", key, err) }}), nil
}

// object is one object on its way up: the upload.Target of GCS. Beyond a part, the parts are the body of one
// resumable session, which the library runs beside the writer.
type object struct {
	bucket      *Bucket
	trace       blobio.Trace
	key         string
	contentType string
	pipe        *io.PipeWriter
	ended       chan error
}

// castagnoli is the polynomial of the checksum that GCS keeps of each object.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is a body that counts and checks what the library takes from it.
type sum struct {
	io.Reader
	size uint64
	crc  uint32
}

func (s *sum) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.size += uint64(n)
	s.crc = crc32.Update(s.crc, castagnoli, p[:n])
	return n, err
}

// matches compares what was sent with what the store says it has. A store that says nothing is believed.
func (s *sum) matches(o *raw.Object) bool {
	return o.Size == s.size && (o.Crc32c == "" || o.Crc32c == encodeCRC(s.crc))
}

// insert makes the object of body, in one request or in chunks of the given size. A checksum that is known before,
// in base64, is what the store compares the body with.
func (o *object) insert(ctx context.Context, body io.Reader, checksum string, chunk int) error {
	b := o.bucket
	if err := b.check(ctx, "create", o.key); err != nil {
		return err
	}
	sent := &sum{Reader: body}
	call := b.objects.Insert(b.name, &raw.Object{Name: o.key, ContentType: o.contentType, Crc32c: checksum,
		StorageClass: b.opts.StorageClass}).IfGenerationMatch(0).Context(ctx).Fields("generation", "size", "crc32c").
		Media(sent, googleapi.ChunkSize(chunk), googleapi.ContentType(o.contentType))
	if b.opts.KMSKey != "" {
		call.KmsKeyName(b.opts.KMSKey)
	}
	if b.opts.UserProject != "" {
		call.UserProject(b.opts.UserProject)
	}
	made, err := call.Do()
	if err == nil && !sent.matches(made) {
		err = o.unmake(ctx, made, sent)
	}
	if err == nil {
		return nil
	}
	err = b.fail(ctx, "create", o.key, err)
	if chunk > 0 && errors.Is(err, blobio.ErrNotFound) {
		return o.sessionGone(ctx, err)
	}
	return err
}

// sessionGone settles an upload whose session the store no longer knows: that may be because the answer to
// its last chunk was lost. If an object is there, its content will tell whose it is.
func (o *object) sessionGone(ctx context.Context, refused error) error {
	b := o.bucket
	o.trace.Count(blobio.Counters{Heads: 1, Depth: 1})
	if _, err := b.head(ctx, o.key); err == nil {
		return b.fail(ctx, "create", o.key, blobio.ErrExists)
	}
	return blobio.NewError("create", b.url(o.key), blobio.ErrUnknown,
		fmt.Errorf("no such upload session or bucket: %v", refused)) // not wrapped: nothing is known to be missing
}

// unmake removes an object that is not what was sent: a chunk that the library had to repeat may be there
// twice on a store that does not look at its offset.
func (o *object) unmake(ctx context.Context, made *raw.Object, sent *sum) error {
	err := fmt.Errorf("%w: the store has %d bytes with checksum %s of the %d that were sent", blobio.ErrTransient,
		made.Size, made.Crc32c, sent.size)
	return errors.Join(err, o.bucket.Delete(ctx, o.key, blobio.DeleteOptions{IfMatch: strconv.FormatInt(made.Generation, 10)}))
}

// checksum is the CRC32C of a body as GCS prints it.
func checksum(body []byte) string { return encodeCRC(crc32.Checksum(body, castagnoli)) }

func encodeCRC(crc uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))
}

// ProbeChecksum implements blobio.ChecksumProber: an object whose checksum is that of another body.
func (b *Bucket) ProbeChecksum(ctx context.Context, key string) (checked bool, err error) {
	call := b.objects.Insert(b.name, &raw.Object{Name: key, Crc32c: checksum([]byte("another body"))}).IfGenerationMatch(0).
		Context(ctx).Media(bytes.NewReader([]byte("shardcat")), googleapi.ChunkSize(0))
	if b.opts.UserProject != "" {
		call.UserProject(b.opts.UserProject)
	}
	_, err = call.Do()
	var refused *googleapi.Error
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &refused) && refused.Code == http.StatusBadRequest:
		return true, nil
	}
	return false, b.fail(ctx, "create", key, err)
}

// Whole implements upload.Target.
func (o *object) Whole(ctx context.Context, body []byte) error {
	return o.insert(ctx, bytes.NewReader(body), checksum(body), 0)
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
		err := o.insert(ctx, body, "", chunk)
		body.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		o.ended <- err
	}()
	return nil
}

// Part implements upload.Target. The upload calls it for one part after the other.
func (o *object) Part(ctx context.Context, _ int, body []byte) error {
	o.trace.Count(blobio.Counters{Puts: 1, Depth: 1})
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
func (b *Bucket) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	const op = "delete"
	if err := b.check(ctx, op, key); err != nil {
		return err
	}
	call := b.objects.Delete(b.name, key).Context(ctx)
	if opts.IfMatch != "" {
		call.IfGenerationMatch(generation(opts.IfMatch))
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

package s3blob

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
	"github.com/shardcat/shardcat/internal/upload"
)

const (
	// minPart is S3's lower limit for all parts but the last.
	minPart = 5 << 20
	// defaultContentType of an object about which nothing was said.
	defaultContentType = "application/octet-stream"
)

// Create implements blobio.Bucket. If-None-Match stands on the request that makes the object: the PUT of a
// small one, the completion of an upload in parts.
func (b *Bucket) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.check(ctx, "create", key); err != nil {
		return nil, err
	}
	if opts.ContentType == "" {
		opts.ContentType = defaultContentType
	}
	o := &object{bucket: b, key: key, contentType: opts.ContentType, trace: opts.Trace}
	return upload.NewWriter(ctx, o, upload.Options{PartSize: b.opts.PartSize, SizeHint: opts.SizeHint,
		Again: answer.Again, Wrap: func(err error) error { return b.fail(ctx, "create", key, err) }}), nil
}

// object is one object on its way up: the upload.Target of S3.
type object struct {
	bucket      *Bucket
	trace       blobio.Trace
	key         string
	contentType string
	id          *string // of the upload in parts

	mu    sync.Mutex
	parts []types.CompletedPart
}

// ifAbsent is the condition under which an object is made. A store without conditions is asked with a HEAD
// in its place, which cannot settle a race.
func (o *object) ifAbsent(ctx context.Context) (*string, error) {
	if !o.bucket.opts.Unconditional {
		return aws.String("*"), nil
	}
	o.trace.Count(blobio.Counters{Heads: 1, Depth: 1})
	_, err := o.bucket.head(ctx, o.key)
	switch {
	case err == nil:
		return nil, blobio.ErrExists
	case errors.Is(err, blobio.ErrNotFound):
		return nil, nil
	}
	return nil, err
}

// Whole implements upload.Target.
func (o *object) Whole(ctx context.Context, body []byte) error {
	b := o.bucket
	if err := b.check(ctx, "create", o.key); err != nil {
		return err
	}
	condition, err := o.ifAbsent(ctx)
	if err != nil {
		return b.fail(ctx, "create", o.key, err)
	}
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.name, Key: &o.key, Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
		ContentMD5: b.checksum(body), IfNoneMatch: condition, ContentType: &o.contentType, RequestPayer: b.payer(),
		StorageClass: b.opts.StorageClass, ServerSideEncryption: b.opts.Encryption,
		SSEKMSKeyId: optional(b.opts.KMSKeyID),
	})
	return o.outcome(ctx, err)
}

// checksum is the MD5 of a body for a store of one's own: every store that speaks S3 has known it from the start, and
// refuses a body that is another one. S3 itself gets the SDK's CRC.
func (b *Bucket) checksum(body []byte) *string {
	if !b.ownEndpoint() {
		return nil
	}
	sum := md5.Sum(body)
	return aws.String(base64.StdEncoding.EncodeToString(sum[:]))
}

// ownEndpoint reports whether requests go to a store of one's own, and no checksums of the SDK's were asked for.
func (b *Bucket) ownEndpoint() bool {
	o := b.client.Options()
	return o.BaseEndpoint != nil && o.RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired
}

// ProbeChecksum implements blobio.ChecksumProber: a PUT whose checksum is that of another body.
func (b *Bucket) ProbeChecksum(ctx context.Context, key string) (checked bool, err error) {
	body, other := []byte("shardcat"), md5.Sum([]byte("another body"))
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: bytes.NewReader(body),
		ContentLength: aws.Int64(int64(len(body))), RequestPayer: b.payer(), IfNoneMatch: aws.String("*"),
		ContentMD5: aws.String(base64.StdEncoding.EncodeToString(other[:]))})
	var refused smithy.APIError
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &refused) && (refused.ErrorCode() == "BadDigest" || refused.ErrorCode() == "InvalidDigest"):
		return true, nil
	}
	return false, b.fail(ctx, "create", key, err)
}

// Begin implements upload.Target.
func (o *object) Begin(ctx context.Context) error {
	b := o.bucket
	o.trace.Count(blobio.Counters{Puts: 1, Depth: 1})
	out, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &b.name, Key: &o.key, ContentType: &o.contentType, RequestPayer: b.payer(),
		StorageClass: b.opts.StorageClass, ServerSideEncryption: b.opts.Encryption,
		SSEKMSKeyId: optional(b.opts.KMSKeyID),
	})
	if err != nil {
		return b.fail(ctx, "create", o.key, err)
	}
	o.id = out.UploadId
	return nil
}

// Part implements upload.Target.
func (o *object) Part(ctx context.Context, n int, body []byte) error {
	b := o.bucket
	number := aws.Int32(int32(n) + 1)
	o.trace.Count(answer.PartCounters(n))
	out, err := b.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &b.name, Key: &o.key, UploadId: o.id, PartNumber: number, RequestPayer: b.payer(),
		Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))), ContentMD5: b.checksum(body),
	})
	if err != nil {
		return b.fail(ctx, "create", o.key, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parts = append(o.parts, types.CompletedPart{
		PartNumber: number, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32,
		ChecksumCRC32C: out.ChecksumCRC32C, ChecksumCRC64NVME: out.ChecksumCRC64NVME,
		ChecksumSHA1: out.ChecksumSHA1, ChecksumSHA256: out.ChecksumSHA256,
	})
	return nil
}

// Commit implements upload.Target.
func (o *object) Commit(ctx context.Context, _ int) error {
	b := o.bucket
	if err := b.check(ctx, "create", o.key); err != nil {
		return err
	}
	condition, err := o.ifAbsent(ctx)
	if err != nil {
		return b.fail(ctx, "create", o.key, err)
	}
	slices.SortFunc(o.parts, func(p, q types.CompletedPart) int { return int(*p.PartNumber - *q.PartNumber) })
	_, err = b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &b.name, Key: &o.key, UploadId: o.id, IfNoneMatch: condition, RequestPayer: b.payer(),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: o.parts},
	})
	return o.outcome(ctx, err)
}

// outcome settles what S3 answers to two conditional writes at the same moment: a conflict, not yet a
// loss. If the other writer's object is there by now, this one has lost.
func (o *object) outcome(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = o.bucket.fail(ctx, "create", o.key, err)
	if !errors.Is(err, blobio.ErrConflict) {
		return err
	}
	o.trace.Count(blobio.Counters{Heads: 1, Depth: 1})
	if _, absent := o.bucket.head(ctx, o.key); absent == nil {
		return o.bucket.fail(ctx, "create", o.key, blobio.ErrExists)
	}
	return err
}

// Drop implements upload.Target.
func (o *object) Drop(ctx context.Context) error {
	b := o.bucket
	o.trace.Count(blobio.Counters{Deletes: 1})
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &b.name, Key: &o.key, UploadId: o.id, RequestPayer: b.payer()})
	if err != nil {
		return b.fail(ctx, "create", o.key, err)
	}
	return nil
}

// Delete implements blobio.Bucket. The condition is compared with the object's ETag and, where the store
// takes one, sent with the request.
func (b *Bucket) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	const op = "delete"
	info, err := b.head(ctx, key)
	if err != nil {
		return err
	}
	opts.Trace.Count(blobio.Counters{Heads: 1, Depth: 1})
	if opts.IfMatch != "" && info.ETag != opts.IfMatch {
		return b.fail(ctx, op, key, blobio.ErrChanged)
	}
	in := &s3.DeleteObjectInput{Bucket: &b.name, Key: &key, RequestPayer: b.payer()}
	if !b.plainDelete.Load() {
		in.IfMatch = optional(opts.IfMatch)
	}
	_, err = b.client.DeleteObject(ctx, in)
	if err == nil {
		return nil
	}
	err = b.fail(ctx, op, key, err)
	switch {
	case errors.Is(err, blobio.ErrExists):
		return b.fail(ctx, op, key, blobio.ErrChanged)
	case in.IfMatch != nil && notImplemented(err):
		b.plainDelete.Store(true)
		return b.Delete(ctx, key, opts)
	}
	return err
}

package azblob

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/answer"
	"github.com/shardcat/shardcat/internal/upload"
)

const (
	// maxBlocks is Azure's limit on the blocks of one blob.
	maxBlocks = 50_000
	// defaultContentType of a blob about which nothing was said.
	defaultContentType = "application/octet-stream"
)

// Create implements blobio.Bucket. If-None-Match stands on the request that makes the blob: the PUT of a
// small one, the list of blocks of a large one.
func (b *Bucket) Create(ctx context.Context, key string, opts blobio.CreateOptions) (blobio.Writer, error) {
	if err := b.check(ctx, "create", key); err != nil {
		return nil, err
	}
	if opts.ContentType == "" {
		opts.ContentType = defaultContentType
	}
	o := &object{bucket: b, key: key, client: b.client.NewBlockBlobClient(key),
		headers: &blob.HTTPHeaders{BlobContentType: &opts.ContentType}, trace: opts.Trace}
	return upload.NewWriter(ctx, o, upload.Options{PartSize: b.opts.PartSize, MaxParts: maxBlocks,
		SizeHint: opts.SizeHint, Again: answer.Again, Wrap: func(err error) error { return b.fail(ctx, "create", key, err) }}), nil
}

// object is one blob on its way up: the upload.Target of Azure.
type object struct {
	bucket  *Bucket
	trace   blobio.Trace
	key     string
	client  *blockblob.Client
	headers *blob.HTTPHeaders
	attempt [16]byte
}

// Whole implements upload.Target.
func (o *object) Whole(ctx context.Context, body []byte) error {
	b := o.bucket
	if err := b.check(ctx, "create", o.key); err != nil {
		return err
	}
	_, err := o.client.Upload(ctx, streaming.NopCloser(bytes.NewReader(body)), &blockblob.UploadOptions{
		HTTPHeaders: o.headers, Tier: b.opts.tier(), CPKScopeInfo: b.opts.scope(), AccessConditions: ifAbsent(),
		TransactionalValidation: checksum(body)})
	return o.outcome(ctx, err)
}

// checksum is what Azure compares the body of one request with.
func checksum(body []byte) blob.TransferValidationType {
	sum := md5.Sum(body)
	return blob.TransferValidationTypeMD5(sum[:])
}

// ProbeChecksum implements blobio.ChecksumProber: a PUT whose checksum is that of another body.
func (b *Bucket) ProbeChecksum(ctx context.Context, key string) (checked bool, err error) {
	_, err = b.client.NewBlockBlobClient(key).Upload(ctx, streaming.NopCloser(bytes.NewReader([]byte("shardcat"))),
		&blockblob.UploadOptions{AccessConditions: ifAbsent(), TransactionalValidation: checksum([]byte("another body"))})
	switch {
	case err == nil:
		return false, nil
	case bloberror.HasCode(err, bloberror.MD5Mismatch, bloberror.InvalidMD5):
		return true, nil
	}
	return false, b.fail(ctx, "create", key, err)
}

// Begin implements upload.Target. The uncommitted blocks of a blob are common to all its writers, so each
// attempt draws names of its own.
func (o *object) Begin(context.Context) error {
	_, err := rand.Read(o.attempt[:])
	return err
}

// blockID names block n of this attempt. All ids of a blob must have one length.
func (o *object) blockID(n int) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(o.attempt[:], uint32(n)))
}

// Part implements upload.Target.
func (o *object) Part(ctx context.Context, n int, body []byte) error {
	o.trace.Count(answer.PartCounters(n))
	_, err := o.client.StageBlock(ctx, o.blockID(n), streaming.NopCloser(bytes.NewReader(body)),
		&blockblob.StageBlockOptions{CPKScopeInfo: o.bucket.opts.scope(), TransactionalValidation: checksum(body)})
	if err != nil {
		return o.bucket.fail(ctx, "create", o.key, err)
	}
	return nil
}

// Commit implements upload.Target.
func (o *object) Commit(ctx context.Context, n int) error {
	b := o.bucket
	if err := b.check(ctx, "create", o.key); err != nil {
		return err
	}
	blocks := make([]string, n)
	for i := range blocks {
		blocks[i] = o.blockID(i)
	}
	_, err := o.client.CommitBlockList(ctx, blocks, &blockblob.CommitBlockListOptions{
		HTTPHeaders: o.headers, Tier: b.opts.tier(), CPKScopeInfo: b.opts.scope(), AccessConditions: ifAbsent()})
	return o.outcome(ctx, err)
}

// outcome settles what Azure answers to a writer whose blocks went when another one committed: the list of
// blocks is invalid. If the other writer's blob is there, this one has lost, else it may try again.
func (o *object) outcome(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	b := o.bucket
	if !bloberror.HasCode(err, bloberror.InvalidBlockList, bloberror.InvalidBlobOrBlock) {
		return b.fail(ctx, "create", o.key, err)
	}
	o.trace.Count(blobio.Counters{Heads: 1, Depth: 1})
	_, absent := b.head(ctx, o.key)
	switch {
	case absent == nil:
		return b.fail(ctx, "create", o.key, blobio.ErrExists)
	case errors.Is(absent, blobio.ErrNotFound):
		return b.fail(ctx, "create", o.key, blobio.ErrConflict)
	}
	return b.fail(ctx, "create", o.key, err)
}

// Drop implements upload.Target. Azure has no request for it and forgets the blocks after a week.
func (o *object) Drop(context.Context) error { return nil }

// Delete implements blobio.Bucket. The condition goes with the request.
func (b *Bucket) Delete(ctx context.Context, key string, opts blobio.DeleteOptions) error {
	const op = "delete"
	if err := b.check(ctx, op, key); err != nil {
		return err
	}
	_, err := b.client.NewBlobClient(key).Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(opts.IfMatch)})
	if err == nil {
		return nil
	}
	err = b.fail(ctx, op, key, err)
	if errors.Is(err, blobio.ErrExists) {
		return b.fail(ctx, op, key, blobio.ErrChanged)
	}
	return err
}

// tier is the access tier of new blobs, nil for the account's own.
func (o Options) tier() *blob.AccessTier {
	if o.Tier == "" {
		return nil
	}
	return &o.Tier
}

// scope is the encryption scope of new blobs, nil for the container's own.
func (o Options) scope() *blob.CPKScopeInfo {
	if o.EncryptionScope == "" {
		return nil
	}
	return &blob.CPKScopeInfo{EncryptionScope: &o.EncryptionScope}
}

package azblob

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
)

// maxBlocks is Azure's limit on the blocks of one blob.
const maxBlocks = 50_000

// beforeWrite sets what goes with a blob of one part.
func (b *bucket) beforeWrite(as func(any) bool, w cloudblob.Write) error {
	var in *blockblob.UploadStreamOptions
	if !as(&in) {
		return errHook
	}
	sum := md5.Sum(w.Body)
	in.HTTPHeaders = &blob.HTTPHeaders{BlobContentType: &w.ContentType, BlobContentMD5: sum[:]}
	in.AccessTier, in.CPKScopeInfo = b.opts.tier(), b.opts.scope()
	return nil
}

// bodyChecksum is a policy that sends a whole blob's MD5 as the body's: gocloud's writer has no way to
// send one, and of its header the store keeps what the request states.
type bodyChecksum struct{}

// bodyMD5 is spelled as the SDK looks for it when it signs.
const bodyMD5 = "Content-MD5"

// Do implements policy.Policy.
func (bodyChecksum) Do(req *policy.Request) (*http.Response, error) {
	raw := req.Raw()
	if sums := blobMD5(raw.Header); len(sums) == 1 && !raw.URL.Query().Has("comp") {
		raw.Header[bodyMD5] = sums
	}
	return req.Next()
}

// blobMD5 is what a request states about the whole blob's MD5, in a header that the SDK spells in small letters.
func blobMD5(header http.Header) []string {
	for name, values := range header {
		if strings.EqualFold(name, "x-ms-blob-content-md5") {
			return values
		}
	}
	return nil
}

// checksum is what Azure compares the body of one request with.
func checksum(body []byte) blob.TransferValidationType {
	sum := md5.Sum(body)
	return blob.TransferValidationTypeMD5(sum[:])
}

// probe makes a PUT whose checksum is that of another body.
func (b *bucket) probe(ctx context.Context, key string) (refused bool, err error) {
	_, err = b.client.NewBlockBlobClient(key).Upload(ctx, streaming.NopCloser(bytes.NewReader([]byte("shardcat"))),
		&blockblob.UploadOptions{AccessConditions: ifAbsent(true), TransactionalValidation: checksum([]byte("another body"))})
	if bloberror.HasCode(err, bloberror.MD5Mismatch, bloberror.InvalidMD5) {
		return true, nil
	}
	return false, err
}

// parts is the upload of one blob in blocks.
type parts struct {
	client  *blockblob.Client
	opts    Options
	headers *blob.HTTPHeaders
	attempt [16]byte
}

func (b *bucket) parts(key, contentType string) cloudblob.Parts {
	return &parts{client: b.client.NewBlockBlobClient(key), opts: b.opts, headers: &blob.HTTPHeaders{BlobContentType: &contentType}}
}

// Begin implements cloudblob.Parts. The uncommitted blocks of a blob are common to all its writers, so each attempt
// draws names of its own.
func (p *parts) Begin(context.Context) error {
	_, err := rand.Read(p.attempt[:])
	return err
}

// blockID names block n of this attempt. All ids of a blob must have one length.
func (p *parts) blockID(n int) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(p.attempt[:], uint32(n)))
}

// Part implements cloudblob.Parts.
func (p *parts) Part(ctx context.Context, n int, body []byte) error {
	_, err := p.client.StageBlock(ctx, p.blockID(n), streaming.NopCloser(bytes.NewReader(body)),
		&blockblob.StageBlockOptions{CPKScopeInfo: p.opts.scope(), TransactionalValidation: checksum(body)})
	return err
}

// Commit implements cloudblob.Parts.
func (p *parts) Commit(ctx context.Context, n int, absent bool) error {
	blocks := make([]string, n)
	for i := range blocks {
		blocks[i] = p.blockID(i)
	}
	_, err := p.client.CommitBlockList(ctx, blocks, &blockblob.CommitBlockListOptions{
		HTTPHeaders: p.headers, Tier: p.opts.tier(), CPKScopeInfo: p.opts.scope(), AccessConditions: ifAbsent(absent)})
	return err
}

// Drop implements cloudblob.Parts. Azure has no request for it and forgets the blocks after a week.
func (p *parts) Drop(context.Context) error { return nil }

// remove deletes a blob. The condition goes with the request.
func (b *bucket) remove(ctx context.Context, key, etag string) error {
	_, err := b.client.NewBlobClient(key).Delete(ctx, &blob.DeleteOptions{AccessConditions: ifMatch(etag)})
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

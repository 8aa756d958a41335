package s3blob

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	tmtypes "github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
	"github.com/shardcat/shardcat/blobio/internal/upload"
	"github.com/shardcat/shardcat/internal/apierror"
	"github.com/shardcat/shardcat/internal/etags"
)

// S3's limits on the size of a part; the lower one is for all but the last.
const minPart, maxPart = 5 << 20, 5 << 30

// beforeWrite sets what goes with an object of one part. gocloud makes its transfer manager without regard to the
// client's checksums, and lets it cut objects of 16 MiB into parts: it is replaced.
func (b *bucket) beforeWrite(as func(any) bool, w cloudblob.Write) error {
	var in *transfermanager.UploadObjectInput
	var manager *transfermanager.Client
	if !as(&in) || !as(&manager) {
		return errHook
	}
	*manager = *transfermanager.New(b.client, func(o *transfermanager.Options) {
		o.MultipartUploadThreshold = int64(len(w.Body)) + 1
		o.RequestChecksumCalculation = b.client.Options().RequestChecksumCalculation
	})
	b.setKey(&in.Key, w.Key)
	in.RequestPayer, in.StorageClass = tmtypes.RequestPayer(b.payer()), tmtypes.StorageClass(b.opts.StorageClass)
	in.ServerSideEncryption, in.SSEKMSKeyID = tmtypes.ServerSideEncryption(b.opts.Encryption), optional(b.opts.KMSKeyID)
	return nil
}

// took reads the ETag of an object of one part: where it is 32 hexadecimal digits it is the MD5 of the content, unless the store encrypts by a key
// that it does not own; it is another number then, and proves nothing.
func took(r *http.Response) (sum [md5.Size]byte, ok bool) {
	etag := etags.Bare(r.Header.Get("ETag"))
	if len(etag) != hex.EncodedLen(md5.Size) {
		return sum, false
	}
	_, err := hex.Decode(sum[:], []byte(etag))
	return sum, err == nil
}

// probe makes a PUT whose checksum is that of another body.
func (b *bucket) probe(ctx context.Context, key string) (refused bool, err error) {
	body, other := []byte("shardcat"), md5.Sum([]byte("another body"))
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: bytes.NewReader(body),
		ContentLength: aws.Int64(int64(len(body))), RequestPayer: b.payer(), IfNoneMatch: aws.String("*"),
		ContentMD5: aws.String(base64.StdEncoding.EncodeToString(other[:]))})
	var said smithy.APIError
	if errors.As(err, &said) && (said.ErrorCode() == "BadDigest" || said.ErrorCode() == "InvalidDigest") {
		return true, nil
	}
	if err == nil {
		return false, nil
	}
	if statusOf(ctx, err) == http.StatusBadRequest {
		// In other words, or without any: whether the checksum was the reason shows where the right one is taken.
		right := md5.Sum(body)
		_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.name, Key: &key, Body: bytes.NewReader(body),
			ContentLength: aws.Int64(int64(len(body))), RequestPayer: b.payer(), IfNoneMatch: aws.String("*"),
			ContentMD5: aws.String(base64.StdEncoding.EncodeToString(right[:]))})
		if err != nil && statusOf(ctx, err) == http.StatusPreconditionFailed {
			err = nil // it is there from an attempt before, of which an answer was lost
		}
		if err == nil {
			_, err = b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key, RequestPayer: b.payer()})
			return true, err
		}
	}
	return false, err
}

// parts is the upload of one object in parts.
type parts struct {
	b           *bucket
	key         string
	contentType string
	id          *string

	mu     sync.Mutex
	done   []types.CompletedPart
	copied bool // some parts were copied by the store
}

func (b *bucket) parts(key, contentType string) cloudblob.Parts {
	return &parts{b: b, key: key, contentType: contentType}
}

// Begin implements cloudblob.Parts.
func (p *parts) Begin(ctx context.Context) error {
	b := p.b
	out, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &b.name, Key: &p.key, ContentType: &p.contentType, RequestPayer: b.payer(),
		StorageClass: b.opts.StorageClass, ServerSideEncryption: b.opts.Encryption,
		SSEKMSKeyId: optional(b.opts.KMSKeyID),
	})
	if err == nil {
		p.id = out.UploadId
	}
	return err
}

// Part implements cloudblob.Parts.
func (p *parts) Part(ctx context.Context, n int, body []byte) error {
	b := p.b
	number := aws.Int32(int32(n) + 1)
	out, err := b.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &b.name, Key: &p.key, UploadId: p.id, PartNumber: number, RequestPayer: b.payer(),
		Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, types.CompletedPart{
		PartNumber: number, ETag: condition(aws.ToString(out.ETag)), ChecksumCRC32: out.ChecksumCRC32,
		ChecksumCRC32C: out.ChecksumCRC32C, ChecksumCRC64NVME: out.ChecksumCRC64NVME,
		ChecksumSHA1: out.ChecksumSHA1, ChecksumSHA256: out.ChecksumSHA256,
	})
	return nil
}

// copyMost bounds what one request copies, far below S3's limit of 5 GiB: the answer comes when all is copied.
const copyMost = 1 << 30

// copyPart makes a part of a range of another object of the bucket.
func (b *bucket) copyPart(ctx context.Context, to cloudblob.Parts, n int, of upload.Copied) error {
	if b.noCopy.Load() {
		return errors.ErrUnsupported
	}
	p := to.(*parts)
	number := aws.Int32(int32(n) + 1)
	out, err := b.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
		Bucket: &b.name, Key: &p.key, UploadId: p.id, PartNumber: number, RequestPayer: b.payer(),
		CopySource:        aws.String((&url.URL{Path: b.name + "/" + of.Key}).EscapedPath()),
		CopySourceRange:   aws.String(fmt.Sprintf("bytes=%d-%d", of.Off, of.Off+of.Size-1)),
		CopySourceIfMatch: condition(of.ETag),
	})
	switch {
	case err != nil && badCopy(ctx, err):
		if b.badCopies.Add(1) >= mostBadCopies {
			b.noCopy.Store(true)
		}
		return errors.ErrUnsupported
	case err != nil && refusesCopy(ctx, err), err == nil && (out.CopyPartResult == nil || aws.ToString(out.CopyPartResult.ETag) == ""):
		// A store that does not report what it copied took the request for an empty part, which the next one replaces.
		b.noCopy.Store(true)
		return errors.ErrUnsupported
	case err != nil:
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.copied = true
	b.badCopies.Store(0)
	r := out.CopyPartResult
	p.done = append(p.done, types.CompletedPart{
		PartNumber: number, ETag: condition(aws.ToString(r.ETag)), ChecksumCRC32: r.ChecksumCRC32, ChecksumCRC32C: r.ChecksumCRC32C,
		ChecksumCRC64NVME: r.ChecksumCRC64NVME, ChecksumSHA1: r.ChecksumSHA1, ChecksumSHA256: r.ChecksumSHA256,
	})
	return nil
}

// Commit implements cloudblob.Parts.
func (p *parts) Commit(ctx context.Context, _ int, ifAbsent bool) error {
	b := p.b
	slices.SortFunc(p.done, func(p, q types.CompletedPart) int { return int(*p.PartNumber - *q.PartNumber) })
	in := &s3.CompleteMultipartUploadInput{Bucket: &b.name, Key: &p.key, UploadId: p.id, RequestPayer: b.payer(),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: p.done}}
	if ifAbsent {
		in.IfNoneMatch = aws.String("*")
	}
	_, err := b.client.CompleteMultipartUpload(ctx, in)
	if err != nil && p.copied {
		if statusOf(ctx, err) == http.StatusBadRequest { // parts of other lengths, say
			b.noCopy.Store(true)
		}
	}
	return err
}

// refusal is the status of a refusal by the store, 0 if the cause is another.
func refusal(cause error) int {
	said, ok := cause.(*apierror.Error)
	if !ok {
		return 0
	}
	return said.Status
}

// statusOf is the status of the refusal that an error is, 0 if it is none.
func statusOf(ctx context.Context, err error) int {
	cause, _ := explain(ctx, err)
	return refusal(cause)
}

// refusesCopy reports whether a store refuses to copy any range, for what the request is.
func refusesCopy(ctx context.Context, err error) bool {
	switch statusOf(ctx, err) {
	case http.StatusNotImplemented, http.StatusMethodNotAllowed, http.StatusForbidden, http.StatusUnauthorized:
		return true
	}
	return false
}

// mostBadCopies is how many such refusals in a row are meant for all ranges.
const mostBadCopies = 2

// badCopy reports whether a store refuses to copy a range by a status that may be meant for that range alone, past the end for
// example.
func badCopy(ctx context.Context, err error) bool {
	cause, class := explain(ctx, err)
	return refusal(cause) == http.StatusBadRequest && class == blobio.ErrUnknown
}

// Drop implements cloudblob.Parts.
func (p *parts) Drop(ctx context.Context) error {
	b := p.b
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &b.name, Key: &p.key, UploadId: p.id, RequestPayer: b.payer()})
	return err
}

// remove deletes an object. The condition is compared with the object's ETag and, where the store takes one, sent
// with the request.
func (b *bucket) remove(ctx context.Context, key, ifMatch string) error {
	info, err := b.head(ctx, key)
	if err != nil && statusOf(ctx, err) == http.StatusMethodNotAllowed {
		info, err = b.Stat(ctx, key, blobio.ReadOptions{}) // by a range
	}
	switch {
	case err != nil:
		return err
	case ifMatch != "" && !etags.Same(info.ETag, ifMatch):
		return blobio.ErrChanged
	}
	in := &s3.DeleteObjectInput{Bucket: &b.name, Key: &key, RequestPayer: b.payer()}
	if !b.plainDelete.Load() {
		if ifMatch != "" {
			in.IfMatch = condition(info.ETag)
		}
	}
	_, err = b.client.DeleteObject(ctx, in)
	if err != nil && in.IfMatch != nil && notImplemented(ctx, err) {
		b.plainDelete.Store(true)
		return b.remove(ctx, key, ifMatch)
	}
	return err
}

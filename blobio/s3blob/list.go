package s3blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/apierror"
)

// errCutOff means that a list is incomplete and that no answer states how it goes on.
var errCutOff = fmt.Errorf("%w: the listing is truncated (IsTruncated) but has no continuation token", blobio.ErrUnknown)

// markerToken begins the token of a page of version 1, behind which is the last key before it. The others are the store's own.
const markerToken = "marker:"

// tokenToken begins the others.
const tokenToken = "token:"

// list gives one page. Version 2 of the request is the first choice; a store that does not know it, or cuts an answer
// to it off without a token, gets requests of version 1 from there on.
func (b *bucket) list(ctx context.Context, token, prefix string, most int) (page []blobio.Info, next string, err error) {
	marker, byMarker := strings.CutPrefix(token, markerToken)
	if byMarker || token == "" && (b.opts.ListVersion == 1 || b.listV1.Load()) {
		return b.listOne(ctx, marker, prefix, most)
	}
	out, err := b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: optional(prefix), MaxKeys: b.keysOfPage(most),
		ContinuationToken: optional(strings.TrimPrefix(token, tokenToken)), RequestPayer: b.payer()})
	if err != nil {
		if token == "" && b.opts.ListVersion == 0 && refusesVersion(ctx, err) {
			b.listV1.Store(true)
			return b.listOne(ctx, "", prefix, most)
		}
		return nil, "", err
	}
	if page, err = b.entries(ctx, out.Contents, out.EncodingType, prefix); err != nil {
		return nil, "", err
	}
	more := aws.ToString(out.NextContinuationToken)
	switch {
	case out.IsTruncated == nil && more == "", out.IsTruncated != nil && !*out.IsTruncated:
		return page, "", nil
	case more != "":
		return page, tokenToken + more, nil
	case len(out.Contents) == 0 || b.opts.ListVersion == 2:
		return nil, "", errCutOff
	}
	last, err := b.lastKey(ctx, out.Contents, out.EncodingType, prefix)
	return page, markerToken + last, err
}

// listOne gives the page behind a key by version 1.
func (b *bucket) listOne(ctx context.Context, marker, prefix string, most int) (page []blobio.Info, next string, err error) {
	out, err := b.client.ListObjects(ctx, &s3.ListObjectsInput{Bucket: &b.name, Prefix: optional(prefix), MaxKeys: b.keysOfPage(most),
		Marker: optional(marker), RequestPayer: b.payer()})
	if err != nil {
		return nil, "", err
	}
	if page, err = b.entries(ctx, out.Contents, out.EncodingType, prefix); err != nil {
		return nil, "", err
	}
	if marker != "" && len(page) > 0 && page[0].Key <= marker {
		return nil, "", errCutOff // it begins again
	}
	more := aws.ToString(out.NextMarker)
	switch {
	case !aws.ToBool(out.IsTruncated) && more == "", out.IsTruncated != nil && !*out.IsTruncated:
		return page, "", nil
	case more == "" && len(out.Contents) == 0:
		return nil, "", errCutOff
	case more == "":
		more, err = b.lastKey(ctx, out.Contents, out.EncodingType, prefix)
	default:
		more, err = b.plainKey(ctx, more, out.EncodingType, prefix)
	}
	if err == nil && more <= marker {
		err = errCutOff
	}
	return page, markerToken + more, err
}

// keysOfPage is how many keys a page may have: those that were requested, of the options, else 1,000.
func (b *bucket) keysOfPage(most int) *int32 {
	return aws.Int32(int32(cmp.Or(most, b.opts.ListPage, 1000)))
}

// refusesVersion reports whether the store does not know a request.
func refusesVersion(ctx context.Context, err error) bool {
	cause, _ := explain(ctx, err)
	said, ok := cause.(*apierror.Error)
	if !ok {
		return false
	}
	switch said.Status {
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return true
	}
	return said.Status == http.StatusBadRequest && (said.Code == "InvalidArgument" || said.Code == "InvalidRequest" || said.Code == "")
}

// entries are the objects of a page. An entry without size or time is completed by a HEAD.
func (b *bucket) entries(ctx context.Context, contents []types.Object, encoding types.EncodingType, prefix string) ([]blobio.Info, error) {
	page := make([]blobio.Info, 0, len(contents))
	for _, o := range contents {
		if o.Key == nil {
			return nil, fmt.Errorf("%w: an entry of the listing has no key", blobio.ErrUnknown)
		}
		key, err := b.plainKey(ctx, *o.Key, encoding, prefix)
		if err != nil {
			return nil, err
		}
		info := blobio.Info{Key: key, Size: stated(o.Size), ETag: aws.ToString(o.ETag), ModTime: aws.ToTime(o.LastModified)}
		if info.Size < 0 || !blobio.KnownTime(info.ModTime) {
			etag := info.ETag
			info, err = b.Stat(ctx, key, blobio.ReadOptions{})
			if errors.Is(err, blobio.ErrNotFound) {
				continue // it was deleted meanwhile
			}
			if err != nil {
				return nil, err
			}
			if etag != "" {
				info.ETag = etag
			}
		}
		page = append(page, info)
	}
	return page, nil
}

// lastKey is the last key of a page that has one.
func (b *bucket) lastKey(ctx context.Context, contents []types.Object, encoding types.EncodingType, prefix string) (string, error) {
	return b.plainKey(ctx, aws.ToString(contents[len(contents)-1].Key), encoding, prefix)
}

// What is known of the keys in a store's lists.
const (
	keysUnknown int32 = iota
	keysPlain
	keysEscaped
)

// plainKey gives the key of an entry. Some stores escape keys like those of URLs unasked and without saying so: the
// first key that may be one of them is looked for under both names.
func (b *bucket) plainKey(ctx context.Context, key string, encoding types.EncodingType, prefix string) (string, error) {
	plain, err := url.QueryUnescape(key)
	switch {
	case encoding == types.EncodingTypeUrl:
		if err != nil {
			return "", fmt.Errorf("%w: the listing has %q, which is not an escaped key", blobio.ErrUnknown, key)
		}
		return plain, nil
	case err != nil || plain == key, !strings.HasPrefix(plain, prefix), b.keys.Load() == keysPlain:
		return key, nil
	case b.keys.Load() == keysEscaped:
		return plain, nil
	}
	return b.tellKeys(ctx, key, plain)
}

// tellKeys finds out whether keys are escaped.
func (b *bucket) tellKeys(ctx context.Context, key, plain string) (string, error) {
	_, err := b.Stat(ctx, key, blobio.ReadOptions{})
	switch {
	case err == nil:
		b.keys.Store(keysPlain)
		return key, nil
	case !errors.Is(err, blobio.ErrNotFound):
		return "", err
	}
	_, err = b.Stat(ctx, plain, blobio.ReadOptions{})
	switch {
	case err == nil:
		b.keys.Store(keysEscaped)
		return plain, nil
	case !errors.Is(err, blobio.ErrNotFound):
		return "", err
	}
	return key, nil // deleted meanwhile
}

// listing is what a bucket learns of its store from lists.
type listing struct {
	listV1 atomic.Bool  // version 2 is refused
	keys   atomic.Int32 // keysUnknown, keysPlain or keysEscaped
}

// checkedList makes gocloud's own lists, of which a page without a token is the last one, end in an error where the store
// reports that it is not.
func checkedList(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("shardcatCheckedList",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				page, ok := out.Result.(*s3.ListObjectsV2Output)
				if err == nil && ok && aws.ToBool(page.IsTruncated) && aws.ToString(page.NextContinuationToken) == "" {
					err = errCutOff
				}
				return out, metadata, err
			}), middleware.After)
	})
}

package azblob

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	gocloud "gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
	"github.com/shardcat/shardcat/blobio/internal/httprange"
)

// FromBucket makes a blobio.Bucket of a container that you opened by gocloud.dev/blob/azureblob, and reaches what gocloud
// hides of it. Creates and deletes go the portable way. The container is closed with it; root is the canonical URL of its
// root, which errors begin with.
func FromBucket(root string, below *gocloud.Bucket) blobio.Bucket {
	return cloudblob.FromBucket(root, below, (&bucket{}).reads())
}

// reads are the hooks of reading. Azure knows no suffix ranges: the end of a blob of unknown size costs two
// requests, which see one version of it.
func (b *bucket) reads() cloudblob.Options {
	page := b.opts.ListPage
	if page == 0 {
		page = 5000
	}
	return cloudblob.Options{BeforeRead: beforeRead, Got: got, Listed: b.listed, Explain: explain, ListPage: page}
}

// errHook means that gocloud passed an Azure request of an unknown type.
var errHook = errors.New("not a request of gocloud.dev/blob/azureblob")

func beforeRead(as func(any) bool, r cloudblob.Read) error {
	var in *blob.DownloadStreamOptions
	if !as(&in) {
		return errHook
	}
	in.Range = blob.HTTPRange{Offset: r.Off, Count: max(0, r.N)}
	in.AccessConditions = ifMatch(r.IfMatch)
	return nil
}

func got(r *gocloud.Reader) (g cloudblob.Got, err error) {
	var out blob.DownloadStreamResponse
	if !r.As(&out) {
		return g, errHook
	}
	g.ETag = quoted(out.ETag)
	e, err := httprange.ParseContentRange(deref(out.ContentRange), stated(out.ContentLength))
	g.At, g.End, g.Size = e.At, e.End, e.Size
	return g, err
}

// stated is a number that an answer may lack.
func stated(n *int64) int64 {
	if n == nil {
		return httprange.Unknown
	}
	return *n
}

// head makes one HEAD, by the native client, whose ETags are the same as those of reads.
func (b *bucket) head(ctx context.Context, key string) (blobio.Info, error) {
	out, err := b.client.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return blobio.Info{}, err
	}
	return blobio.Info{Key: key, Size: stated(out.ContentLength), ETag: quoted(out.ETag),
		ModTime: deref(out.LastModified)}, nil
}

// directory is what accounts with a hierarchical namespace list between the blobs.
const directory = "directory"

// listed is what a list reports about a blob; ok is false for what is none. The key is the store's own, but for a
// container that somebody else opened, perhaps below a prefix.
func (b *bucket) listed(o *gocloud.ListObject) (key, etag string, ok bool) {
	var item container.BlobItem
	if !o.As(&item) || item.Properties == nil || deref(item.Properties.ResourceType) == directory {
		return "", "", false
	}
	key = o.Key
	if b.client != nil {
		key = deref(item.Name)
	}
	return key, quoted(item.Properties.ETag), true
}

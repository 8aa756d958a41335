// Package azblob is the driver for Azure Blob Storage. Importing it enables
// abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY and the other spellings of parseURL in blobio.
//
// Reads, lists and blobs of one part go through gocloud.dev/blob/azureblob, whose hooks reach what its portable layer
// hides. Uploads in parts and deletes use the same client of the Azure SDK directly, because they have conditions and
// names of blocks of their own. What one call costs:
//
//	ReadRange, Open   1 GET
//	ReadSuffix        1 HEAD and 1 GET on the same version: Azure knows no suffix ranges
//	Stat              1 HEAD
//	List              1 LIST per 5,000 keys
//	Create … Close    1 PUT up to a part, else a PUT per part and 1 for the list of them
//	Delete            1 DELETE
//
// The parameters of a container's URL are those of Options. Blocks of an abandoned upload cannot be deleted
// by a client; Azure forgets them after a week.
package azblob

import (
	"context"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	gocloud "gocloud.dev/blob/azureblob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
)

func init() {
	for _, scheme := range []string{"abfss", "abfs", "wasbs", "wasb", "azblob", "az"} {
		blobio.Register(scheme, OpenURL)
	}
}

// OpenURL opens the container that u names in any of its spellings, with the options of its query.
func OpenURL(ctx context.Context, u *url.URL) (blobio.Bucket, error) {
	place, _, err := parseURL(u)
	if err != nil {
		return nil, err
	}
	opts, err := ParseOptions(u.Query())
	if err != nil {
		return nil, err
	}
	opts.Credentials = blobio.CredentialsOf(ctx)
	return Open(place, opts)
}

// bucket is one container.
type bucket struct {
	*cloudblob.Bucket
	client *container.Client // nil for the hooks of a container that somebody else opened
	opts   Options
}

var _ blobio.Bucket = (*bucket)(nil)

// Open opens the container at place. No request is made.
func Open(place Place, opts Options) (blobio.Bucket, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	own, err := opts.transport()
	if err != nil {
		return nil, err
	}
	client, err := opts.client(place, own)
	if err != nil {
		return nil, err
	}
	below, err := gocloud.OpenBucket(context.Background(), client, nil)
	if err != nil {
		return nil, err
	}
	b := &bucket{client: client, opts: opts}
	hooks := b.reads()
	hooks.CloseIdle = own.CloseIdleConnections
	hooks.Head, hooks.Delete, hooks.Probe = b.head, b.remove, b.probe
	hooks.BeforeWrite, hooks.Parts = b.beforeWrite, b.parts
	hooks.PartSize, hooks.MaxParts = opts.PartSize, maxBlocks
	b.Bucket = cloudblob.FromBucket(place.String()+"/", below, hooks)
	return b, nil
}

// ifMatch is the condition that the blob still has this ETag; nil if it is empty.
func ifMatch(etag string) *blob.AccessConditions {
	if etag == "" {
		return nil
	}
	match := azcore.ETag(etag)
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &match}}
}

// ifAbsent is the condition that there is no blob yet; nil if there is to be none.
func ifAbsent(yes bool) *blob.AccessConditions {
	if !yes {
		return nil
	}
	anything := azcore.ETagAny
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &anything}}
}

// quoted is an ETag as headers have it: lists print the same one without its quotes.
func quoted(etag *azcore.ETag) string {
	if etag == nil || *etag == "" || strings.HasPrefix(string(*etag), `"`) {
		return deref((*string)(etag))
	}
	return `"` + string(*etag) + `"`
}

// deref is the value an SDK field points to, zero if it is nil.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Package cloudblob makes a blobio.Bucket of any bucket of gocloud.dev/blob that you opened yourself, with your own
// credentials, prefix or driver:
//
//	bucket, err := blob.OpenBucket(ctx, "mem://")
//	…
//	err = client.MountBucket("mem://mine/", cloudblob.FromBucket("mem://mine/", bucket))
//
// The portable layer of gocloud hides the ETag in the answer to a ranged read, reads of the last bytes, conditions, and
// the provider's own error codes. FromBucket makes up for what can be made up for, at the price of requests. FromBucket of
// s3blob, azblob and gcsblob reaches the rest by the provider's types, for buckets of gocloud's drivers of these names.
package cloudblob

import (
	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
)

// FromBucket makes a blobio.Bucket of a bucket of gocloud, which is closed with it. root is the canonical URL of its
// root, which errors begin with. It is a blobio.Limited that names what the bucket can't promise.
func FromBucket(root string, below *blob.Bucket) blobio.Bucket {
	return cloudblob.FromBucket(root, below, cloudblob.Options{})
}

package gcsblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
	"github.com/shardcat/shardcat/blobio/internal/httprange"
)

// FromBucket makes a blobio.Bucket of a bucket that you opened by gocloud.dev/blob/gcsblob, and reaches what gocloud
// hides of it. Creates and deletes go the portable way. The bucket is closed with it; root is the canonical URL of its
// root, which errors begin with. A client of yours that does not make its
// requests through a transport which refuses them reopens broken bodies by itself, uncounted.
func FromBucket(root string, below *blob.Bucket) blobio.Bucket {
	return cloudblob.FromBucket(root, below, (&bucket{}).reads())
}

// reads are the hooks of reading.
func (b *bucket) reads() cloudblob.Options {
	return cloudblob.Options{BeforeRead: b.beforeRead, Got: got, Listed: b.listed, Explain: explain, ListPage: b.opts.ListPage}
}

// errHook means that gocloud passed a GCS request of an unknown type.
var errHook = errors.New("not a request of gocloud.dev/blob/gcsblob")

// beforeRead sets the condition, and the key as it is: gocloud escapes "../". A bucket that somebody else opened may
// lie below a prefix, so its keys stay.
func (b *bucket) beforeRead(as func(any) bool, r cloudblob.Read) error {
	var object **storage.ObjectHandle
	if !as(&object) {
		return errHook
	}
	if b.handle != nil {
		*object = b.handle.Object(r.Key)
	}
	*object = ifMatch(*object, r.IfMatch).Retryer(storage.WithPolicy(storage.RetryNever))
	return nil
}

func got(r *blob.Reader) (cloudblob.Got, error) {
	var from *storage.Reader
	if !r.As(&from) {
		return cloudblob.Got{}, errHook
	}
	return told(from)
}

// told is the metadata of the object in the response to a read.
func told(r *storage.Reader) (cloudblob.Got, error) {
	if r.Attrs.Decompressed {
		return cloudblob.Got{}, fmt.Errorf("%w: the object has a Content-Encoding and was unpacked on the way", blobio.ErrUnknown)
	}
	return cloudblob.Got{At: r.Attrs.StartOffset, End: httprange.Unknown, Size: max(r.Attrs.Size, httprange.Unknown),
		ETag: etag(r.Attrs.Generation)}, nil
}

// etag prints a generation; one that the store did not state is none.
func etag(generation int64) string {
	if generation <= 0 {
		return ""
	}
	return strconv.FormatInt(generation, 10)
}

// size is what metadata state of an object's size. The library makes 0 of a missing one, which the checksum of an object
// with content gives away.
func size(a *storage.ObjectAttrs) int64 {
	if a.Size == 0 && a.CRC32C != 0 {
		return httprange.Unknown
	}
	return a.Size
}

// tail reads the last bytes. gocloud refuses to request them, and hands out no reader's beginning by a hook.
func (b *bucket) tail(ctx context.Context, r cloudblob.Read) (io.ReadCloser, cloudblob.Got, error) {
	from, err := ifMatch(b.handle.Object(r.Key), r.IfMatch).NewRangeReader(ctx, -r.N, -1)
	if err != nil {
		return nil, cloudblob.Got{}, err
	}
	got, err := told(from)
	if err != nil {
		from.Close()
		return nil, got, err
	}
	return from, got, nil
}

// head requests the metadata by the native client: gocloud's attributes have another ETag than reads.
func (b *bucket) head(ctx context.Context, key string) (blobio.Info, error) {
	a, err := b.handle.Object(key).Attrs(ctx)
	if err != nil {
		return blobio.Info{}, err
	}
	return blobio.Info{Key: key, Size: size(a), ETag: etag(a.Generation), ModTime: a.Updated}, nil
}

func (b *bucket) listed(o *blob.ListObject) (key, tag string, ok bool) {
	var a storage.ObjectAttrs
	ok = o.As(&a)
	key = o.Key
	if b.handle != nil {
		key = a.Name
	}
	return key, etag(a.Generation), ok
}

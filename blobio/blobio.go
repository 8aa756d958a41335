// Package blobio reads and writes the objects of a shard wherever they lie.
//
// A Bucket is one bucket, container or folder, seen through its driver; a Client holds the buckets of a
// process and finds the one that a canonical URL names. Objects are write-once: they are created if absent,
// read by exact ranges, and deleted, never changed.
//
// Reading is split from writing, so that a type says who may write.
package blobio

import (
	"context"
	"io"
	"iter"
	"time"
)

// Info is what a store told of an object.
type Info struct {
	// Key is the object's key inside its bucket.
	Key string
	// URL is the object's canonical URL; a Client fills it in, drivers leave it empty.
	URL string
	// Size in bytes.
	Size int64
	// ETag (or generation) as the store prints it; empty where the store has none.
	ETag string
	// ModTime by the store's clock.
	ModTime time.Time
}

// BucketReader reads the objects of one bucket. All methods may be called concurrently. Every error is one
// of this package's classes. A read whose context is pinned (see Pinned) is answered by that very object, or
// ends in ErrChanged.
type BucketReader interface {
	// ReadRange fills dst with the bytes of key from off on: exactly len(dst) bytes or an error. A range
	// that ends beyond the object is ErrRange, whatever the store would have sent. Info is that of the
	// object as a whole; its Size is known from the answer of a ranged read, no second request is made.
	ReadRange(ctx context.Context, key string, off int64, dst []byte) (Info, error)
	// ReadSuffix returns the last min(n, size) bytes of key in one request.
	ReadSuffix(ctx context.Context, key string, n int64) ([]byte, Info, error)
	// Open streams key from off to its end. The reader resumes a broken body where it broke.
	Open(ctx context.Context, key string, off int64) (io.ReadCloser, Info, error)
	// Stat asks for the object without its content.
	Stat(ctx context.Context, key string) (Info, error)
	// List yields the objects whose key starts with prefix, in key order, as far as the store keeps one.
	// It stops at the first error, which it yields.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}

// Bucket reads and writes the objects of one bucket.
type Bucket interface {
	BucketReader
	// Create starts a new object. The object is there, whole, once Close of the writer returned nil, and
	// not at all before. If the key is taken then (or already now) the error is ErrExists.
	// Cancelling ctx before Close abandons the object.
	Create(ctx context.Context, key string, opts CreateOptions) (Writer, error)
	// Delete removes key; deleting what is gone is ErrNotFound. A non-empty etag deletes only the object
	// that has it, where the driver can say so.
	Delete(ctx context.Context, key string, etag string) error
	// Close lets go of connections; later calls fail with ErrClosed.
	Close() error
}

// CreateOptions tell a driver what it may want to know before the first byte.
type CreateOptions struct {
	// ContentType, "application/octet-stream" if empty.
	ContentType string
	// SizeHint in bytes, 0 if unknown: small objects go up in one request.
	SizeHint int64
}

// Writer is an object on its way up. Not for concurrent use.
type Writer interface {
	io.Writer
	// Close commits the object. After ErrExists or an unknown outcome the caller reads back and compares.
	Close() error
	// Abort abandons the object; after Close it does nothing.
	Abort()
}

// Package blobio reads and writes the objects of a shard wherever they lie.
//
// A Bucket is one bucket, container or folder, seen through its driver; a Client holds the buckets of a
// process and finds the one that a canonical URL names. Objects are write-once: they are created if absent,
// read by exact ranges, and deleted, never changed.
//
// Reading is split from writing, so that a type states who may write.
package blobio

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Info is what a store reported about an object.
type Info struct {
	// Key is the object's key inside its bucket.
	Key string
	// URL is the object's canonical URL; a Client fills it in, drivers leave it empty.
	URL string
	// Size in bytes.
	Size int64
	// ETag (or generation) as the store prints it; empty where the store has none.
	ETag string
	// ModTime by the store's clock; see KnownTime.
	ModTime time.Time
}

// KnownTime reports whether a store stated the time of an object. Some leave it out of lists and some of answers, which reads as
// no time or as 1970: the age of such an object is unknown, and it is never old enough for anything.
func KnownTime(at time.Time) bool { return at.Unix() > 0 }

// ReadOptions are the conditions of one read. The zero value has none.
type ReadOptions struct {
	// IfMatch is the ETag (Info.ETag, as the store printed it) that the object must have: a read of another
	// one is ErrChanged. Empty: any object will do.
	IfMatch string
	// Trace is the chain of requests that the call is on.
	Trace Trace
	// Open, if not nil, has what a driver keeps open from one read to the next.
	Open *OpenFiles
}

// ListOptions of one list. The zero value is valid.
type ListOptions struct {
	// Page is the most keys of one page, the driver's own number if 0.
	Page int
	// Retry is for single pages, where a driver can repeat them; a Client sets its own.
	Retry RetryPolicy
	// Trace is the chain of requests that the call is on.
	Trace Trace
}

// Bucket reads and writes the objects of one bucket. All methods may be called concurrently. Every error is one of this
// package's classes.
type Bucket interface {
	// ReadRange fills dst with the bytes of key from off on and returns how many it filled: len(dst), or
	// fewer with an error; those at the start of dst are right then too, and the next attempt may go on
	// behind them. A range that ends beyond the object is ErrRange, whatever the store would have sent. Info
	// is that of the object as a whole; its Size is known from the answer of a ranged read, no second
	// request is made.
	ReadRange(ctx context.Context, key string, off int64, dst []byte, opts ReadOptions) (int, Info, error)
	// ReadSuffix returns the last min(n, size) bytes of key in one request.
	ReadSuffix(ctx context.Context, key string, n int64, opts ReadOptions) ([]byte, Info, error)
	// Open streams key from off to its end. The body ends in an error where it breaks.
	Open(ctx context.Context, key string, off int64, opts ReadOptions) (io.ReadCloser, Info, error)
	// Stat requests the object without its content.
	Stat(ctx context.Context, key string, opts ReadOptions) (Info, error)
	// List yields the objects whose key starts with prefix, in key order, as far as the store keeps one.
	// It stops at the first error, which it yields.
	List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Info, error]
	// Create starts a new object. The object is there, whole, once Close of the writer returned nil, and
	// not at all before. If the key is taken then (or already now) the error is ErrExists.
	// Cancelling ctx before Close abandons the object.
	Create(ctx context.Context, key string, opts CreateOptions) (Writer, error)
	// Delete removes key; deleting what is gone is ErrNotFound.
	Delete(ctx context.Context, key string, opts DeleteOptions) error
	// Close lets go of connections; later calls fail with ErrClosed.
	Close() error
}

// RangeCopier is a Writer that can take bytes from another object of its store without fetching them.
type RangeCopier interface {
	// CopyAfter is how many bytes have to be written before a range can be copied: parts of an upload have a least size. It is negative if none
	// can be.
	CopyAfter() int64
	// CopyRange appends size bytes of an object from off on, which must have this ETag unless it is empty: see Writer.Write for errors. The object
	// is a key of the same bucket for drivers, and a URL for a Client's writer. If the error is errors.ErrUnsupported nothing was
	// appended, and the writer takes the bytes by Write as ever.
	CopyRange(object string, off, size int64, etag string) error
}

// copyAfter is CopyAfter of a writer that may have none.
func copyAfter(w Writer) int64 {
	if c, ok := w.(RangeCopier); ok {
		return c.CopyAfter()
	}
	return -1
}

// copyRange is CopyRange of a writer that may have none.
func copyRange(w Writer, object string, off, size int64, etag string) error {
	if c, ok := w.(RangeCopier); ok {
		return c.CopyRange(object, off, size, etag)
	}
	return errors.ErrUnsupported
}

// CreateOptions inform a driver of what it may need before the first byte.
type CreateOptions struct {
	// ContentType, "application/octet-stream" if empty.
	ContentType string
	// SizeHint in bytes, 0 if unknown: small objects go up in one request.
	SizeHint int64
	// InParts makes a small object go up in parts too, where the driver knows such uploads.
	InParts bool
	// AllowUnconditional: a store that refuses the condition gets the request without it, after a HEAD; see ClientOptions.
	AllowUnconditional bool
	// Receipt, if not nil, is set to what the store reports about the new object, by drivers whose store does.
	Receipt *Receipt
	// Retry is for the requests of an upload in parts, each of which a driver repeats by itself; a Client sets its own.
	Retry RetryPolicy
	// Trace is the chain of requests that the call is on.
	Trace Trace
}

// DeleteOptions are the conditions of one delete. The zero value has none.
type DeleteOptions struct {
	// IfMatch is the ETag that the object must have, where the driver can report it: another one stays, and
	// the error is ErrChanged. Empty: any.
	IfMatch string
	// Trace is the chain of requests that the call is on.
	Trace Trace
}

// Writer is an object on its way up. Not for concurrent use.
type Writer interface {
	io.Writer
	// Close commits the object. After ErrExists or an unknown outcome the caller reads back and compares.
	Close() error
	// Abort abandons the object; after Close it does nothing.
	Abort()
}

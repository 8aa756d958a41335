package shardfmt

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Store reads ranges of objects by their canonical URL. It is all that reading a shard needs; a *blobio.Client is
// one. All methods may be called concurrently. Errors are of the classes of package blobio: ErrNotFound for an
// object that is not there, ErrRange for bytes that an object does not have.
type Store interface {
	// ReadRange fills dst with the bytes from off on, or fails.
	ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error)
	// ReadSuffix returns the last min(n, size) bytes; Info.Size is the size of the object.
	ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error)
	// ReadRanges reads many ranges, in any order, in as few requests as makes sense.
	ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error)
}

// WriteStore is what writing a shard needs; a *blobio.Client is one. Nothing is ever overwritten: what exists is
// refused with blobio.ErrExists.
type WriteStore interface {
	Store
	// Stat reports about an object without reading it.
	Stat(ctx context.Context, url string) (blobio.Info, error)
	// Create begins an object of unknown length, Put writes one at once.
	Create(ctx context.Context, url string, o blobio.CreateOptions) (blobio.Writer, error)
	Put(ctx context.Context, url string, data []byte) error
	// Delete removes what a writer has given up; etag "" means whatever is there.
	Delete(ctx context.Context, url, etag string) error
}

// ErrMissing is a store, a schema or a reader that is nil.
var ErrMissing = errors.New("missing argument")

// isNil reports whether a store is none, or a nil client.
func isNil(st Store) bool {
	c, ok := st.(*blobio.Client)
	return st == nil || ok && c == nil
}

// pinned gives the view of a store in which each URL keeps naming the object that it named first, and files are opened for several reads
// where keepOpen reports it; a store that has no such views is its own.
func pinned(st Store) Store {
	if c, ok := st.(interface{ Pinned() *blobio.Client }); ok {
		return c.Pinned().OpenTogether()
	}
	return st
}

// pastCaches returns a context for a second attempt that reads past caches, if err may stem from a damaged copy in
// a cache, and removes the object from the caches. It returns nil for other errors, and if no cache was read.
func pastCaches(ctx context.Context, st Store, url string, err error) context.Context {
	damaged := errors.Is(err, corrupt.ErrCorrupt) || errors.Is(err, corrupt.ErrUnsupported) || errors.Is(err, blobio.ErrRange)
	c, ok := st.(*blobio.Client)
	if !damaged || !ok || errors.Is(err, ErrBudget) || ctx.Err() != nil {
		return nil
	}
	urls := []string{url}
	if e := (*corrupt.Error)(nil); errors.As(err, &e) && e.Object != "" && e.Object != url {
		urls = append(urls, e.Object)
	}
	if !c.Forget(ctx, urls...) {
		return nil
	}
	return nocache.With(ctx)
}

// keepOpen lets a store that pinned gave keep files open until done is called.
func keepOpen(st Store) (done func()) {
	if c, ok := st.(*blobio.Client); ok {
		_, done = c.KeepOpen()
		return done
	}
	return func() {}
}

// readerAtURL is the URL of the one object behind a ReaderAt.
const readerAtURL = "mem://reader/shard.amudai.shard"

// OpenReaderAt opens a single-file shard of size bytes behind any ReaderAt: a file, a mapped one, a
// bytes.Reader. References to other objects lead nowhere.
func OpenReaderAt(ctx context.Context, r io.ReaderAt, size int64, o OpenOptions) (*Shard, error) {
	if r == nil {
		return nil, fmt.Errorf("%w: no reader", ErrMissing)
	}
	o.Size = size
	return Open(ctx, readerAtStore{r, size}, readerAtURL, o)
}

// readerAtStore is a store of one object.
type readerAtStore struct {
	r    io.ReaderAt
	size int64
}

// check refuses other objects and ranges beyond the end.
func (s readerAtStore) check(url string, start, end int64) error {
	switch {
	case url != readerAtURL:
		return blobio.NewError("read", url, blobio.ErrNotFound, errors.New("the shard was opened without a store"))
	case start < 0 || end < start || end > s.size:
		return blobio.NewError("read", url, blobio.ErrRange, nil)
	}
	return nil
}

func (s readerAtStore) ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	info := blobio.Info{URL: url, Size: s.size}
	if err := ctx.Err(); err != nil {
		return info, err
	}
	if err := s.check(url, off, off+int64(len(dst))); err != nil {
		return info, err
	}
	n, err := s.r.ReadAt(dst, off)
	if n == len(dst) {
		return info, nil
	}
	if errors.Is(err, io.EOF) {
		err = blobio.NewError("read", url, blobio.ErrRange, err)
	}
	return info, err
}

func (s readerAtStore) ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	b := make([]byte, min(n, s.size))
	info, err := s.ReadRange(ctx, url, s.size-int64(len(b)), b)
	return b, info, err
}

func (s readerAtStore) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	return s.ReadRangesInto(ctx, url, ranges, bufpool.Bytes)
}

// ReadRangesInto is ReadRanges into memory of the caller's, see blobio.Client.
func (s readerAtStore) ReadRangesInto(ctx context.Context, url string, ranges []blobio.Range, take func(n int) []byte) ([][]byte, error) {
	for _, r := range ranges { // before memory is taken
		if err := s.check(url, r.Start, r.End); err != nil {
			return nil, err
		}
	}
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		out[i] = take(int(r.Len()))
		if _, err := s.ReadRange(ctx, url, r.Start, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

package meta

import (
	"context"

	"github.com/shardcat/shardcat/blobio"
)

// lendingStore is a store that may have objects in memory, and lends their bytes then instead of copying them: a *blobio.Client is one. What it
// lends is of no memory that Close gives back.
type lendingStore interface {
	LendRange(ctx context.Context, url string, r blobio.Range) (b []byte, info blobio.Info, lent bool, err error)
	LendRanges(ctx context.Context, url string, ranges []blobio.Range) (parts [][]byte, lent bool, err error)
}

// readRange reads a range into memory that take gives, or gives it as the store lends it.
func readRange(ctx context.Context, st Store, url string, r blobio.Range, take func(n int) []byte) ([]byte, blobio.Info, error) {
	if l, ok := st.(lendingStore); ok {
		if b, info, lent, err := l.LendRange(ctx, url, r); lent || err != nil {
			return b[:len(b):len(b)], info, err
		}
	}
	b := take(int(r.Len()))
	info, err := st.ReadRange(ctx, url, r.Start, b)
	return b, info, err
}

// readRanges reads ranges into memory of the root's, where the store can, or gives them as it lends them.
func (r *Root) readRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	if l, ok := r.store.(lendingStore); ok {
		if parts, lent, err := l.LendRanges(ctx, url, ranges); lent || err != nil {
			return parts, err
		}
	}
	if st, ok := r.store.(intoStore); ok {
		return st.ReadRangesInto(ctx, url, ranges, r.take)
	}
	return r.store.ReadRanges(ctx, url, ranges)
}

// readToTail gives [start, end) of the root, which begins before its tail and ends in it. What is in the tail is not read again.
func (r *Root) readToTail(ctx context.Context, start, end int64) ([]byte, error) {
	if err := r.isClosed(); err != nil {
		return nil, err // the tail was given back
	}
	have := r.tail[:end-r.tailStart]
	before := blobio.Range{Start: start, End: r.tailStart}
	if l, ok := r.store.(lendingStore); ok {
		switch b, _, lent, err := l.LendRange(ctx, r.url, before); {
		case err != nil:
			return nil, err
		case lent:
			return r.joined(b, have), nil
		}
	}
	b := r.take(int(end - start))
	missing := b[:before.Len()]
	copy(b[len(missing):], have)
	_, err := r.store.ReadRange(ctx, r.url, start, missing)
	return b, err
}

// joined gives a and b behind one another: where they lie, if they do so there.
func (r *Root) joined(a, b []byte) []byte {
	if n := len(a) + len(b); len(b) > 0 && cap(a) >= n && &a[:n][len(a)] == &b[0] {
		return a[:n:n]
	}
	both := r.take(len(a) + len(b))
	copy(both[copy(both, a):], b)
	return both
}

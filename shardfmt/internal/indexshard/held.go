package indexshard

import (
	"context"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
)

const (
	// againBytes and againRanges bound what is kept besides the end: ranges that every record needs, as of columns of one
	// block, are requested again and again.
	againBytes, againRanges = 64 << 10, 16
)

// held is a store that answers from the end of one object, which was read before, and from ranges that were read before;
// it asks another for the rest. Safe for concurrent use.
type held struct {
	meta.Store
	url   string
	start int64 // of tail in the object
	tail  []byte
	// copies are ranges before the tail that the root has.
	copies map[blobio.Range][]byte

	mu    sync.Mutex
	again map[blobio.Range][]byte // nil keeps none
}

// hold reads the last n bytes of an object, all of it if it is smaller.
func hold(ctx context.Context, st meta.Store, url string, n int64) (*held, error) {
	tail, info, err := st.ReadSuffix(ctx, url, n)
	if err != nil {
		return nil, err
	}
	return &held{Store: st, url: url, start: info.Size - int64(len(tail)), tail: tail, again: map[blobio.Range][]byte{}}, nil
}

// has reports whether [start, end) of an object is kept.
func (h *held) has(url string, start, end int64) bool {
	return url == h.url && start >= h.start && start <= end && end <= h.start+int64(len(h.tail))
}

func (h *held) slice(start, end int64) []byte {
	return h.tail[start-h.start : end-h.start : end-h.start]
}

// ReadRange implements meta.Store.
func (h *held) ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	if end := off + int64(len(dst)); h.has(url, off, end) {
		copy(dst, h.slice(off, end))
		return blobio.Info{URL: url, Size: h.start + int64(len(h.tail))}, nil
	}
	return h.Store.ReadRange(ctx, url, off, dst)
}

// ReadSuffix implements meta.Store.
func (h *held) ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	size := h.start + int64(len(h.tail))
	if from := max(0, size-n); h.has(url, from, size) {
		return h.slice(from, size), blobio.Info{URL: url, Size: size}, nil
	}
	return h.Store.ReadSuffix(ctx, url, n)
}

// ReadRanges implements meta.Store; ranges that are not kept are requested together.
func (h *held) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	return h.readRanges(ctx, h.Store, url, ranges)
}

// EachStore calls do for 0 … n−1 at the same time, with stores that know the same ranges, and whose requests do not wait for one another.
func (h *held) EachStore(ctx context.Context, n int, do func(ctx context.Context, st scan.Store, i int) error) error {
	b, ok := h.Store.(branching)
	if !ok {
		return parallel.Each(ctx, n, n, func(i int) error { return do(ctx, h, i) })
	}
	return b.Each(ctx, n, func(ctx context.Context, c *blobio.Client, i int) error { return do(ctx, branch{h, c}, i) })
}

// branch is a held whose requests are those of one branch of its store.
type branch struct {
	*held
	store *blobio.Client
}

// ReadRanges implements scan.Store.
func (b branch) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	return b.held.readRanges(ctx, b.store, url, ranges)
}

// readRanges reads ranges, those that are not kept from a store.
func (h *held) readRanges(ctx context.Context, st scan.Store, url string, ranges []blobio.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	var missing []blobio.Range
	var at []int
	for i, r := range ranges {
		if out[i] = h.Known(url, r); out[i] == nil {
			missing, at = append(missing, r), append(at, i)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	got, err := st.ReadRanges(ctx, url, missing)
	if err != nil {
		return nil, err
	}
	for k, i := range at {
		out[i] = got[k]
		h.keep(url, missing[k], got[k])
	}
	return out, nil
}

// Known is a range that is kept, nil if it is not.
func (h *held) Known(url string, r blobio.Range) []byte {
	if h.has(url, r.Start, r.End) {
		return h.slice(r.Start, r.End)
	}
	if url != h.url {
		return nil
	}
	if b := h.copies[r]; b != nil {
		return b
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.again[r]
}

// keep keeps a range, if there is space.
func (h *held) keep(url string, r blobio.Range, data []byte) {
	if url != h.url || len(data) > againBytes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.again != nil && len(h.again) < againRanges {
		h.again[r] = data
	}
}

// prime keeps copies that the root has of ranges before the end; how many, it bounds.
func (h *held) prime(copies []meta.RangeCopy) {
	h.copies = make(map[blobio.Range][]byte, len(copies))
	for _, c := range copies {
		if end := c.Start + uint64(len(c.Bytes)); end <= uint64(h.start) {
			h.copies[blobio.Range{Start: int64(c.Start), End: int64(end)}] = c.Bytes
		}
	}
}

package artifact

import (
	"context"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/meta"
)

const (
	// againBytes and againRanges bound what is kept besides the end: ranges that every record needs, as of columns of one
	// block, are asked for again and again.
	againBytes, againRanges = 64 << 10, 16
)

// held is a store that answers from the end of one object, which was read before, and from ranges that were read before;
// it asks another for the rest. Safe for concurrent use.
type held struct {
	meta.Store
	url   string
	start int64 // of tail in the object
	tail  []byte

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

// ReadRanges implements meta.Store; ranges that are not kept are asked for together.
func (h *held) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	var missing []blobio.Range
	var at []int
	for i, r := range ranges {
		if out[i] = h.known(url, r); out[i] == nil {
			missing, at = append(missing, r), append(at, i)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	got, err := h.Store.ReadRanges(ctx, url, missing)
	if err != nil {
		return nil, err
	}
	for k, i := range at {
		out[i] = got[k]
		h.keep(url, missing[k], got[k])
	}
	return out, nil
}

// known is a range that is kept, nil if it is not.
func (h *held) known(url string, r blobio.Range) []byte {
	if h.has(url, r.Start, r.End) {
		return h.slice(r.Start, r.End)
	}
	if url != h.url {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.again[r]
}

// keep keeps a range, if there is room.
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

package artifact

import (
	"context"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/meta"
)

// held is a store that answers from the end of one object, which was read before, and asks another for the rest.
type held struct {
	meta.Store
	url   string
	start int64 // of tail in the object
	tail  []byte
}

// hold reads the last n bytes of an object, all of it if it is smaller.
func hold(ctx context.Context, st meta.Store, url string, n int64) (*held, int64, error) {
	tail, info, err := st.ReadSuffix(ctx, url, n)
	if err != nil {
		return nil, 0, err
	}
	return &held{st, url, info.Size - int64(len(tail)), tail}, info.Size, nil
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
		if h.has(url, r.Start, r.End) {
			out[i] = h.slice(r.Start, r.End)
		} else {
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
	}
	return out, nil
}

package lance

import (
	"context"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// source is the bytes of a file.
type source interface {
	// suffix gives the last n bytes, or all, and the size of the file.
	suffix(ctx context.Context, n int64) ([]byte, int64, error)
	// ranges gives some of them, all of which lie in the file.
	ranges(ctx context.Context, of []blobio.Range) ([][]byte, error)
}

// object is a file in a store.
type object struct {
	st  fileformat.Store
	url string
}

func (o object) suffix(ctx context.Context, n int64) ([]byte, int64, error) {
	tail, info, err := o.st.ReadSuffix(ctx, o.url, n)
	return tail, info.Size, err
}

func (o object) ranges(ctx context.Context, of []blobio.Range) ([][]byte, error) {
	return o.st.ReadRanges(ctx, o.url, of)
}

// embedded is a file inside another, as a zone map is.
type embedded []byte

func (e embedded) suffix(_ context.Context, n int64) ([]byte, int64, error) {
	return e[max(int64(len(e))-n, 0):], int64(len(e)), nil
}

func (e embedded) ranges(_ context.Context, of []blobio.Range) ([][]byte, error) {
	out := make([][]byte, len(of))
	for i, r := range of {
		out[i] = e[r.Start:r.End]
	}
	return out, nil
}

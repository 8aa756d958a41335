package blobfake

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// SizesAreNeverMadeUp tests that an answer which doesn't state a length is not taken for one of an empty object, nor a shorter one for a
// whole: every read of an object gives its bytes and its size. Open gives a bucket at a server with some quirks, and the key of an object
// of that body.
func SizesAreNeverMadeUp(t *testing.T, quirks []string, open func(t *testing.T, quirks string, body []byte) (b blobio.Bucket, key string)) {
	for _, quirks := range quirks {
		for _, size := range []int{0, 1, 1000, 1001, 5000} {
			want := bytes.Repeat([]byte("0123456789"), 500)[:size]
			b, key := open(t, quirks, want)
			r, info, err := b.Open(t.Context(), key, 0, blobio.ReadOptions{})
			if err != nil {
				t.Errorf("%q, %d bytes: open: %v", quirks, size, err)
				continue
			}
			got, err := io.ReadAll(r)
			r.Close()
			if err != nil || !bytes.Equal(got, want) || info.Size != int64(size) {
				t.Errorf("%q, %d bytes: stream of %d bytes, size %d, %v", quirks, size, len(got), info.Size, err)
			}
			if info, err := b.Stat(t.Context(), key, blobio.ReadOptions{}); err != nil || info.Size != int64(size) {
				t.Errorf("%q, %d bytes: stat gives size %d, %v", quirks, size, info.Size, err)
			}
			dst := make([]byte, size)
			if _, info, err := b.ReadRange(t.Context(), key, 0, dst, blobio.ReadOptions{}); err != nil || !bytes.Equal(dst, want) || info.Size != int64(size) {
				t.Errorf("%q, %d bytes: range with size %d, %v", quirks, size, info.Size, err)
			}
			if _, _, err := b.ReadRange(t.Context(), key, 0, make([]byte, size+1), blobio.ReadOptions{}); !errors.Is(err, blobio.ErrRange) {
				t.Errorf("%q, %d bytes: range beyond the end: %v", quirks, size, err)
			}
			tail, info, err := b.ReadSuffix(t.Context(), key, 3000, blobio.ReadOptions{})
			if err != nil || !bytes.Equal(tail, want[max(0, size-3000):]) || info.Size != int64(size) {
				t.Errorf("%q, %d bytes: suffix of %d bytes, size %d, %v", quirks, size, len(tail), info.Size, err)
			}
		}
	}
}

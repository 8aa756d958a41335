package layerindex

import (
	"context"
	"os"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/testkit/oneobject"
	"github.com/shardcat/shardcat/urlresolve"
)

// FuzzIndex: whatever the bytes of an index are, a lookup ends in ascending ranges of positions that exist, or in an error; so does its check.
func FuzzIndex(f *testing.F) {
	keys := [][]byte{[]byte("a"), []byte("b"), nil, []byte("a"), []byte("cc"), []byte("")}
	s := build(f, Bytes, keys, 0)
	whole, err := os.ReadFile(s.path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, []byte("a"), []byte("b"), uint64(len(keys)))
	f.Add(whole[:len(whole)/2], []byte{}, []byte("z"), uint64(1))
	f.Add([]byte{}, []byte("b"), []byte("a"), uint64(0))
	f.Fuzz(func(t *testing.T, data, low, high []byte, records uint64) {
		ctx := context.Background()
		x, err := Open(ctx, oneobject.Store(data), s.root, s.d, urlresolve.Policy{})
		if err != nil {
			return
		}
		const most = 1000
		rows, known, err := x.Rows(ctx, []Keys{Key(low), {Low: low, High: high}}, most, records)
		if err == nil && known {
			end, n := uint64(0), uint64(0)
			for _, r := range rows {
				if r.Start < end || r.End <= r.Start || r.End > records {
					t.Fatalf("ranges %v of %d records", rows, records)
				}
				end, n = r.End, n+r.End-r.Start
			}
			if n > most {
				t.Errorf("%d rows", n)
			}
		}
		x.Verify(ctx, records)
	})
}

package layerindex

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/urlresolve"
)

// oneObject is a store whose every object has the same bytes.
type oneObject []byte

func (o oneObject) info(url string) blobio.Info { return blobio.Info{URL: url, Size: int64(len(o))} }

func (o oneObject) ReadRange(_ context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	if off < 0 || off > int64(len(o)) || int64(len(dst)) > int64(len(o))-off {
		return o.info(url), blobio.ErrRange
	}
	copy(dst, o[off:])
	return o.info(url), nil
}

func (o oneObject) ReadSuffix(_ context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	return slices.Clone(o[max(0, int64(len(o))-n):]), o.info(url), nil
}

func (o oneObject) ReadRanges(_ context.Context, _ string, ranges []blobio.Range) (out [][]byte, err error) {
	for _, r := range ranges {
		if r.Start < 0 || r.End < r.Start || r.End > int64(len(o)) {
			return nil, blobio.ErrRange
		}
		out = append(out, slices.Clone(o[r.Start:r.End]))
	}
	return out, nil
}

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
		x, err := Open(ctx, oneObject(data), s.root, s.d, urlresolve.Policy{})
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

package meta

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
)

var errRange = fmt.Errorf("%w: test", blobio.ErrRange)

// mapStore holds objects by URL and counts requests and bytes.
type mapStore struct {
	objects     map[string][]byte
	gets, bytes atomic.Int64
}

func (s *mapStore) ReadRange(_ context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	b, ok := s.objects[url]
	if !ok {
		return blobio.Info{}, blobio.NewError("read", url, blobio.ErrNotFound, fs.ErrNotExist)
	}
	if off < 0 || off+int64(len(dst)) > int64(len(b)) {
		return blobio.Info{}, errRange
	}
	s.gets.Add(1)
	s.bytes.Add(int64(copy(dst, b[off:])))
	return blobio.Info{Size: int64(len(b))}, nil
}

func (s *mapStore) ReadSuffix(_ context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	b, ok := s.objects[url]
	if !ok {
		return nil, blobio.Info{}, blobio.NewError("read", url, blobio.ErrNotFound, fs.ErrNotExist)
	}
	n = min(n, int64(len(b)))
	s.gets.Add(1)
	s.bytes.Add(n)
	return append([]byte(nil), b[int64(len(b))-n:]...), blobio.Info{Size: int64(len(b))}, nil
}

func (s *mapStore) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	gets := s.gets.Load()
	for i, r := range ranges {
		out[i] = make([]byte, r.Len())
		if _, err := s.ReadRange(ctx, url, r.Start, out[i]); err != nil {
			return nil, err
		}
	}
	s.gets.Store(gets + 1) // as if they lay close together
	return out, nil
}

// goldenShards yields the roots of the golden shards, or skips.
func goldenShards(t testing.TB) []string {
	dir := interop.Dir(t)
	var roots []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "shard.amudai.shard") && !strings.Contains(path, "/data/") {
			roots = append(roots, path)
		}
		return err
	})
	if err != nil || len(roots) == 0 {
		t.Fatalf("no golden shards in %s: %v", dir, err)
	}
	return roots
}

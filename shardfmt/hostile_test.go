package shardfmt

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// hostile opens a shard of testdata/hostile.
func hostile(t *testing.T, name string) *Shard {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "hostile", name+".amudai.shard.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenReaderAt(t.Context(), bytes.NewReader(b), int64(len(b)), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A shard that claims more than a scan may take ends in a typed error that names it, after little memory; with a
// smaller limit after less.
func TestHostileShards(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   int64 // that may come out
		refuse bool
	}{
		{"c01-fsb-null-32768", 0, true},
		{"c02-fsl-null-1", 0, true},
		{"c05-dict-fixed-1m", 1 << 20, true},
		{"c08-union-time-bomb", 1 << 15, false}, // its values are read one by one
		{"c24-inspect-nan", 1 << 10, false},
		{"c25-all-deleted-2e63", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := hostile(t, c.name)
			const limit = 64 << 20
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var failed error
			rows := int64(0)
			for b, err := range s.Scan(t.Context(), ScanOptions{MaxMemory: limit}) {
				if failed = err; err == nil {
					rows += b.NumRows()
				}
			}
			runtime.ReadMemStats(&after)
			if c.refuse != (failed != nil) || rows > c.rows {
				t.Errorf("%d rows, then %v", rows, failed)
			}
			if failed != nil && (!errors.Is(failed, ErrBudget) || !errors.Is(failed, corrupt.ErrUnsupported) || !strings.Contains(failed.Error(), s.URL())) {
				t.Errorf("%v", failed)
			}
			// All that was ever allocated, which is more than was in use at a time: 2 GiB of values of a dictionary, of
			// which each batch has its own.
			if total := after.TotalAlloc - before.TotalAlloc; total > 4<<30 {
				t.Errorf("%d MiB were allocated", total>>20)
			}
		})
	}
}

// Batches shrink until they fit, and grow again where values are small.
func TestBatchesFit(t *testing.T) {
	s := hostile(t, "c05-dict-fixed-1m")
	const limit = 8 << 20
	for b, err := range s.Scan(t.Context(), ScanOptions{MaxMemory: limit, End: 300}) {
		if err != nil {
			t.Fatal(err)
		}
		if size := b.Column(0).Data().Buffers()[1].Len(); size > limit/4 {
			t.Errorf("a batch of %d rows has %d bytes", b.NumRows(), size)
		}
	}
}

// The limit counts for the columns of all scans that share a budget, and is given back.
func TestSharedBudget(t *testing.T) {
	s := hostile(t, "c05-dict-fixed-1m")
	budget := NewBudget(8 << 20)
	for range 3 {
		for _, err := range s.Scan(t.Context(), ScanOptions{Budget: budget, End: 100}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

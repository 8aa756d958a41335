package blobio_test

import (
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// TestLocalReadsAreThin: what a Client puts on top of a local bucket allocates next to nothing.
func TestLocalReadsAreThin(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	url := "mem://" + t.Name() + "/x"
	if err := sp.Put(t.Context(), url, object); err != nil {
		t.Fatal(err)
	}
	dst, ctx := make([]byte, 100), t.Context()
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := sp.ReadRange(ctx, url, 10, dst); err != nil {
			t.Fatal(err)
		}
	})
	const most = 2 // the ends of the request and of its share of the memory budget
	if allocs > most && !raceDetector {
		t.Errorf("%v allocations for a read, want at most %d", allocs, most)
	}
}

func BenchmarkLocalRead(b *testing.B) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	url := "mem://" + b.Name() + "/x"
	if err := sp.Put(b.Context(), url, object); err != nil {
		b.Fatal(err)
	}
	dst, ctx := make([]byte, 100), b.Context()
	for b.Loop() {
		if _, err := sp.ReadRange(ctx, url, 10, dst); err != nil {
			b.Fatal(err)
		}
	}
}

package metadataio

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// lateBucket reads one object later than the others.
type lateBucket struct {
	blobio.Bucket
	key  string
	late time.Duration
}

func (b lateBucket) Open(ctx context.Context, key string, off int64, opts blobio.ReadOptions) (io.ReadCloser, blobio.Info, error) {
	if strings.HasSuffix(key, b.key) {
		time.Sleep(b.late)
	}
	return b.Bucket.Open(ctx, key, off, opts)
}

// Files that are read ahead do not wait for one before them that comes late.
func TestReadAheadPastLateFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const step = 30 * time.Millisecond
		client := blobio.NewClient(blobio.ClientOptions{})
		defer client.Close()
		slow := blobfake.NewSlow(memblob.New(), blobfake.Latency{FirstByte: step})
		if err := client.MountBucket("mem://late/", lateBucket{slow, "/0.avro", step}); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for i := range aheadFiles + aheadFiles/2 {
			paths = append(paths, fmt.Sprintf("mem://late/m/%d.avro", i))
			if err := client.Put(t.Context(), paths[i], []byte(paths[i])); err != nil {
				t.Fatal(err)
			}
		}
		m := &storeIO{ctx: t.Context(), Store: &Store{client: client, cache: newFileCache(0)}}
		begin := time.Now()
		view, done := m.ReadAhead(paths, make([]int64, len(paths)))
		defer done()
		for _, p := range paths {
			if b, err := view.(iceio.ReadFileIO).ReadFile(p); err != nil || string(b) != p {
				t.Fatalf("%s: %q, %v", p, b, err)
			}
		}
		if took := time.Since(begin); took > 2*step {
			t.Errorf("%d files took %s, want %s: that of the late one", len(paths), took, 2*step)
		}
		if n := slow.MostAtOnce(); n > aheadFiles {
			t.Errorf("%d requests at once, want at most %d", n, aheadFiles)
		}
	})
}

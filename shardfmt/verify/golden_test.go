package verify

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
)

// Every shard that the reference wrote, and every root merged from them, verifies.
func TestGoldenShardsVerify(t *testing.T) {
	dir := interop.Dir(t)
	count := 0
	for _, pattern := range []string{"*", "merged/*", "reader-defect/*"} {
		roots, err := filepath.Glob(filepath.Join(dir, pattern, "shard.amudai.shard"))
		if err != nil {
			t.Fatal(err)
		}
		for _, root := range roots {
			sp := blobio.NewClient(blobio.ClientOptions{})
			r, err := Shard(context.Background(), sp, "file://"+root, Options{})
			if err != nil {
				t.Fatal(root, err)
			}
			if !r.OK {
				t.Errorf("%s: %v", root, r.Errors)
			}
			if info, err := os.Stat(root); err != nil || r.Bytes < info.Size()/2 {
				t.Errorf("%s: only %d bytes checked", root, r.Bytes)
			}
			count++
		}
	}
	if want := len(interop.Cases(t)); count <= want {
		t.Errorf("%d shards found, %d and merged ones announced", count, want)
	}
}

package blobio_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// An object of a folder is the file that it is, for one GET, under the conditions of any read; other stores have none.
func TestFile(t *testing.T) {
	ctx, c, dir := t.Context(), blobio.NewClient(blobio.ClientOptions{}), t.TempDir()
	defer c.Close()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	far := remote{Bucket: fileblob.Open(dir)}
	for root, b := range map[string]blobio.Bucket{"mem://m/": memblob.New(), "s3://far/": &far} {
		if err := c.MountBucket(root, b); err != nil {
			t.Fatal(err)
		}
	}
	url, err := c.Mount(ctx, filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	before := c.Counters()
	view := c.Pinned()
	f, info, err := view.File(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil || string(content) != "content" || info.Size != 7 || info.URL != url {
		t.Errorf("%q, %+v, %v", content, info, err)
	}
	if n := c.Counters().Gets - before.Gets; n != 1 {
		t.Errorf("%d GETs", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("another content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := view.File(ctx, url); !errors.Is(err, blobio.ErrChanged) {
		t.Errorf("an object that changed since it was pinned: %v", err)
	}
	if _, _, err := c.File(ctx, url+"b"); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("an object that isn't there: %v", err)
	}
	for _, url := range []string{"mem://m/a", "s3://far/a"} {
		if _, _, err := c.File(ctx, url); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

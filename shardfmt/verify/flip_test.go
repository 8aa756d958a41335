package verify

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
)

// load puts the objects of a folder into memory, with the byte at an offset of one of them changed.
func load(t *testing.T, files map[string][]byte, damaged string, at int) (*blobio.Client, string) {
	t.Helper()
	sp := blobio.NewClient(blobio.ClientOptions{})
	base := "mem://" + strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-") + "/"
	for name, data := range files {
		if name == damaged {
			data = bytes.Clone(data)
			data[at] ^= 1 << (at % 8)
		}
		_ = sp.Delete(context.Background(), base+name, "") // what an earlier round left
		if err := sp.Put(context.Background(), base+name, data); err != nil {
			t.Fatal(err)
		}
	}
	return sp, base + "shard.amudai.shard"
}

// objectsOf are the files of a golden shard's folder.
func objectsOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"*.amudai.shard", "*.amudai.stripe"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(name)] = data
		}
	}
	return files
}

// A flipped bit anywhere in a foreign shard is found and named by its object: block maps and headers without
// checksum have one form only that counts as whole.
func TestFlippedBitsOfForeignShardsAreFound(t *testing.T) {
	dir := interop.Dir(t)
	for name, stride := range map[string]int{
		"wide-plain-one-1": 3, "nest-emptylists-balanced-one-256": 2, "wideconst-p10-plain-two-200": 29, "wide-p90-minsize-two-3s513": 97,
	} {
		t.Run(name, func(t *testing.T) {
			files := objectsOf(t, filepath.Join(dir, name))
			sp, root := load(t, files, "", 0)
			whole, err := Shard(context.Background(), sp, root, Options{})
			if err != nil || !whole.OK || whole.Objects != len(files) {
				t.Fatal(whole, err)
			}
			for object, data := range files {
				for at := 0; at < len(data); at += stride {
					sp, root := load(t, files, object, at)
					r, err := Shard(context.Background(), sp, root, Options{})
					switch {
					case err != nil:
						t.Fatalf("%s at %d: %v", object, at, err)
					case r.OK:
						t.Errorf("%s: a flipped bit at %d is not found", object, at)
					case filepath.Base(r.Errors[0].Object) != object:
						t.Errorf("%s at %d: %v", object, at, r.Errors)
					}
				}
			}
		})
	}
}

func TestMissingObjects(t *testing.T) {
	dir := interop.Dir(t)
	files := objectsOf(t, filepath.Join(dir, "wideconst-p10-plain-two-200"))
	for name := range files {
		if strings.HasSuffix(name, ".stripe") {
			delete(files, name)
		}
	}
	sp, root := load(t, files, "", 0)
	r, err := Shard(context.Background(), sp, root, Options{})
	if err != nil || r.OK || !strings.Contains(r.Errors[0].What, "missing") {
		t.Errorf("without its stripe: %v, %v", r, err)
	}
	if _, err := Shard(context.Background(), sp, root+".none", Options{}); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("without its root: %v", err)
	}
}

package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Datasets that pylance writes here and now are read as pylance reads them, in every version: dense deletions, thousands of
// rows in several fragments, overwritten schemas, both schemes of names, stable row ids; what is not read is refused.
func TestPylanceDatasets(t *testing.T) {
	python := os.Getenv("SHARDCAT_PYLANCE")
	if python == "" {
		t.Skip("SHARDCAT_PYLANCE does not name a Python with pylance: datasets are not checked against it")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "testdata/datasets.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := blobio.NewClient()
	defer c.Close()
	ctx := context.Background()
	files, err := filepath.Glob(filepath.Join(dir, "*.arrow"))
	if err != nil || len(files) < 25 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		part := strings.Split(filepath.Base(file), ".")
		var version uint64
		fmt.Sscan(part[1], &version)
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		url, err := c.Mount(ctx, filepath.Join(dir, part[0]+".lance"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(part[0]+"."+part[1], func(t *testing.T) { same(t, c, strings.TrimSuffix(url, "/"), version, want) })
	}
	for name, want := range map[string]string{"2.1": "version 2.1", "legacy": "legacy version", "clone": "base paths"} {
		url, err := c.Mount(ctx, filepath.Join(dir, "refused-"+name+".lance"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, c, url, ""); !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

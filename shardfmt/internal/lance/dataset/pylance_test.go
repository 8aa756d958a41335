package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
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
	c := blobio.NewClient(blobio.ClientOptions{})
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
	for name, want := range map[string]string{"2.3": "version 2.3", "legacy": "legacy version", "clone": "base paths"} {
		url, err := c.Mount(ctx, filepath.Join(dir, "refused-"+name+".lance"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, c, url, ""); !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Datasets that we write are read by pylance as the same rows, in several fragments and without any; and go on there: what it
// appends to and deletes from them we read.
func TestPylanceReadsOurs(t *testing.T) {
	python := os.Getenv("SHARDCAT_PYLANCE")
	if python == "" {
		t.Skip("SHARDCAT_PYLANCE does not name a Python with pylance: datasets are not checked against it")
	}
	ctx, dir := context.Background(), t.TempDir()
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	for rows, fragments := range map[int]int{0: 0, 1: 1, 2500: 3} {
		name := filepath.Join(dir, fmt.Sprintf("rows-%d.%d", rows, fragments))
		url, err := c.Mount(ctx, name+".lance")
		if err != nil {
			t.Fatal(err)
		}
		want := sample(t, max(rows, 1)).NewSlice(0, int64(rows))
		w, err := NewWriter(ctx, c, url, want.Schema(), WriteOptions{FragmentRows: 1000})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, w, want, 700)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		out, err := ipc.NewFileWriter(&file, ipc.WithSchema(want.Schema()))
		if err == nil {
			err = errors.Join(out.Write(want), out.Close(), os.WriteFile(name+".arrow", file.Bytes(), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(python, "testdata/ours.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	url, err := c.Mount(ctx, filepath.Join(dir, "rows-2500.3.lance"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(ctx, c, url, "")
	if err != nil || d.Version() != 3 || d.Rows() != 2*2500-2 {
		t.Fatalf("after an append and a deletion: %+v, %v", d, err)
	}
	if r, err := d.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

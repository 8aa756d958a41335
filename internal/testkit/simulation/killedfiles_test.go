//go:build unix

package simulation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
)

// filesChild reports a child of the test its folder.
const filesChild = "SHARDCAT_TEST_FILES_CHILD"

const (
	// landedFiles of one id each, so many to a part; the child dies when it opens the part of killedPart.
	landedFiles, partFiles, killedPart = 40, 4, 5
)

func (s *source) Close() error { return nil }

// filesToLand are files of one id each, which is in their URLs.
func filesToLand() (files []catalog.InputFile) {
	for i := range landedFiles {
		files = append(files, catalog.InputFile{URL: fmt.Sprintf("file:///in/%04d", i), Size: 100})
	}
	return files
}

// landFiles lands them, and reports open of each part.
func landFiles(t *testing.T, dir string, files []catalog.InputFile, open func(part []catalog.InputFile)) (*catalog.IngestFilesResult, error) {
	t.Helper()
	c, err := catalog.Open(context.Background(), catalog.Options{URI: "sqlite:" + dir + "/catalog.db", Warehouse: "file://" + dir + "/wh", Client: blobio.NewClient(blobio.ClientOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Load(context.Background(), name)
	if errors.Is(err, catalog.ErrNotFound) {
		tbl, err = c.Create(context.Background(), name, catalog.CreateOptions{Schema: newSource(nil).Schema(), CreateNamespace: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	return tbl.IngestFiles(context.Background(), files, catalog.FilesOptions{
		Ingest: catalog.IngestOptions{JobID: "files"}, PartFiles: partFiles, Workers: 2,
		Open: func(_ context.Context, part []catalog.InputFile) (catalog.FileSource, error) {
			open(part)
			var ids []int64
			for _, f := range part {
				var id int64
				if _, err := fmt.Sscanf(f.URL, "file:///in/%d", &id); err != nil {
					return nil, err
				}
				ids = append(ids, id)
			}
			return newSource(ids), nil
		},
	})
}

// TestKilledIngestOfFiles kills a process that lands many files, and lets another go on: it lands the files whose part was not
// committed and no others, and every row is there once.
func TestKilledIngestOfFiles(t *testing.T) {
	if dir := os.Getenv(filesChild); dir != "" {
		var opened atomic.Int32
		_, err := landFiles(t, dir, filesToLand(), func([]catalog.InputFile) {
			if opened.Add(1) == killedPart {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		})
		t.Fatal("not killed", err)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledIngestOfFiles$")
	cmd.Env = append(os.Environ(), filesChild+"="+dir)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v: %s", err, out)
	}
	before := idsIn(t, dir)
	// One part was opened and not landed, and the one beside it may not have been committed.
	if n := len(before); n < partFiles*(killedPart-2) || n >= landedFiles {
		t.Fatalf("%d rows are there after the kill", n)
	}
	var mu sync.Mutex // two parts are opened at a time
	opened := 0
	files := append(filesToLand(), catalog.InputFile{URL: "file:///in/9999", Size: 100}) // came meanwhile
	done, err := landFiles(t, dir, files, func(part []catalog.InputFile) {
		mu.Lock()
		defer mu.Unlock()
		opened += len(part)
		for _, f := range part {
			for _, id := range before {
				if strings.HasSuffix(f.URL, fmt.Sprintf("/%04d", id)) {
					t.Errorf("%s is landed again", f.URL)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if done.Before != len(before) || opened != landedFiles-len(before) || done.Rows != int64(opened) || done.Unlisted != 1 {
		t.Errorf("%d files before, %d opened: %+v", len(before), opened, done)
	}
	want := make([]int64, landedFiles)
	for i := range want {
		want[i] = int64(i)
	}
	if ids := idsIn(t, dir); !slices.Equal(ids, want) {
		t.Errorf("the table has %v", ids)
	}
	if again, err := landFiles(t, dir, filesToLand(), func([]catalog.InputFile) { t.Error("landed a third time") }); err != nil || again.Before != landedFiles {
		t.Errorf("%+v, %v", again, err)
	}
	changed := filesToLand()
	changed[3].Size++
	if _, err := landFiles(t, dir, changed, func([]catalog.InputFile) { t.Error("landed another file") }); !errors.Is(err, catalog.ErrInvalid) {
		t.Errorf("a file that changed: %v", err)
	}
}

// idsIn reads the table, in the order of the ids.
func idsIn(t *testing.T, dir string) []int64 {
	t.Helper()
	c, err := catalog.Open(context.Background(), catalog.Options{URI: "sqlite:" + dir + "/catalog.db", Warehouse: "file://" + dir + "/wh", Client: blobio.NewClient(blobio.ClientOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Load(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tbl.Plan(context.Background(), catalog.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := idsOf(p)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

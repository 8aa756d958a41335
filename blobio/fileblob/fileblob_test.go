package fileblob_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/fileblob"
)

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	store := blobtest.Store{Parts: 1 << 20, Open: func(*testing.T) blobio.Bucket { return fileblob.Open(dir) }}
	if shared := os.Getenv(envDir); shared != "" { // one of several processes
		dir, store.Prefix, store.Big = shared, os.Getenv(envName)+"/", 4<<20
	}
	blobtest.Run(t, store)
	left, err := filepath.Glob(filepath.Join(dir, store.Prefix, "*", ".~*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left behind: %q, %v", left, err)
	}
}

func create(b blobio.Bucket, key, data string) error {
	w, err := b.Create(context.Background(), key, blobio.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(data)); err != nil {
		return err
	}
	return w.Close()
}

func TestKeysThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := fileblob.Open(dir)
	if err := create(b, "a/b", "data"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "/", "../outside", "a/../../outside", "./a/b", "a//b", "/a/b", "a/", "a", "a/.", "a/b/c",
		"a\x00b", ".~a", "a/.~b", strings.Repeat("n", 300)} {
		_, err := b.Stat(t.Context(), key, blobio.ReadOptions{})
		if blobio.Class(err) != blobio.ErrNotFound {
			t.Errorf("Stat(%q): %v", key, err)
		}
		if err := create(b, key, "x"); blobio.Class(err) != blobio.ErrDenied && blobio.Class(err) != blobio.ErrExists {
			t.Errorf("Create(%q): %v", key, err)
		}
		if err := b.Delete(t.Context(), key, blobio.DeleteOptions{}); blobio.Class(err) != blobio.ErrNotFound {
			t.Errorf("Delete(%q): %v", key, err)
		}
	}
}

// TestEscapedNames: a name that was stored with its escapes in it is found by what it stands for, and a plain
// name goes before it.
func TestEscapedNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a%20b"), []byte("escaped"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := fileblob.Open(dir)
	read := func() string {
		got, _, err := b.ReadSuffix(t.Context(), "a b", 100, blobio.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	if got := read(); got != "escaped" {
		t.Errorf("read %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "a b"), []byte("plain"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "plain" {
		t.Errorf("read %q", got)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := create(fileblob.Open(dir), "x", ""); !errors.Is(err, blobio.ErrDenied) {
		t.Errorf("%v", err)
	}
}

func TestErrorsNameTheURLOnce(t *testing.T) {
	dir := t.TempDir()
	_, err := fileblob.Open(dir).Stat(t.Context(), "no such", blobio.ReadOptions{})
	if err == nil || strings.Count(err.Error(), dir) != 1 || !strings.Contains(err.Error(), "no%20such") {
		t.Errorf("%v", err)
	}
}

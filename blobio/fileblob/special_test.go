//go:build unix

package fileblob_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
)

// TestSpecialFilesAreRefused: a FIFO, at which a plain open would wait for ever, and a device are no objects.
func TestSpecialFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Skipf("no FIFO can be made: %v", err)
	}
	for url, b := range map[string]blobio.Bucket{"fifo": fileblob.Open(dir), "dev/zero": fileblob.Open("/")} {
		_, _, errRead := b.ReadRange(t.Context(), url, 0, make([]byte, 1), blobio.ReadOptions{})
		_, _, errSuffix := b.ReadSuffix(t.Context(), url, 1, blobio.ReadOptions{})
		_, _, errOpen := b.Open(t.Context(), url, 0, blobio.ReadOptions{})
		_, errStat := b.Stat(t.Context(), url, blobio.ReadOptions{})
		for _, err := range []error{errRead, errSuffix, errOpen, errStat} {
			if blobio.Class(err) != blobio.ErrDenied {
				t.Errorf("%s: %v, want %v", url, err, blobio.ErrDenied)
			}
		}
	}
}

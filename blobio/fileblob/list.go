package fileblob

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/shardcat/shardcat/blobio"
)

// walk yields the files below a prefix in the order of their keys.
type walk struct {
	b      *bucket
	ctx    context.Context
	prefix string
	yield  func(blobio.Info, error) bool
}

// folder yields what lies below a folder, given as a key that is empty or ends in '/'. It returns false when
// the walk is over.
func (w *walk) folder(key string) bool {
	if _, err := w.b.path(w.ctx, "list", key+"x"); err != nil {
		w.yield(blobio.Info{}, err)
		return false
	}
	entries, err := os.ReadDir(filepath.Join(w.b.dir, filepath.FromSlash(key)))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	if err != nil {
		w.yield(blobio.Info{}, w.b.fail("list", key, err))
		return false
	}
	slices.SortFunc(entries, func(x, y os.DirEntry) int { return cmp.Compare(sortKey(x), sortKey(y)) })
	for _, e := range entries {
		if !w.entry(key, e) {
			return false
		}
	}
	return true
}

// sortKey puts a folder where the keys below it belong: "a.b" < "a/b".
func sortKey(e os.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

func (w *walk) entry(folder string, e os.DirEntry) bool {
	key := folder + sortKey(e)
	switch {
	case strings.HasPrefix(e.Name(), unfinished):
		return true
	case e.IsDir():
		if !strings.HasPrefix(key, w.prefix) && !strings.HasPrefix(w.prefix, key) {
			return true
		}
		return w.folder(key)
	case !strings.HasPrefix(key, w.prefix):
		return true
	}
	st, err := os.Stat(filepath.Join(w.b.dir, filepath.FromSlash(key)))
	if err != nil || !st.Mode().IsRegular() {
		return true // gone since, or no object
	}
	return w.yield(fileInfo(key, st), nil)
}

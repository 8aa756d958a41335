package fileblob

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shardcat/shardcat/blobio"
)

// Create implements blobio.Bucket.
func (b *bucket) Create(ctx context.Context, key string, _ blobio.CreateOptions) (blobio.Writer, error) {
	path, err := b.path(ctx, "create", key)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, b.fail("create", key, blobio.ErrExists) // early; Close decides
	}
	if err := makeFolders(b.disk, filepath.Dir(path)); err != nil {
		return nil, b.fail("create", key, err)
	}
	f, err := b.disk.Create(path)
	if err != nil {
		return nil, b.fail("create", key, err)
	}
	return &writer{ctx: ctx, b: b, key: key, path: path, f: f}, nil
}

// makeFolders makes what is missing of dir, from the top, and syncs each folder that got a new entry. Another
// process may do the same.
func makeFolders(d disk, dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeFolders(d, parent); err != nil {
			return err
		}
	}
	if err := d.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.SyncDir(parent)
}

type writer struct {
	ctx  context.Context
	b    *bucket
	key  string
	path string
	f    file // nil once closed or aborted
}

func (w *writer) Write(p []byte) (int, error) {
	if err := w.ready(); err != nil {
		return 0, err
	}
	n, err := w.f.Write(p)
	return n, w.b.fail("create", w.key, err)
}

func (w *writer) ready() error {
	if w.f == nil {
		return w.b.fail("create", w.key, blobio.ErrClosed)
	}
	_, err := w.b.path(w.ctx, "create", w.key)
	return err
}

// Close implements blobio.Writer.
func (w *writer) Close() error {
	if err := w.ready(); err != nil {
		w.Abort()
		return err
	}
	defer w.Abort()
	if err := w.f.Sync(); err != nil {
		return w.b.fail("create", w.key, err)
	}
	if err := w.f.Link(); err != nil {
		return w.b.fail("create", w.key, err)
	}
	w.Abort() // the file itself stays
	return w.b.undurable("create", w.key, w.b.disk.SyncDir(filepath.Dir(w.path)))
}

// Abort implements blobio.Writer.
func (w *writer) Abort() {
	if w.f == nil {
		return
	}
	w.f.Discard()
	w.f = nil
}

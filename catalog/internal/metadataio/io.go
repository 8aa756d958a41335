package metadataio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/urlresolve"
)

// Store is a Client with a cache of the files that never change.
type Store struct {
	client *blobio.Client
	cache  *fileCache
	// memory bounds what a file of the table's metadata may take once it is decoded.
	memory int64
}

// NewStore keeps up to cached bytes of files; memory bounds what the metadata of a table may take once it is decoded.
func NewStore(client *blobio.Client, cached int, memory int64) *Store {
	return &Store{client: client, cache: newFileCache(cached), memory: memory}
}

// FS is the IO of one context. All of Iceberg's reads and writes run through blobio, over as many buckets as there are.
func (m *Store) FS(ctx context.Context) (iceio.IO, error) {
	return &storeIO{ctx: ctx, Store: m}, nil
}

// storeIO is a Client as iceberg-go's IO, within one context.
type storeIO struct {
	ctx context.Context
	*Store
}

var (
	_ iceio.ReadFileIO  = (*storeIO)(nil)
	_ iceio.WriteFileIO = (*storeIO)(nil)
)

// CanonicalURL makes one of the ways to write an object's URL: other engines may have stored an alias.
func CanonicalURL(url string) string {
	at, err := urlresolve.Parse(icebergaccess.Canonical(url))
	if err != nil {
		return url
	}
	return at.String()
}

// pathError makes errors.Is(err, fs.ErrNotExist) true where the object is not there. The text stays that of the store, which names operation and object.
func pathError(err error) error {
	if errors.Is(err, blobio.ErrNotFound) {
		return missingFile{err}
	}
	return err
}

// missingFile is an error of a store that is fs.ErrNotExist too.
type missingFile struct{ error }

func (e missingFile) Unwrap() []error { return []error{e.error, fs.ErrNotExist} }

// ReadFile reads a whole file. The result is shared where the file is cached and must not be changed.
func (m *storeIO) ReadFile(name string) ([]byte, error) {
	at := icebergaccess.Canonical(name)
	if b, ok := m.cache.get(at); ok && !nocache.Is(m.ctx) {
		return b, nil
	}
	b, _, err := m.client.ReadAll(m.ctx, at, icebergaccess.MaxFile)
	if err != nil {
		return nil, pathError(err)
	}
	if nocache.Is(m.ctx) {
		m.cache.drop(at) // the copy may be damaged
	}
	if m.keep(at, b) {
		return b, nil
	}
	if _, err := Decompress(at, b, m.memory); err != nil {
		return nil, err
	}
	return b, nil
}

// keep caches a manifest or a manifest list, which is written once and never changed, and reports whether the file is one.
func (m *Store) keep(at string, b []byte) bool {
	avro := strings.HasSuffix(at, ".avro")
	if avro {
		m.cache.put(at, b)
	}
	return avro
}

// Open reads the whole file: all of Iceberg's are read to their end.
func (m *storeIO) Open(name string) (iceio.File, error) {
	b, err := m.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &file{Reader: bytes.NewReader(b), name: path.Base(name)}, nil
}

// Remove deletes a file that its writer knows to be referenced by nothing.
func (m *storeIO) Remove(name string) error {
	if err := m.client.Delete(m.ctx, icebergaccess.Canonical(name), ""); err != nil {
		return pathError(err)
	}
	return nil
}

// Create collects a file, which is put when it is closed.
func (m *storeIO) Create(name string) (iceio.FileWriter, error) {
	return &fileWriter{io: m, name: name}, nil
}

// WriteFile creates a file; an existing file with the same content is no error. It is read back and compared: one
// damaged manifest hides all rows below it.
func (m *storeIO) WriteFile(name string, p []byte) error {
	if err := m.client.PutReadBack(m.ctx, icebergaccess.Canonical(name), p); err != nil {
		return pathError(err)
	}
	m.keep(icebergaccess.Canonical(name), bytes.Clone(p))
	return nil
}

type fileWriter struct {
	io   iceio.WriteFileIO
	name string
	buf  bytes.Buffer
	done bool
}

func (w *fileWriter) Write(p []byte) (int, error) { return w.buf.Write(p) }

func (w *fileWriter) ReadFrom(r io.Reader) (int64, error) { return w.buf.ReadFrom(r) }

func (w *fileWriter) Close() error {
	if w.done {
		return fmt.Errorf("close %s: %w", w.name, fs.ErrClosed)
	}
	w.done = true
	return w.io.WriteFile(w.name, w.buf.Bytes())
}

// file is a file that was read whole.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Close() error               { return nil }
func (f *file) Stat() (fs.FileInfo, error) { return fileInfo{f.name, f.Size()}, nil }

type fileInfo struct {
	name string
	size int64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return 0o444 }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return false }
func (i fileInfo) Sys() any           { return nil }

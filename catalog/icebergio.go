package catalog

import (
	"bytes"
	"cmp"
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
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/shardfmt"
)

// metadataLimit bounds what is read as one metadata file, manifest or manifest list.
const metadataLimit = 256 << 20

// metadataStore is a Client with a cache of the files that never change.
type metadataStore struct {
	client *blobio.Client
	cache  *fileCache
	// memory bounds what a file of the table's metadata may take once it is decoded.
	memory int64
}

// minMetadataMemory is what the metadata of a table may take whatever the memory of scans is: that of some 100,000 values of JSON.
const minMetadataMemory = 64 << 20

// metadataMemory bounds what the metadata of one table may take once they are decoded.
func (o *Options) metadataMemory() int64 {
	return max(minMetadataMemory, cmp.Or(o.MaxMemory, shardfmt.DefaultMaxMemory))
}

// fs is the IO of one context. All of Iceberg's reads and writes run through blobio, over as many buckets as there are.
func (m *metadataStore) fs(ctx context.Context) (iceio.IO, error) {
	return &metadataIO{ctx: ctx, metadataStore: m}, nil
}

// metadataIO is a Client as iceberg-go's IO, within one context.
type metadataIO struct {
	ctx context.Context
	*metadataStore
}

var (
	_ iceio.ReadFileIO  = (*metadataIO)(nil)
	_ iceio.WriteFileIO = (*metadataIO)(nil)
)

// canonical spells a location as blobio takes it: Spark writes file:/x, older clients plain paths.
func canonical(location string) string {
	switch {
	case strings.HasPrefix(location, "/"):
		return "file://" + location
	case strings.HasPrefix(location, "file:/") && !strings.HasPrefix(location, "file://"):
		return "file://" + strings.TrimPrefix(location, "file:")
	}
	return location
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
func (m *metadataIO) ReadFile(name string) ([]byte, error) {
	at := canonical(name)
	if b, ok := m.cache.get(at); ok && !nocache.Is(m.ctx) {
		return b, nil
	}
	b, _, err := m.client.ReadAll(m.ctx, at, metadataLimit)
	if err != nil {
		return nil, pathError(err)
	}
	if nocache.Is(m.ctx) {
		m.cache.drop(at) // the copy may be damaged
	}
	if m.keep(at, b) {
		return b, nil
	}
	if _, err := checkedMetadata(at, b, m.memory); err != nil {
		return nil, err
	}
	return b, nil
}

// keep caches a manifest or a manifest list, which is written once and never changed, and reports whether the file is one.
func (m *metadataStore) keep(at string, b []byte) bool {
	avro := strings.HasSuffix(at, ".avro")
	if avro {
		m.cache.put(at, b)
	}
	return avro
}

// Open reads the whole file: all of Iceberg's are read to their end.
func (m *metadataIO) Open(name string) (iceio.File, error) {
	b, err := m.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &metadataFile{Reader: bytes.NewReader(b), name: path.Base(name)}, nil
}

// Remove deletes a file that its writer knows to be referenced by nothing.
func (m *metadataIO) Remove(name string) error {
	if err := m.client.Delete(m.ctx, canonical(name), ""); err != nil {
		return pathError(err)
	}
	return nil
}

// Create collects a file, which is put when it is closed.
func (m *metadataIO) Create(name string) (iceio.FileWriter, error) {
	return &metadataWriter{io: m, name: name}, nil
}

// WriteFile creates a file; an existing file with the same content is no error. It is read back and compared: one
// damaged manifest hides all rows below it.
func (m *metadataIO) WriteFile(name string, p []byte) error {
	if err := m.client.PutReadBack(m.ctx, canonical(name), p); err != nil {
		return pathError(err)
	}
	m.keep(canonical(name), bytes.Clone(p))
	return nil
}

type metadataWriter struct {
	io   iceio.WriteFileIO
	name string
	buf  bytes.Buffer
	done bool
}

func (w *metadataWriter) Write(p []byte) (int, error) { return w.buf.Write(p) }

func (w *metadataWriter) ReadFrom(r io.Reader) (int64, error) { return w.buf.ReadFrom(r) }

func (w *metadataWriter) Close() error {
	if w.done {
		return fmt.Errorf("close %s: %w", w.name, fs.ErrClosed)
	}
	w.done = true
	return w.io.WriteFile(w.name, w.buf.Bytes())
}

// metadataFile is a file that was read whole.
type metadataFile struct {
	*bytes.Reader
	name string
}

func (f *metadataFile) Close() error               { return nil }
func (f *metadataFile) Stat() (fs.FileInfo, error) { return fileInfo{f.name, f.Size()}, nil }

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

package metadataio

import (
	"context"
	"fmt"
	"slices"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/urlresolve"
)

// confinedIO reads the manifests and lists of one table, from where they may lie. Their locations stand in files that others may have
// written: a request to any bucket would be signed with this process's keys, and any local file could be read.
type confinedIO struct {
	*storeIO
	places []urlresolve.Prefix
}

var _ iceio.ReadFileIO = (*confinedIO)(nil)

// Confine limits reads of fs to places if it is the IO of a Store; any other IO is returned as it is.
func Confine(fs iceio.WriteFileIO, places []urlresolve.Prefix) iceio.WriteFileIO {
	if of, ok := fs.(*storeIO); ok {
		return &confinedIO{of, places}
	}
	return fs
}

// Within is fs with requests that end with ctx, if it is the IO of a table.
func Within(ctx context.Context, fs iceio.WriteFileIO) iceio.WriteFileIO {
	if of, ok := fs.(*confinedIO); ok {
		return &confinedIO{&storeIO{ctx, of.Store}, of.places}
	}
	return fs
}

// Uncached is fs with files as the store holds them, whatever a cache has of them, if it is the IO of a table.
func Uncached(fs iceio.WriteFileIO) iceio.WriteFileIO {
	of, ok := fs.(*confinedIO)
	if !ok {
		return fs
	}
	store := NewStore(of.client.Uncached(), of.cache.limit, of.memory)
	return &confinedIO{&storeIO{of.ctx, store}, of.places}
}

// check refuses a location elsewhere.
func (t *confinedIO) check(name string) error {
	at, err := urlresolve.Parse(CanonicalURL(name))
	if err == nil && slices.ContainsFunc(t.places, func(p urlresolve.Prefix) bool { return p.Holds(at) }) {
		return nil
	}
	return fmt.Errorf("%w: %s is referenced by the table's metadata, but is neither in the warehouse nor next to the metadata file", caterr.ErrUnsafe, urlresolve.Redact(name))
}

// ReadFile implements iceio.ReadFileIO.
func (t *confinedIO) ReadFile(name string) ([]byte, error) {
	if err := t.check(name); err != nil {
		return nil, err
	}
	return t.storeIO.ReadFile(name)
}

// Open implements iceio.IO.
func (t *confinedIO) Open(name string) (iceio.File, error) {
	if err := t.check(name); err != nil {
		return nil, err
	}
	return t.storeIO.Open(name)
}

// ReadAhead lets package manifest read files before they are requested. With a file elsewhere nothing is read ahead: its turn ends in an error.
func (t *confinedIO) ReadAhead(paths []string, sizes []int64) (view iceio.IO, done func()) {
	for _, path := range paths {
		if t.check(path) != nil {
			return t, func() {}
		}
	}
	return t.storeIO.ReadAhead(paths, sizes)
}

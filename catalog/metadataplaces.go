package catalog

import (
	"fmt"
	"slices"
	"strings"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/shardcat/shardcat/urlresolve"
)

// tableIO reads the manifests and lists of one table, from where they may lie. Their locations stand in files that others may have
// written: a request to any bucket would be signed with this process's keys, and any local file could be read.
type tableIO struct {
	*metadataIO
	places []urlresolve.Prefix
}

var _ iceio.ReadFileIO = (*tableIO)(nil)

// metadataPlaces are where the files of a table's metadata may lie: the warehouse, the folder of the metadata file that the catalog
// names and the one around it, and in stores other than the local file system the whole buckets of these and of the vault.
func (c *Catalog) metadataPlaces(metadata string) (places []urlresolve.Prefix) {
	folder := canonicalURL(metadata)
	folder = folder[:strings.LastIndexByte(folder, '/')+1]
	around := strings.TrimSuffix(strings.TrimSuffix(folder, "/"), "/metadata")
	for _, place := range []string{c.warehouse, strings.TrimSuffix(folder, "/"), around, c.vault} {
		if place == "" {
			continue
		}
		at, err := urlresolve.Parse(place + "/")
		switch {
		case err != nil:
			continue
		case at.Scheme != "file":
			places = append(places, urlresolve.Prefix{Scheme: at.Scheme, Bucket: at.Bucket})
			continue
		}
		if p, err := urlresolve.ParsePrefix(place); err == nil {
			places = append(places, p)
		}
	}
	return places
}

// check refuses a location elsewhere.
func (t *tableIO) check(name string) error {
	at, err := urlresolve.Parse(canonicalURL(name))
	if err == nil && slices.ContainsFunc(t.places, func(p urlresolve.Prefix) bool { return p.Holds(at) }) {
		return nil
	}
	return fmt.Errorf("%w: %s is referenced by the table's metadata, but is neither in the warehouse nor next to the metadata file", ErrUnsafe, urlresolve.Redact(name))
}

// ReadFile implements iceio.ReadFileIO.
func (t *tableIO) ReadFile(name string) ([]byte, error) {
	if err := t.check(name); err != nil {
		return nil, err
	}
	return t.metadataIO.ReadFile(name)
}

// Open implements iceio.IO.
func (t *tableIO) Open(name string) (iceio.File, error) {
	if err := t.check(name); err != nil {
		return nil, err
	}
	return t.metadataIO.Open(name)
}

// ReadAhead lets package manifest read files before they are requested. With a file elsewhere nothing is read ahead: its turn ends in an error.
func (t *tableIO) ReadAhead(paths []string, sizes []int64) (view iceio.IO, done func()) {
	for _, path := range paths {
		if t.check(path) != nil {
			return t, func() {}
		}
	}
	return t.metadataIO.ReadAhead(paths, sizes)
}

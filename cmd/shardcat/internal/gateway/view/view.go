package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/vparquet"
	"github.com/shardcat/shardcat/urlresolve"
)

// version is that of the layout of metadata: a change of any byte of any of them is another number.
const version = 1

// Layout is the version of the layouts of metadata and of data files. It is part of the name of every object, and the only one that is served.
var Layout = strconv.Itoa(version) + "." + strconv.Itoa(vparquet.Version)

// Object is what a name of the read endpoint stands for. It never changes. Safe for concurrent use.
type Object interface {
	Size() int64
	// ReadRange fills p with the bytes from off on.
	ReadRange(ctx context.Context, off int64, p []byte) error
	// Memory is how many bytes it takes in a cache.
	Memory() int64
}

// DataFile is a shard as a Parquet file.
type DataFile interface {
	Object
	// Rows counts all rows of the file, deleted ones included.
	Rows() int64
	// RowGroups are the offsets of the row groups, ascending.
	RowGroups() []int64
}

// OpenShard shows an opened shard as a Parquet file. ids are the Iceberg field ids by node number of the shard's schema, 0 for nodes to
// leave out; types gives Iceberg's type of the column of an id as text, "" where the shard's own decides.
type OpenShard func(ctx context.Context, shard *shardfmt.Shard, ids []int, types func(id int) string) (DataFile, error)

// ErrNoObject is a name that stands for nothing.
var ErrNoObject = errors.New("no such object")

// Options of New.
type Options struct {
	Bucket string
	// Key makes the codes in names of objects outside a table's folders.
	Key []byte
	// Open shows shards as Parquet files.
	Open OpenShard
	// CacheBytes bounds what is kept of objects that were made.
	CacheBytes int64
}

// Views are the views of all tables of a catalog. Safe for concurrent use.
type Views struct {
	cat   *catalog.Catalog
	o     Options
	names names
	cache *cache
}

// New makes the views of a catalog.
func New(c *catalog.Catalog, o Options) *Views {
	return &Views{cat: c, o: o, names: names{o.Key}, cache: newCache(o.CacheBytes)}
}

// Cached returns an object of the table with a UUID if it is cached, without reading the table; else nil.
func (v *Views) Cached(uuid, name string) Object { return v.cache.get(uuid + "/" + name) }

// Table is the view of one table as it was when it was loaded. Not for concurrent use.
type Table struct {
	*Views
	t *catalog.Table
	state
}

// Table is the view of a loaded table.
func (v *Views) Table(t *catalog.Table) *Table {
	return &Table{v, t, stateOf(icebergaccess.MetadataOf(t).Schemas(), len(t.Properties()[catalog.AdoptedProperty]) > 0)}
}

// location is the table's location in the view.
func (t *Table) location() string { return "s3://" + t.o.Bucket + "/" + t.t.UUID() }

// metadataFolder is where shardcat keeps the table's metadata.
func (t *Table) metadataFolder() string {
	return strings.TrimSuffix(t.t.Location(), "/") + "/metadata/"
}

// vaultFolder is where the table's shards lie.
func (t *Table) vaultFolder() string { return strings.TrimSuffix(t.t.VaultFolder(), "/") + "/" }

// Folders of names below the table's location.
const (
	metadataFolder = "metadata/"
	listFolder     = metadataFolder + "lists/"
	manifestFolder = metadataFolder + "manifests/"
	dataFolder     = "data/"
	deletesFolder  = "deletes/"
	parquetEnding  = ".parquet"
	dataManifest   = "data"
	deleteManifest = "deletes"
)

// Object makes the object of a name below the table's location.
func (t *Table) Object(ctx context.Context, name string) (Object, error) {
	return t.cache.object(ctx, t.t.UUID()+"/"+name, func(ctx context.Context) (Object, error) { return t.make(ctx, name) })
}

func (t *Table) make(ctx context.Context, name string) (Object, error) {
	folder, layout, rest := splitName(name)
	if folder == metadataFolder {
		return t.metadataFile(ctx, layout, rest)
	}
	before, ok := t.in(layout)
	if !ok {
		return nil, ErrNoObject
	}
	at := &Table{t.Views, t.t, before}
	switch folder {
	case listFolder:
		id, err := strconv.ParseInt(strings.TrimSuffix(rest, ".avro"), 10, 64)
		if err != nil {
			return nil, ErrNoObject
		}
		return at.manifestList(ctx, id)
	case manifestFolder:
		return at.makeManifest(ctx, rest)
	}
	url, ok := at.shardURL(rest)
	switch {
	case !ok:
		return nil, ErrNoObject
	case folder == deletesFolder:
		return at.deletes(ctx, url, 0)
	}
	return at.dataFile(ctx, url, 0)
}

// splitName gives the folder of an object's name, its layout and the rest. Names of other folders are "".
func splitName(name string) (folder, layout, rest string) {
	for _, folder := range []string{listFolder, manifestFolder, metadataFolder, dataFolder, deletesFolder} {
		if rest, ok := strings.CutPrefix(name, folder); ok {
			layout, rest, _ := strings.Cut(rest, "/")
			return folder, layout, rest
		}
	}
	return "", "", ""
}

// metadataFile makes a metadata file. Its schemas are those that it has itself, so its name has no more than the version of the layout.
func (t *Table) metadataFile(ctx context.Context, layout, name string) (Object, error) {
	url, ok := t.names.url(t.metadataFolder(), name)
	if !ok || layout != Layout || !strings.HasSuffix(url, ".metadata.json") {
		return nil, ErrNoObject
	}
	b, err := t.metadata(ctx, url, false)
	if err == nil && strings.HasSuffix(url, ".gz.metadata.json") { // clients go by the name
		b, err = storedGzip(b)
	}
	return blob(b), err
}

func (t *Table) shardURL(name string) (string, bool) {
	name, ok := strings.CutSuffix(name, parquetEnding)
	if !ok {
		return "", false
	}
	return t.names.url(t.vaultFolder(), name)
}

// dataName and deletesName are the names of the files of a shard.
func (t *Table) dataName(url string) string {
	return dataFolder + t.layout + "/" + t.names.name(t.vaultFolder(), url) + parquetEnding
}

func (t *Table) deletesName(url string) string {
	return deletesFolder + t.layout + "/" + t.names.name(t.vaultFolder(), url) + parquetEnding
}

// dataFile opens a shard, whose root has size bytes, 0 if that is not known.
func (t *Table) dataFile(ctx context.Context, url string, size int64) (DataFile, error) {
	shard, err := t.open(ctx, url, size)
	if err != nil {
		return nil, err
	}
	ids, types, err := t.fieldIDs(ctx, shard)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", url, err), shard.Close())
	}
	return t.o.Open(ctx, shard, ids, types)
}

// open opens a shard of the table.
func (t *Table) open(ctx context.Context, url string, size int64) (*shardfmt.Shard, error) {
	allow, err := t.t.Allowed()
	if err != nil {
		return nil, err
	}
	at, err := urlresolve.Parse(url)
	if err != nil || !slices.ContainsFunc(allow, func(p urlresolve.Prefix) bool { return p.Holds(at) }) {
		return nil, ErrNoObject
	}
	return shardfmt.Open(ctx, t.cat.Client(), url, shardfmt.OpenOptions{Size: size, Allow: allow})
}

// fieldIDs are the field ids of a shard's nodes by all schemas that the table had: the file of a shard does not change when a
// column is dropped.
func (t *Table) fieldIDs(ctx context.Context, shard *shardfmt.Shard) (ids []int, types func(int) string, err error) {
	schemas, err := t.t.Schemas()
	if err != nil {
		return nil, nil, err
	}
	var refused error
	for _, s := range schemas {
		if s.Iceberg.ID > t.last() {
			continue
		}
		mapped, err := s.MapShard(ctx, shard)
		if errors.Is(err, manifest.ErrSchema) {
			refused = err // a column has been widened since
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if ids == nil {
			ids = make([]int, len(mapped))
		}
		for i, id := range mapped {
			if ids[i] == 0 {
				ids[i] = id
			}
		}
	}
	if ids == nil {
		return nil, nil, refused
	}
	return ids, func(id int) string { return typeOf(t.schemas, id) }, nil
}

// snapshot finds a snapshot of the table.
func (t *Table) snapshot(id int64) (*table.Snapshot, error) {
	if s := icebergaccess.MetadataOf(t.t).SnapshotByID(id); s != nil {
		return s, nil
	}
	return nil, ErrNoObject
}

// blob is an object whose bytes are in memory.
type blob []byte

func (b blob) Size() int64   { return int64(len(b)) }
func (b blob) Memory() int64 { return int64(len(b)) }

func (b blob) ReadRange(_ context.Context, off int64, p []byte) error {
	_, err := bytes.NewReader(b).ReadAt(p, off)
	return err
}

// readWhole reads an object of the table's metadata.
func (t *Table) readWhole(ctx context.Context, url string) ([]byte, error) {
	b, _, err := t.cat.Client().ReadAll(ctx, icebergaccess.Canonical(url), icebergaccess.MaxFile)
	if errors.Is(err, blobio.ErrNotFound) {
		return nil, ErrNoObject
	}
	return b, err
}

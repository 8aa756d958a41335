package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/catalog/internal/sqlcat"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Table is a table as it was when it was loaded (or last refreshed, or committed to). Not for concurrent use;
// load it once per goroutine.
type Table struct {
	cat    *Catalog
	name   Name
	ice    *table.Table
	fs     io.WriteFileIO
	schema *manifest.TableSchema
	// properties are those of ice, with the names that columns have in schema.
	properties iceberg.Properties
	// creation is not nil as long as the table is not in the catalog.
	creation *creation
}

// Load loads a table by name; ErrNotFound names the closest tables there are.
func (c *Catalog) Load(ctx context.Context, name Name) (*Table, error) {
	ice, err := c.ice.LoadTable(ctx, name.identifier())
	if err != nil {
		return nil, c.notFound(ctx, name, translate(err))
	}
	t := &Table{cat: c, name: name}
	return t, t.set(ctx, ice)
}

// LoadToAppend is Load for an append: a state that this process has loaded, or committed, before is taken from memory if it is still the table's.
// A commit is made on such a state in any case. Whoever reads, verifies or collects wants what the files hold.
func (c *Catalog) LoadToAppend(ctx context.Context, name Name) (*Table, error) {
	own, ok := c.ice.(*sqlcat.Tables)
	if !ok {
		return c.Load(ctx, name)
	}
	ice, err := own.Base(ctx, name.identifier())
	if err != nil {
		return nil, c.notFound(ctx, name, translate(err))
	}
	t := &Table{cat: c, name: name}
	return t, t.set(ctx, own.Keep(name.identifier(), ice))
}

// set takes over a loaded state of the table.
func (t *Table) set(ctx context.Context, ice *table.Table) error {
	if t.creation == nil {
		t.cat.met.add(t.name.Namespace)
	}
	fs, err := ice.FS(context.WithoutCancel(ctx)) // the state outlives the call that loaded it: another one may end by its deadline
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	writable, ok := fs.(io.WriteFileIO)
	if !ok {
		return fmt.Errorf("table %s: its location %s can't be written", t.name, ice.Location())
	}
	var notes manifest.TypeNotes
	if err := notes.Decode(ice.Properties()[manifest.TypesProperty]); err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	writable = metadataio.Confine(writable, t.cat.metadataPlaces(ice.MetadataLocation()))
	var names manifest.AdoptedNames
	if err := names.Decode(ice.Properties()[adoptedNamesProperty]); err != nil {
		return fmt.Errorf("table %s: property %s: %w", t.name, adoptedNamesProperty, err)
	}
	t.ice, t.fs, t.schema = ice, writable, manifest.NewTableSchema(ice.Schema(), notes)
	t.schema.Names = names
	t.properties = currentNames(ice.Properties(), t.schema)
	return nil
}

// within is the table with manifests and lists read and written within one call: what ends it ends its requests.
func (t *Table) within(ctx context.Context) *Table {
	view := *t
	view.fs = metadataio.Within(ctx, t.fs)
	return &view
}

// uncached is the table with manifests and lists as the store holds them, whatever a cache has of them.
func (t *Table) uncached() *Table {
	view := *t
	view.fs = metadataio.Uncached(t.fs)
	return &view
}

// manifests reads the manifest list of a snapshot.
func (t *Table) manifests(s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	files, err := manifest.Manifests(t.fs, t.ice.Metadata().Version(), s)
	return files, corrupt.Locate(err, t.MetadataLocation(), 0)
}

// Version names the state of a table in the catalog: it is another one after each commit. Where the catalog can tell it without the table's
// metadata, as SQL catalogs can, nothing else is read.
func (c *Catalog) Version(ctx context.Context, name Name) (string, error) {
	if own, ok := c.ice.(*sqlcat.Tables); ok {
		at, err := own.Location(ctx, name.identifier())
		return at, translate(err)
	}
	t, err := c.Load(ctx, name)
	if err != nil {
		return "", err
	}
	return t.Version(), nil
}

// Version names the table's state as it was loaded, see Catalog.Version.
func (t *Table) Version() string { return t.ice.MetadataLocation() }

// Refresh loads the table's current state. A table that was dropped and made again under its name is
// ErrConflict.
func (t *Table) Refresh(ctx context.Context) error {
	ice, err := t.cat.ice.LoadTable(ctx, t.name.identifier())
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, translate(err))
	}
	if was, is := t.ice.Metadata().TableUUID(), ice.Metadata().TableUUID(); was != is {
		return fmt.Errorf("%w: table %s was dropped and created again", ErrConflict, t.name)
	}
	return t.set(ctx, ice)
}

// refreshMoved is Refresh of a change of metadata alone: in an SQL catalog the file is not read again that the table was loaded from. It never
// changes, and the commit is refused if the table names another one by then.
func (t *Table) refreshMoved(ctx context.Context) error {
	if own, ok := t.cat.ice.(*sqlcat.Tables); ok {
		if at, err := own.Location(ctx, t.name.identifier()); err == nil && at == t.MetadataLocation() {
			return nil
		}
	}
	return t.Refresh(ctx)
}

// Name of the table.
func (t *Table) Name() Name { return t.name }

// UUID of the table, under which its vault folder lies.
func (t *Table) UUID() string { return t.ice.Metadata().TableUUID().String() }

// Schema is the schema of shards written to the table. It must not be changed.
func (t *Table) Schema() *schema.Schema { return t.schema.Shard }

// FieldIDs are the Iceberg field ids of the schema's nodes, by node number.
func (t *Table) FieldIDs() []int { return slices.Clone(t.schema.IDs) }

// Properties of the table, which name columns as they are called now.
func (t *Table) Properties() map[string]string { return t.properties }

// Location of the table's Iceberg metadata.
func (t *Table) Location() string { return t.ice.Location() }

// MetadataLocation is the current metadata file.
func (t *Table) MetadataLocation() string { return t.ice.MetadataLocation() }

// Catalog that the table was loaded from.
func (t *Table) Catalog() *Catalog { return t.cat }

// Namespaces lists the namespaces, sorted. A catalog that refuses to list those in any other has one level of them.
func (c *Catalog) Namespaces(ctx context.Context) ([]string, error) {
	var out []string
	var oneLevel error
	levels := false
	queue := [][]string{nil}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		found, err := c.ice.ListNamespaces(ctx, parent)
		if len(parent) == 1 && (errors.Is(err, rest.ErrBadRequest) || errors.Is(err, iceberg.ErrNotImplemented)) {
			oneLevel = err
			continue
		}
		if err != nil {
			return nil, translate(err)
		}
		levels = levels || len(parent) > 0
		for _, ns := range found {
			if name := join(ns); len(ns) > len(parent) && !slices.Contains(out, name) {
				out = append(out, name)
				queue = append(queue, ns)
			}
		}
	}
	if oneLevel != nil && levels {
		return nil, translate(oneLevel)
	}
	slices.Sort(out)
	return out, nil
}

// metNamespaces are the namespaces in which a table was loaded.
type metNamespaces struct {
	sync.Mutex
	names map[string]bool
}

func (m *metNamespaces) add(name string) {
	m.Lock()
	defer m.Unlock()
	if m.names == nil {
		m.names = map[string]bool{}
	}
	m.names[name] = true
}

// missing are those that a list lacks.
func (m *metNamespaces) missing(list []string) (out []string) {
	m.Lock()
	defer m.Unlock()
	for name := range m.names {
		if !slices.Contains(list, name) {
			out = append(out, name)
		}
	}
	return out
}

func (m *metNamespaces) forget(name string) {
	m.Lock()
	defer m.Unlock()
	delete(m.names, name)
}

// allTables lists the tables of all namespaces for what hangs on their completeness: a list that lacks a namespace which is there is an error. Some
// catalogs list no namespaces, none in others, or those alone that the caller may see.
func (c *Catalog) allTables(ctx context.Context) ([]Name, error) {
	namespaces, err := c.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range c.met.missing(namespaces) {
		exists, err := c.ice.CheckNamespaceExists(ctx, Name{Namespace: name}.namespace())
		if err != nil {
			return nil, translate(err)
		}
		if exists {
			return nil, fmt.Errorf("the catalog's list of namespaces lacks %s, which exists: tables may be missing from listings", name)
		}
		c.met.forget(name)
	}
	return c.tablesIn(ctx, namespaces)
}

// Tables lists the tables of a namespace, or of all namespaces if it is empty, sorted by name.
func (c *Catalog) Tables(ctx context.Context, namespace string) ([]Name, error) {
	namespaces := []string{namespace}
	if namespace == "" {
		var err error
		if namespaces, err = c.Namespaces(ctx); err != nil {
			return nil, err
		}
	}
	return c.tablesIn(ctx, namespaces)
}

func (c *Catalog) tablesIn(ctx context.Context, namespaces []string) ([]Name, error) {
	var out []Name
	for _, ns := range namespaces {
		for ident, err := range c.ice.ListTables(ctx, Name{Namespace: ns}.namespace()) {
			if err != nil {
				return nil, translate(err)
			}
			n := Name{join(icecatalog.NamespaceFromIdent(ident)), icecatalog.TableNameFromIdent(ident)}
			if n.Namespace == ns {
				out = append(out, n)
			}
		}
	}
	slices.SortFunc(out, func(a, b Name) int { return slices.Compare(a.identifier(), b.identifier()) })
	return out, nil
}

// CreateNamespace makes a namespace, and those above it where the catalog wants them to be there; an existing namespace is no
// error.
func (c *Catalog) CreateNamespace(ctx context.Context, namespace string) error {
	ident, err := namespaceOf(namespace)
	if err == nil {
		err = c.besideTheVault(ident)
	}
	if err != nil {
		return err
	}
	exists, err := c.ice.CheckNamespaceExists(ctx, ident)
	if err != nil || exists {
		return translate(err)
	}
	err = c.ice.CreateNamespace(ctx, ident, nil)
	if errors.Is(err, icecatalog.ErrNoSuchNamespace) && len(ident) > 1 {
		if err := c.CreateNamespace(ctx, join(ident[:len(ident)-1])); err != nil {
			return err
		}
		err = c.ice.CreateNamespace(ctx, ident, nil)
	}
	switch {
	case errors.Is(err, icecatalog.ErrNamespaceAlreadyExists):
		return nil
	case err != nil:
		return fmt.Errorf("creating namespace %s: %w; create it with sufficient rights: shardcat namespace create %s", namespace, translate(err), namespace)
	}
	return nil
}

// notFound adds to ErrNotFound what the caller may have meant.
func (c *Catalog) notFound(ctx context.Context, name Name, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("table %s: %w", name, err)
	}
	there, listErr := c.Tables(ctx, "")
	if listErr != nil || len(there) == 0 {
		return fmt.Errorf("table %s: %w", name, ErrNotFound)
	}
	near := suggestNames(name.String(), there)
	return fmt.Errorf("table %s: %w; available: %s", name, ErrNotFound, near)
}

// Head is the current snapshot of main, 0 for a table that has none yet.
func (t *Table) Head() int64 { return t.head("") }

// metadataPlaces are where the files of a table's metadata may lie: the warehouse, the folder of the metadata file that the catalog
// names and the one around it, and in stores other than the local file system the whole buckets of these and of the vault.
func (c *Catalog) metadataPlaces(metadata string) (places []urlresolve.Prefix) {
	folder := metadataio.CanonicalURL(metadata)
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

package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Collection sweeps the vault folder and the metadata folder of one table. The files there are that table's alone only
// as long as no other table of the catalog has its UUID (a metadata file that was registered under a second name) or
// its location, so every collection compares the table with all others.

// registeredTable is what a table of the catalog shares with others, if anything: folders and its UUID.
type registeredTable struct {
	// name with its namespace, and with the name of the catalog where the database holds several.
	name string
	// metadata is the location of the current metadata file.
	metadata string
	uuid     string
	location string
	// written is the property write.metadata.path, adopted the property shardcat.adopted.
	written string
	adopted []string
}

// tableIDs are the members of a metadata file that a registeredTable consists of.
type tableIDs struct {
	UUID       string            `json:"table-uuid"`
	Location   string            `json:"location"`
	Properties map[string]string `json:"properties"`
}

// registeredTables caches the members of metadata files, which never change, by their locations.
type registeredTables struct {
	sync.Mutex
	byMetadata map[string]registeredTable
	// loaded is the last listing of a catalog that only reports a table's metadata by loading it.
	loaded []registeredTable
	at     time.Time
}

// A listing that loads every table is used again for a minute where the catalog is large: a collection of each of
// 2,000 tables would load four million.
const (
	loadedListing = time.Minute
	smallCatalog  = 100
	// listWorkers is how many tables are loaded side by side.
	listWorkers = 16
)

// registered lists the tables of the catalog. In an SQL database the query covers the tables of all catalogs that it holds. A
// table without a readable metadata file is listed by its name and the location of that file alone.
func (c *Catalog) registered(ctx context.Context) ([]registeredTable, error) {
	if c.sql != nil {
		rows, err := c.sql.Rows(ctx)
		if err != nil {
			return nil, err
		}
		out := make([]registeredTable, len(rows))
		for i, r := range rows {
			out[i] = registeredTable{name: Name{r.Namespace, r.Table}.String(), metadata: r.Metadata}
			if r.Catalog != CatalogName {
				out[i].name = r.Catalog + ":" + out[i].name
			}
		}
		return c.registeredAt(ctx, out)
	}
	if loaded := c.known.fresh(); loaded != nil {
		return loaded, nil
	}
	begun := time.Now()
	out, err := c.registeredNow(ctx)
	if err != nil {
		return nil, err
	}
	c.known.Lock()
	defer c.known.Unlock()
	c.known.loaded, c.known.at = out, begun
	return out, nil
}

// registeredNow is registered with no listing of before, for a deletion that nothing takes back. A catalog that reports a table as missing which it lists
// is requested again, for some seconds: a failover may show none. What is still missing then is left out: some catalogs
// list tables of other formats, which they do not load.
func (c *Catalog) registeredNow(ctx context.Context) ([]registeredTable, error) {
	if c.sql != nil {
		return c.registered(ctx)
	}
	for n := 1; ; n++ {
		out, missing, err := c.loadRegistered(ctx)
		if err != nil || len(missing) == 0 || n > maxReloads {
			return out, err
		}
		if err := backoff.Wait(ctx, missingPause); err != nil {
			return nil, err
		}
	}
}

// missingPause is the pause before tables are loaded again that the catalog lists and reports as missing; a variable for tests.
var missingPause = time.Second

// loadRegistered lists the tables of a catalog by loading each; missing are those that it lists and does not load.
func (c *Catalog) loadRegistered(ctx context.Context) (out []registeredTable, missing []Name, err error) {
	names, err := c.allTables(ctx)
	if err != nil {
		return nil, nil, err
	}
	out = make([]registeredTable, len(names))
	err = c.metadata.EachUpTo(ctx, listWorkers, len(names), func(ctx context.Context, _ *blobio.Client, i int) error {
		ice, err := c.ice.LoadTable(ctx, names[i].identifier())
		if errors.Is(err, icecatalog.ErrNoSuchTable) {
			return nil // dropped since it was listed
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", names[i], translate(err))
		}
		md := ice.Metadata()
		out[i] = tableIDs{md.TableUUID().String(), md.Location(), md.Properties()}.of(names[i].String(), ice.MetadataLocation())
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range out {
		if out[i].name == "" {
			missing = append(missing, names[i])
		}
	}
	return slices.DeleteFunc(out, func(r registeredTable) bool { return r.name == "" }), missing, nil
}

// fresh is the last listing that loaded every table, nil if another one is due.
func (k *registeredTables) fresh() []registeredTable {
	k.Lock()
	defer k.Unlock()
	if len(k.loaded) > smallCatalog && time.Since(k.at) < loadedListing {
		return k.loaded
	}
	return nil
}

// registeredAt reads the metadata files of tables that are known by name and location. Files that were read before are
// not read again.
func (c *Catalog) registeredAt(ctx context.Context, rows []registeredTable) ([]registeredTable, error) {
	c.known.Lock()
	before := c.known.byMetadata
	c.known.Unlock()
	known := make(map[string]registeredTable, len(rows))
	var mu sync.Mutex
	err := c.metadata.EachUpTo(ctx, listWorkers, len(rows), func(ctx context.Context, _ *blobio.Client, i int) error {
		r, ok := before[rows[i].metadata]
		if !ok {
			ids, err := c.readIDs(ctx, rows[i].metadata)
			gone := false
			if errors.Is(err, blobio.ErrNotFound) {
				if gone, err = isGone(ctx, c.metadata.Uncached(), icebergaccess.Canonical(rows[i].metadata)); !gone && err == nil {
					ids, err = c.readIDs(ctx, rows[i].metadata)
				}
			}
			switch {
			case gone, errors.Is(err, corrupt.ErrCorrupt):
				return nil // there is no such table any more that anything could be lost of, but see sharesFiles
			case err != nil:
				return fmt.Errorf("table %s: %w", rows[i].name, err)
			}
			r = ids.of(rows[i].name, rows[i].metadata)
		}
		r.name = rows[i].name
		rows[i] = r
		mu.Lock()
		defer mu.Unlock()
		known[r.metadata] = r
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.known.Lock()
	defer c.known.Unlock()
	c.known.byMetadata = known
	return rows, nil
}

func (ids tableIDs) of(name, metadata string) registeredTable {
	r := registeredTable{name: name, metadata: metadata, uuid: strings.ToLower(ids.UUID), location: ids.Location,
		written: ids.Properties[table.WriteMetadataPathKey]}
	if adopted, err := parseAdopted(ids.Properties[AdoptedProperty]); err == nil {
		r.adopted = adopted
	}
	return r
}

// readIDs reads the members of a metadata file.
func (c *Catalog) readIDs(ctx context.Context, at string) (ids tableIDs, err error) {
	text, _, err := c.metadata.ReadAll(ctx, icebergaccess.Canonical(at), icebergaccess.MaxFile)
	if err != nil {
		return ids, err
	}
	if text, err = metadataio.Decompress(at, text, c.opts.metadataMemory()); err == nil {
		err = json.Unmarshal(text, &ids)
	}
	if err != nil {
		return ids, corrupt.Locate(corrupt.At(-1, "not a metadata file of Iceberg: %v", err), at, 0)
	}
	return ids, nil
}

// realFolder spells a folder in one way, with a trailing slash: aliases of schemes, doubled slashes and, on a local file
// system, symbolic links are resolved.
func realFolder(url string) string {
	url = strings.TrimRight(metadataio.CanonicalURL(strings.TrimRight(url, "/")), "/")
	path, local := strings.CutPrefix(url, "file://")
	if !local {
		scheme, rest, _ := strings.Cut(url, "://")
		return scheme + "://" + strings.Join(strings.FieldsFunc(rest, func(r rune) bool { return r == '/' }), "/") + "/"
	}
	path = filepath.Clean(path)
	missing := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return "file://" + strings.TrimRight(filepath.Join(real, missing), "/") + "/"
		}
		if at == filepath.Dir(at) {
			return "file://" + path + "/"
		}
		missing = filepath.Join(filepath.Base(at), missing)
	}
}

// sharesFiles refuses to sweep the folders of a table that another table of the catalog has a part in.
func (t *Table) sharesFiles(ctx context.Context) error {
	return t.sharesFilesWith(ctx, t.name.String(), t.cat.registered)
}

// sharesFilesWith compares a table with all of a listing but the one of a name, which is the table itself; "" for none.
func (t *Table) sharesFilesWith(ctx context.Context, self string, list func(context.Context) ([]registeredTable, error)) error {
	all, err := list(ctx)
	if err != nil {
		return fmt.Errorf("table %s: the other tables of the catalog can't be read, so nothing is collected: %w", t.name, err)
	}
	vault, metadata := realFolder(t.VaultFolder()), realFolder(t.metadataFolder())
	for _, other := range all {
		if other.name == self {
			continue
		}
		if with := other.sharing(t, vault, metadata); with != "" {
			return fmt.Errorf("%w: table %s: table %s of the catalog %s too, and collection would delete its files; drop one of the two names, or give the other table files of its own, then collect",
				ErrUnsafe, t.name, other.name, with)
		}
	}
	return nil
}

// sharing names what another table has in common with t, "" for nothing. vault and metadata are t's folders.
func (r *registeredTable) sharing(t *Table, vault, metadata string) string {
	if r.uuid == t.UUID() {
		return "has the UUID " + r.uuid
	}
	if slash := strings.LastIndexByte(r.metadata, '/'); slash > 0 && realFolder(r.metadata[:slash]) == metadata {
		return "has its metadata in " + metadata
	}
	if r.uuid == "" {
		return ""
	}
	if realFolder(strings.TrimSuffix(r.location, "/")+"/metadata") == metadata {
		return "has the location " + t.Location()
	}
	if r.written != "" && realFolder(r.written) == metadata {
		return "has its metadata in " + metadata
	}
	if realFolder(t.cat.vaultFolder(r.uuid)) == vault {
		return "has the vault folder " + vault
	}
	for _, folder := range r.adopted {
		if real := realFolder(folder); strings.HasPrefix(real, vault) || strings.HasPrefix(vault, real) {
			return "has adopted the folder " + folder
		}
	}
	return ""
}

// checkMetadataFiles refuses to sweep a metadata folder in which a metadata file names another table's UUID.
func (c *collector) checkMetadataFiles(ctx context.Context) error {
	t := c.table
	var files []blobio.Info
	for _, info := range c.listed {
		_, checksum := checksummed(info.URL)
		if name, ok := strings.CutPrefix(info.URL, t.metadataFolder()); ok && !checksum && !strings.Contains(name, "/") &&
			strings.Contains(name, ".metadata.json") {
			files = append(files, info)
		}
	}
	ahead, err := c.aheadOf(ctx, files)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	if ahead != "" {
		return fmt.Errorf("%w: table %s: its folder has a later state than the catalog (%s after %s), so the catalog is an old copy and collection would delete what the later state needs; run shardcat table recover --all",
			ErrUnsafe, t.name, path.Base(ahead), path.Base(t.MetadataLocation()))
	}
	uuid := t.UUID()
	return t.cat.metadata.EachUpTo(ctx, listWorkers, len(files), func(ctx context.Context, _ *blobio.Client, i int) error {
		is, err := t.cat.uuidOf(ctx, files[i])
		if errors.Is(err, blobio.ErrNotFound) {
			if gone, goneErr := isGone(ctx, t.cat.metadata.Uncached(), files[i].URL); gone || goneErr != nil {
				return goneErr // gone since it was listed
			}
		}
		switch {
		case err != nil:
			return fmt.Errorf("table %s: %s: its table can't be determined, so nothing is collected; move the file elsewhere if nothing needs it: %w", t.name, files[i].URL, err)
		case is != "" && is != uuid:
			return fmt.Errorf("%w: table %s: %s is a metadata file of table %s, whose files collection would delete; give one of the two tables another location",
				ErrUnsafe, t.name, files[i].URL, is)
		}
		return nil
	})
}

// idsHead is how much of a metadata file is read for its UUID, which writers put near the start.
const idsHead = 4 << 10

// uuidOf is the UUID in a metadata file, "" if it has none, as files of version 1 may.
func (c *Catalog) uuidOf(ctx context.Context, info blobio.Info) (string, error) {
	head := make([]byte, min(info.Size, idsHead))
	if _, err := c.metadata.ReadRange(ctx, info.URL, 0, head); err != nil {
		return "", err
	}
	if uuid := uuidIn(head); uuid != "" {
		return uuid, nil
	}
	ids, err := c.readIDs(ctx, info.URL)
	return strings.ToLower(ids.UUID), err
}

// uuidIn finds the member table-uuid of the JSON object that a text begins with, "" if it is not there.
func uuidIn(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	for {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return ""
		}
		if key == "table-uuid" {
			var uuid string
			if json.Unmarshal(value, &uuid) != nil {
				return ""
			}
			return strings.ToLower(uuid)
		}
	}
}

// members of a metadata file and of its snapshots that Iceberg's specification knows, up to version 3.
var (
	metadataMembers = setOf("format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms", "last-column-id",
		"schema", "schemas", "current-schema-id", "partition-spec", "partition-specs", "default-spec-id", "last-partition-id",
		"properties", "current-snapshot-id", "snapshots", "snapshot-log", "metadata-log", "sort-orders", "default-sort-order-id",
		"refs", "statistics", "partition-statistics", "next-row-id", "row-lineage", "encryption-keys")
	snapshotMembers = setOf("snapshot-id", "parent-snapshot-id", "sequence-number", "timestamp-ms", "manifest-list", "manifests",
		"summary", "schema-id", "first-row-id", "added-rows", "key-id")
)

func setOf(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// checkMembers refuses a metadata file with a member that the specification does not have: it may refer to files, or be
// the damaged name of one that does.
func (t *Table) checkMembers(ctx context.Context) error {
	at := t.MetadataLocation()
	text, _, err := t.cat.metadata.ReadAll(ctx, icebergaccess.Canonical(at), icebergaccess.MaxFile)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	var members map[string]json.RawMessage
	var snapshots []map[string]json.RawMessage
	if text, err = metadataio.Decompress(at, text, t.cat.opts.metadataMemory()); err == nil {
		err = json.Unmarshal(text, &members)
	}
	if err == nil && members["snapshots"] != nil {
		err = json.Unmarshal(members["snapshots"], &snapshots)
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, corrupt.Locate(corrupt.At(-1, "not a metadata file of Iceberg: %v", err), at, 0))
	}
	odd := unknownMember(members, metadataMembers)
	for _, s := range snapshots {
		if odd == "" {
			odd = unknownMember(s, snapshotMembers)
		}
	}
	if odd != "" {
		return fmt.Errorf("table %s: %w", t.name, corrupt.Locate(corrupt.Unsupported(-1,
			"it has the member %q, which is not in the Iceberg specification: its references can't be determined, so nothing is collected", odd), at, 0))
	}
	return nil
}

func unknownMember(members map[string]json.RawMessage, known map[string]bool) string {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !known[name] {
			return name
		}
	}
	return ""
}

package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Collection sweeps the vault folder and the metadata folder of one table. The files there are that table's alone only
// as long as no other table of the catalog has its UUID (a metadata file that was registered under a second name) or
// its location, so every collection compares the table with all others.

// tableIDs are the members of a metadata file that a gc.Registered consists of.
type tableIDs struct {
	UUID       string            `json:"table-uuid"`
	Location   string            `json:"location"`
	Properties map[string]string `json:"properties"`
}

// registeredTables caches the members of metadata files, which never change, by their locations.
type registeredTables struct {
	sync.Mutex
	byMetadata map[string]gc.Registered
	// loaded is the last listing of a catalog that only reports a table's metadata by loading it.
	loaded []gc.Registered
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
func (c *Catalog) registered(ctx context.Context) ([]gc.Registered, error) {
	if c.sql != nil {
		rows, err := c.sql.Rows(ctx)
		if err != nil {
			return nil, err
		}
		out := make([]gc.Registered, len(rows))
		for i, r := range rows {
			out[i] = gc.Registered{Name: Name{r.Namespace, r.Table}.String(), Metadata: r.Metadata}
			if r.Catalog != CatalogName {
				out[i].Name = r.Catalog + ":" + out[i].Name
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

// registeredNow is registered with no listing of before, for a deletion that nothing takes back.
func (c *Catalog) registeredNow(ctx context.Context) (out []gc.Registered, err error) {
	if c.sql != nil {
		return c.registered(ctx)
	}
	err = whileMissing(ctx, func() (missing bool, err error) {
		out, missing, err = c.loadRegistered(ctx)
		return missing, err
	})
	return out, err
}

// whileMissing repeats a look at a catalog that reports tables as missing which it lists, for some seconds: a failover may show none. What is still missing
// then is left out: some catalogs list tables of other formats, which they do not load.
func whileMissing(ctx context.Context, look func() (missing bool, err error)) error {
	for n := 1; ; n++ {
		missing, err := look()
		if err != nil || !missing || n > maxReloads {
			return err
		}
		if err := backoff.Wait(ctx, missingPause); err != nil {
			return err
		}
	}
}

// missingPause is the pause before tables are loaded again that the catalog lists and reports as missing; a variable for tests.
var missingPause = time.Second

// loadRegistered lists the tables of a catalog by loading each; missing: there are some that it lists and does not load.
func (c *Catalog) loadRegistered(ctx context.Context) (out []gc.Registered, missing bool, err error) {
	names, err := c.allTables(ctx)
	if err != nil {
		return nil, false, err
	}
	out = make([]gc.Registered, len(names))
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
		return nil, false, err
	}
	out = slices.DeleteFunc(out, func(r gc.Registered) bool { return r.Name == "" })
	return out, len(out) < len(names), nil
}

// fresh is the last listing that loaded every table, nil if another one is due.
func (k *registeredTables) fresh() []gc.Registered {
	k.Lock()
	defer k.Unlock()
	if len(k.loaded) > smallCatalog && time.Since(k.at) < loadedListing {
		return k.loaded
	}
	return nil
}

// registeredAt reads the metadata files of tables that are known by name and location. Files that were read before are
// not read again.
func (c *Catalog) registeredAt(ctx context.Context, rows []gc.Registered) ([]gc.Registered, error) {
	c.known.Lock()
	before := c.known.byMetadata
	c.known.Unlock()
	known := make(map[string]gc.Registered, len(rows))
	var mu sync.Mutex
	err := c.metadata.EachUpTo(ctx, listWorkers, len(rows), func(ctx context.Context, _ *blobio.Client, i int) error {
		r, ok := before[rows[i].Metadata]
		if !ok {
			ids, err := c.readIDs(ctx, rows[i].Metadata)
			gone := false
			if errors.Is(err, blobio.ErrNotFound) {
				if gone, err = isGone(ctx, c.metadata.Uncached(), icebergaccess.Canonical(rows[i].Metadata)); !gone && err == nil {
					ids, err = c.readIDs(ctx, rows[i].Metadata)
				}
			}
			switch {
			case gone, errors.Is(err, corrupt.ErrCorrupt):
				return nil // there is no such table any more that anything could be lost of, but see sharesFiles
			case err != nil:
				return fmt.Errorf("table %s: %w", rows[i].Name, err)
			}
			r = ids.of(rows[i].Name, rows[i].Metadata)
		}
		r.Name = rows[i].Name
		rows[i] = r
		mu.Lock()
		defer mu.Unlock()
		known[r.Metadata] = r
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

func (ids tableIDs) of(name, metadata string) gc.Registered {
	r := gc.Registered{Name: name, Metadata: metadata, UUID: strings.ToLower(ids.UUID), Location: ids.Location,
		Written: ids.Properties[table.WriteMetadataPathKey]}
	if adopted, err := parseAdopted(ids.Properties[AdoptedProperty]); err == nil {
		r.Adopted = adopted
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

// sharesFiles refuses to sweep the folders of a table that another table of the catalog has a part in.
func (t *Table) sharesFiles(ctx context.Context) error {
	return t.sharesFilesWith(ctx, t.name.String(), t.cat.registered)
}

// sharesFilesWith compares a table with all of a listing but the one of a name, which is the table itself; "" for none.
func (t *Table) sharesFilesWith(ctx context.Context, self string, list func(context.Context) ([]gc.Registered, error)) error {
	all, err := list(ctx)
	if err != nil {
		return fmt.Errorf("table %s: the other tables of the catalog can't be read, so nothing is collected: %w", t.name, err)
	}
	own := &gc.Swept{UUID: t.UUID(), Location: t.Location(), Vault: gc.RealFolder(t.VaultFolder()), Metadata: gc.RealFolder(t.metadataFolder()),
		VaultOf: t.cat.vaultFolder}
	for _, other := range all {
		if other.Name == self {
			continue
		}
		if with := other.Sharing(own); with != "" {
			return fmt.Errorf("%w: table %s: table %s of the catalog %s too, and collection would delete its files; drop one of the two names, or give the other table files of its own, then collect",
				ErrUnsafe, t.name, other.Name, with)
		}
	}
	return nil
}

// checkMetadataFiles refuses to sweep a metadata folder in which a metadata file names another table's UUID.
func (c *collector) checkMetadataFiles(ctx context.Context) error {
	t := c.table
	var files []blobio.Info
	for _, info := range c.listed {
		_, checksum := gc.Checksummed(info.URL)
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
	if uuid := gc.UUIDIn(head); uuid != "" {
		return uuid, nil
	}
	ids, err := c.readIDs(ctx, info.URL)
	return strings.ToLower(ids.UUID), err
}

// checkMembers refuses a metadata file with a member that the specification does not have: it may refer to files, or be
// the damaged name of one that does.
func (t *Table) checkMembers(ctx context.Context) error {
	at := t.MetadataLocation()
	text, _, err := t.cat.metadata.ReadAll(ctx, icebergaccess.Canonical(at), icebergaccess.MaxFile)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	odd := ""
	if text, err = metadataio.Decompress(at, text, t.cat.opts.metadataMemory()); err == nil {
		odd, err = gc.UnknownMember(text)
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, corrupt.Locate(corrupt.At(-1, "not a metadata file of Iceberg: %v", err), at, 0))
	}
	if odd != "" {
		return fmt.Errorf("table %s: %w", t.name, corrupt.Locate(corrupt.Unsupported(-1,
			"it has the member %q, which is not in the Iceberg specification: its references can't be determined, so nothing is collected", odd), at, 0))
	}
	return nil
}

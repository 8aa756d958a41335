package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// dropped is the content of _dropped.json.
type dropped struct {
	Version   int       `json:"version"`
	Table     string    `json:"table"`
	TableUUID string    `json:"table_uuid"`
	Metadata  string    `json:"metadata"`
	Dropped   time.Time `json:"dropped"`
}

// droppedName is the record of a drop, in the vault folder of the table.
const droppedName = "_dropped.json"

// Drop takes a table out of the catalog. Its shards and metadata stay, until collection finds the record of
// the drop to be old enough; the record names the metadata file, by which the table can be brought back (see
// Recover). A table that stands in the catalog under another name too leaves no record.
func (c *Catalog) Drop(ctx context.Context, name Name) error { return c.drop(ctx, name, false) }

// Purge drops a table and has the catalog's server delete its metadata; some servers drop in no other way. The table can't be
// brought back. Shards are collected as after Drop, as far as the server did not delete them. Catalogs without a server of their
// own are ErrInvalid.
func (c *Catalog) Purge(ctx context.Context, name Name) error { return c.drop(ctx, name, true) }

// purger is a catalog whose server deletes the files of a table that is dropped.
type purger interface {
	PurgeTable(ctx context.Context, ident table.Identifier) error
}

func (c *Catalog) drop(ctx context.Context, name Name, purge bool) error {
	remove := c.ice.DropTable
	if purge {
		p, ok := c.ice.(purger)
		if !ok || !caturi.IsREST(c.opts.URI) {
			return fmt.Errorf("%w: purge needs a REST catalog; drop the table and let gc delete its files", ErrInvalid)
		}
		remove = p.PurgeTable
	}
	t, err := c.Load(ctx, name)
	if err != nil {
		return err
	}
	if err := t.claimVault(ctx); err != nil {
		return err
	}
	record := dropped{
		Version: records.Version, Table: name.String(), TableUUID: t.UUID(), Metadata: t.MetadataLocation(),
		Dropped: c.opts.Now().UTC(),
	}
	why := translate(remove(ctx, name.identifier()))
	ctx = context.WithoutCancel(ctx)
	if why != nil {
		if !purge && strings.Contains(strings.ToLower(why.Error()), "purge") {
			why = fmt.Errorf("%w; with --purge the catalog deletes the table's metadata too", why)
		}
		if err := c.settleDrop(ctx, t, why); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	twin, err := c.nameOf(ctx, t.UUID())
	for n := 1; err != nil && n < maxReloads && backoff.Wait(ctx, backoff.Unknown(n)) == nil; n++ { // nothing else would make up for the record
		twin, err = c.nameOf(ctx, t.UUID())
	}
	if why != nil && (err != nil || twin != nil) { // it may have been renamed
		return fmt.Errorf("table %s: %w: %w", name, ErrUnknownOutcome, errors.Join(why, err))
	}
	if err == nil && twin != nil {
		c.opts.Log.Warn("the table exists under another name", "dropped", name.String(), "name", twin.String())
		return nil
	}
	// After the drop, not before: a record beside a living table would give its shards to collection. The drop
	// stands whether or not the record can be written; without it the folder costs space, not data.
	if err == nil {
		err = c.records.Put(ctx, t.VaultFolder()+droppedName, record)
	}
	if err == nil && !purge { // a purged table has no metadata file to be collected or brought back by
		// The record of an earlier drop names an older metadata file.
		err = c.records.ReplaceNote(ctx, c.droppedAt(t.UUID()), record)
	}
	if err != nil {
		c.opts.Log.Warn("the table is dropped, but the record by which gc finds its files could not be written",
			"folder", t.VaultFolder(), "metadata", record.Metadata, "error", err)
	}
	return nil
}

// settleDrop is the error of a drop that ended with one; nil if the answer was lost after the work was done: the catalog neither loads the table, twice,
// nor lists it. Where it can't show the table otherwise nobody knows, and no record may be left beside a table that lives.
func (c *Catalog) settleDrop(ctx context.Context, t *Table, why error) error {
	if errors.Is(why, ErrNotFound) {
		return why
	}
	unknown := func(err error) error { return fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(why, err)) }
	gone := error(nil)
	for n := 1; n <= 2; n++ {
		if _, gone = c.ice.LoadTable(ctx, t.name.identifier()); gone == nil {
			return why
		}
		if !errors.Is(translate(gone), ErrNotFound) || backoff.Wait(ctx, backoff.Unknown(n)) != nil {
			return unknown(gone)
		}
	}
	names, err := c.allTables(ctx)
	if err != nil || slices.Contains(names, t.name) || commiterr.ClassOf(why) != commiterr.Unknown {
		return unknown(errors.Join(gone, err))
	}
	c.opts.Log.Warn("the response to the drop was lost; the catalog has no such table any more", "table", t.name.String(), "error", why)
	return nil
}

// nameOf finds the table of a UUID, nil if the catalog shows none. Where a server reports tables as missing that it lists, the table may be one of them.
func (c *Catalog) nameOf(ctx context.Context, uuid string) (name *Name, err error) {
	err = whileMissing(ctx, func() (missing bool, err error) {
		name, missing, err = c.findUUID(ctx, uuid)
		return missing && c.sql == nil, err
	})
	return name, err
}

// findUUID is one look of nameOf; missing: a table is listed and not loaded.
func (c *Catalog) findUUID(ctx context.Context, uuid string) (_ *Name, missing bool, _ error) {
	names, err := c.allTables(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, n := range names {
		ice, err := c.ice.LoadTable(ctx, n.identifier())
		switch {
		case errors.Is(translate(err), ErrNotFound): // dropped since it was listed
			missing = true
		case errors.Is(err, blobio.ErrNotFound):
			if lost, lostErr := c.metadataIsGone(ctx, n); !lost {
				return nil, false, cmp.Or(lostErr, err)
			}
		case err != nil:
			return nil, false, err
		case ice.Metadata().TableUUID().String() == uuid:
			return &n, false, nil
		}
	}
	return nil, missing, nil
}

// metadataIsGone reports whether the metadata file of a table in a database does not exist: such a table has no UUID.
func (c *Catalog) metadataIsGone(ctx context.Context, name Name) (bool, error) {
	if c.sql == nil {
		return false, nil
	}
	at, err := c.sql.Location(ctx, name.identifier())
	if err == nil {
		at, err = c.mountMetadata(ctx, at)
	}
	if err != nil {
		return false, err
	}
	return isGone(ctx, c.metadata.Uncached(), at)
}

// withdrawDrop deletes the record of a drop from the folder of a living table: it was registered again. A table that the catalog does not have any more, for
// it was dropped since it was loaded, keeps the record: nothing else leads to its files.
func (t *Table) withdrawDrop(ctx context.Context, err error) error {
	at := t.VaultFolder() + droppedName
	if errors.Is(err, blobio.ErrNotFound) {
		return nil
	} else if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	there, err := t.cat.ice.LoadTable(ctx, t.name.identifier())
	if err = translate(err); err == nil && there.Metadata().TableUUID().String() != t.UUID() {
		err = fmt.Errorf("%w: it was dropped or renamed, and another one has its name", ErrConflict)
	}
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
		if name, lookErr := t.cat.nameOf(ctx, t.UUID()); name != nil || lookErr != nil {
			err = lookErr
		}
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	t.cat.opts.Log.Warn("the record of the table's drop is removed, because the table exists", "record", at)
	for _, record := range []string{at, t.cat.droppedAt(t.UUID())} {
		if err := t.cat.client.Delete(ctx, record, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// VaultFolder is the folder of the table's shards, with its trailing slash.
func (t *Table) VaultFolder() string { return t.cat.vaultFolder(t.UUID()) }

func (c *Catalog) vaultFolder(tableUUID string) string { return c.vault + "/" + tableUUID + "/" }

// Owner is the content of _owner.json: who may write to and sweep a vault folder.
type Owner struct {
	Version int    `json:"version"`
	Catalog string `json:"catalog"`
	// CatalogID is a UUID of the catalog, empty in records of catalogs that have none. TakenOver: the URI proves nothing, see isOwner.
	CatalogID string `json:"catalog_id,omitempty"`
	TakenOver bool   `json:"taken_over,omitempty"`
	TableUUID string `json:"table_uuid"`
	// Table is the name at creation, for people: a table may be renamed.
	Table   string    `json:"table"`
	Created time.Time `json:"created"`
	// Unconditional: the store overwrites what it is to create, and the first writer accepted that.
	Unconditional bool `json:"unconditional,omitempty"`
	// Unchecked: the store does not compare uploads with their checksums, so that every write is read back.
	Unchecked bool `json:"unchecked,omitempty"`
}

// claimVault is claim for a change of no snapshot.
func (t *Table) claimVault(ctx context.Context) error { return t.claim(ctx, nil) }

// claim makes sure that the vault folder is the table's own: the first claim writes the owner's record,
// later ones compare. A folder of another catalog's table is ErrUnsafe. Whether there is a record of a drop is looked for at the same time, and
// the manifest list of the snapshot that a commit will be made on is read.
func (t *Table) claim(ctx context.Context, base *table.Snapshot) error {
	at := t.VaultFolder() + "_owner.json"
	var there Owner
	var err, dropped error
	eachErr := t.cat.client.EachUpTo(ctx, 3, 3, func(ctx context.Context, client *blobio.Client, i int) error {
		switch {
		case i == 0:
			err = records.New(client).Read(ctx, at, &there)
		case i == 1:
			_, dropped = client.Stat(ctx, t.VaultFolder()+droppedName)
		case base != nil && base.ManifestList != "":
			if fs, ok := t.within(ctx).fs.(iceio.ReadFileIO); ok {
				_, _ = fs.ReadFile(base.ManifestList) // into the cache, for the commit; an error is found there
			}
		}
		return nil
	})
	if eachErr != nil {
		return eachErr
	}
	if errors.Is(err, blobio.ErrNotFound) {
		conditional, probeErr := t.cat.checkConditional(ctx)
		if probeErr != nil {
			return probeErr
		}
		if t.creation != nil && t.creation.createNamespace { // which has the identity
			if err := t.cat.CreateNamespace(ctx, join(t.name.namespace())); err != nil {
				return err
			}
		}
		mine := Owner{
			Version: records.Version, Catalog: t.cat.identity, CatalogID: t.cat.identityFor(ctx, t.name.Namespace), TableUUID: t.UUID(), Table: t.name.String(),
			Created: t.cat.opts.Now().UTC(), Unconditional: !conditional, Unchecked: !t.cat.checksChecksums(ctx),
		}
		t.cat.distrust(mine.Unchecked)
		err = t.cat.records.Put(ctx, at, mine)
		if err == nil {
			t.cat.claimed.Store(t.UUID(), true)
		}
		if err == nil || !errors.Is(err, blobio.ErrExists) {
			return err
		}
		err = t.cat.records.Read(ctx, at, &there)
	}
	if err != nil {
		return fmt.Errorf("vault of table %s: %w", t.name, err)
	}
	if err := t.cat.checkOwned(ctx, &there, t.UUID()); err != nil {
		return err
	}
	t.cat.distrust(there.Unchecked)
	if err := t.cat.acceptConditional(!there.Unconditional); err != nil {
		return err
	}
	if err := t.withdrawDrop(ctx, dropped); err != nil {
		return err
	}
	t.cat.claimed.Store(t.UUID(), true)
	return nil
}

// claimedBefore reports whether this process has claimed the table's folder before. It is claimed again by each job, which may write its first
// objects meanwhile: nothing is committed before the claim.
func (t *Table) claimedBefore() bool {
	_, before := t.cat.claimed.Load(t.UUID())
	return before
}

// owns reports whether an object lies in the table's own vault folder.
func (t *Table) owns(url string) bool { return strings.HasPrefix(url, t.VaultFolder()) }

func join(parts []string) string { return strings.Join(parts, ".") }

package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
)

// controlLimit bounds what is read of an owner, job or drop record.
const controlLimit = 16 << 20

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

// recordVersion is the version of all records in a vault folder.
const recordVersion = 1

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
			err = t.cat.readRecordBy(ctx, client, at, &there)
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
			Version: recordVersion, Catalog: t.cat.identity, CatalogID: t.cat.identityFor(ctx, t.name.Namespace), TableUUID: t.UUID(), Table: t.name.String(),
			Created: t.cat.opts.Now().UTC(), Unconditional: !conditional, Unchecked: !t.cat.checksChecksums(ctx),
		}
		t.cat.distrust(mine.Unchecked)
		err = t.cat.putRecord(ctx, at, mine)
		if err == nil {
			t.cat.claimed.Store(t.UUID(), true)
		}
		if err == nil || !errors.Is(err, blobio.ErrExists) {
			return err
		}
		err = t.cat.readRecord(ctx, at, &there)
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

// putRecord writes a record that others go by, and reads it back: it states whose a folder is, what may not be deleted,
// or what may.
func (c *Catalog) putRecord(ctx context.Context, at string, record any) error {
	text, err := recordText(record)
	if err != nil {
		return err
	}
	return c.client.PutReadBack(ctx, at, text)
}

// putNote writes a record without which nothing is lost: the end of a job or of a lease.
func (c *Catalog) putNote(ctx context.Context, at string, record any) error {
	text, err := recordText(record)
	if err != nil {
		return err
	}
	return c.client.Put(ctx, at, text)
}

func recordText(record any) ([]byte, error) {
	text, err := json.MarshalIndent(record, "", "  ")
	return append(text, '\n'), err
}

// readRecord reads a record; one of a later version is refused, for what it states may matter.
func (c *Catalog) readRecord(ctx context.Context, at string, record any) error {
	return c.readRecordBy(ctx, c.client, at, record)
}

// readRecordBy is readRecord by a view of the client.
func (c *Catalog) readRecordBy(ctx context.Context, client *blobio.Client, at string, record any) error {
	text, _, err := client.ReadAll(ctx, at, controlLimit)
	if err != nil {
		return err
	}
	var version struct{ Version int }
	if err := json.Unmarshal(text, &version); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if version.Version > recordVersion {
		return fmt.Errorf("%w: %s is of version %d, this program supports %d", ErrUnsafe, at, version.Version, recordVersion)
	}
	if err := json.Unmarshal(text, record); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// owns reports whether an object lies in the table's own vault folder.
func (t *Table) owns(url string) bool { return strings.HasPrefix(url, t.VaultFolder()) }

func join(parts []string) string { return strings.Join(parts, ".") }

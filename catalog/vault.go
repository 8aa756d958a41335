package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

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

// Every object of a table is created on the condition that nothing is there; who writes to a store that overwrites
// instead may lose what another has written. So the first writer to a table's folder, who makes the record of its
// owner, tries the store once; the record keeps what was found, and later writers go by it.

// checkConditional reports whether the vault's store creates conditionally. A store that does not is ErrUnsafe, unless
// the options accept it.
func (c *Catalog) checkConditional(ctx context.Context) (conditional bool, err error) {
	if isLocal(c.vault) {
		return true, nil
	}
	conditional, err = c.probeConditional(ctx)
	if err != nil {
		return false, fmt.Errorf("testing conditional creation in %s: %w", c.vault, err)
	}
	return conditional, c.acceptConditional(conditional)
}

// acceptConditional holds what is known of the store against the options.
func (c *Catalog) acceptConditional(conditional bool) error {
	if conditional || c.opts.UnsafeNoConditionalWrites {
		return nil
	}
	return fmt.Errorf("%w: the store of %s does not support conditional creation: concurrent writers would overwrite each other;"+
		"--unsafe-no-conditional-writes allows it if there is a single writer", ErrUnsafe, c.vault)
}

// probeConditional creates an object twice, the second time in one request and in parts, and deletes it.
func (c *Catalog) probeConditional(ctx context.Context) (bool, error) {
	url := c.vault + "/_doctor/" + uuid.NewString()
	if err := c.client.TryCreate(ctx, url, []byte("first"), blobio.CreateOptions{}); err != nil {
		return false, err
	}
	conditional, err := c.refusesSecond(ctx, url, blobio.CreateOptions{})
	if conditional {
		// Some stores look at the condition of a whole object only, and overwrite by the end of an upload in parts.
		conditional, err = c.refusesSecond(ctx, url, blobio.CreateOptions{InParts: true})
		if err != nil && !errors.Is(err, blobio.ErrNoCondition) && (errors.Is(err, blobio.ErrUnknown) || errors.Is(err, blobio.ErrDenied)) {
			c.opts.Log.Debug("the store does not support multipart uploads", "vault", c.vault, "error", err)
			conditional, err = true, nil
		}
	}
	if err != nil {
		return false, err
	}
	if err := c.client.Delete(context.WithoutCancel(ctx), url, ""); err != nil {
		c.opts.Log.Warn("a test object could not be deleted", "object", url, "error", err)
	}
	return conditional, nil
}

// refusesSecond reports whether the store refuses to create an object that is there.
func (c *Catalog) refusesSecond(ctx context.Context, url string, how blobio.CreateOptions) (bool, error) {
	err := c.client.TryCreate(ctx, url, []byte("second"), how)
	if errors.Is(err, blobio.ErrExists) || errors.Is(err, blobio.ErrConflict) {
		return true, nil
	}
	return false, err
}

// checksChecksums reports whether the vault's store is known to refuse an upload that arrives damaged. What can't be
// found out counts as no.
func (c *Catalog) checksChecksums(ctx context.Context) bool {
	if isLocal(c.vault) {
		return true
	}
	url := c.vault + "/_doctor/" + uuid.NewString()
	checked, known, err := c.client.ProbeChecksum(ctx, url)
	if err != nil {
		c.opts.Log.Debug("it is unknown whether the store verifies checksums", "vault", c.vault, "error", err)
	}
	if known && !checked {
		if err := c.client.Delete(context.WithoutCancel(ctx), url, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			c.opts.Log.Warn("a test object could not be deleted", "object", url, "error", err)
		}
	}
	return checked && err == nil
}

// distrust has every write read back that the store does not check.
func (c *Catalog) distrust(unchecked bool) {
	if unchecked {
		c.client.ReadBackWrites()
	}
}

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
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
)

// identityProperty of a namespace has the UUIDs of its catalog, the newest first, with commas between them. docs/design/catalog-identity.md.
const identityProperty = "shardcat.catalog-id"

// identities caches the UUIDs of the catalog's namespaces.
type identities struct {
	mu  sync.Mutex
	ids []string
}

// readIdentities reads the UUIDs of all namespaces, sorted.
func (c *Catalog) readIdentities(ctx context.Context) ([]string, error) {
	values, err := c.identityValues(ctx)
	if err != nil {
		return nil, fmt.Errorf("identity of catalog %s: %w", c.identity, translate(err))
	}
	var ids []string
	for _, value := range values {
		ids = append(ids, splitIdentities(value)...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	c.ids.mu.Lock()
	defer c.ids.mu.Unlock()
	c.ids.ids = ids
	return ids, nil
}

func splitIdentities(value string) []string {
	var ids []string
	for id := range strings.SplitSeq(value, ",") {
		if uuid.Validate(id) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// identityValues are the values of the property over all namespaces.
func (c *Catalog) identityValues(ctx context.Context) (values []string, err error) {
	if c.sql != nil {
		return c.sql.identityValues(ctx)
	}
	names, err := c.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		properties, err := c.ice.LoadNamespaceProperties(ctx, Name{Namespace: name}.namespace())
		if errors.Is(err, icecatalog.ErrNoSuchNamespace) {
			continue // dropped since it was listed
		}
		if err != nil {
			return nil, err
		}
		if value := properties[identityProperty]; value != "" {
			values = append(values, value)
		}
	}
	return values, nil
}

// hasIdentity reports whether a UUID is one of the catalog's.
func (c *Catalog) hasIdentity(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	c.ids.mu.Lock()
	known := slices.Contains(c.ids.ids, id)
	c.ids.mu.Unlock()
	if known {
		return true, nil
	}
	ids, err := c.readIdentities(ctx)
	return slices.Contains(ids, id), err
}

// identityFor returns a UUID of the catalog that a namespace has, which gets one if it has none. A catalog that takes no properties of namespaces
// has no UUID: "".
func (c *Catalog) identityFor(ctx context.Context, namespace string) string {
	id, err := c.ensureIdentity(ctx, namespace)
	if err != nil {
		c.opts.Log.Debug("the catalog can't store an identity; its tables are identified by its URI", "namespace", namespace, "error", err)
	}
	return id
}

func (c *Catalog) ensureIdentity(ctx context.Context, namespace string) (string, error) {
	ident := Name{Namespace: namespace}.namespace()
	read := func() (string, error) {
		properties, err := c.namespaceProperties(ctx, ident)
		if ids := splitIdentities(properties[identityProperty]); len(ids) > 0 {
			return ids[0], err
		}
		return "", err
	}
	if id, err := read(); id != "" || err != nil {
		return id, err
	}
	value := uuid.NewString()
	if all, err := c.readIdentities(ctx); err != nil {
		return "", err
	} else if len(all) > 0 {
		value = strings.Join(all, ",")
	}
	if err := c.addIdentity(ctx, ident, value); err != nil {
		return "", err
	}
	return read()
}

// namespaceProperties reads properties without what icebergaccess.Wrap puts around the catalog of a database.
func (c *Catalog) namespaceProperties(ctx context.Context, ident []string) (iceberg.Properties, error) {
	if c.sql != nil {
		return c.sql.LoadNamespaceProperties(ctx, ident)
	}
	return c.ice.LoadNamespaceProperties(ctx, ident)
}

// addIdentity gives a namespace without an identity one.
func (c *Catalog) addIdentity(ctx context.Context, ident []string, id string) error {
	if c.sql != nil {
		return c.sql.addIdentity(ctx, ident, id)
	}
	_, err := c.ice.UpdateNamespaceProperties(ctx, ident, nil, iceberg.Properties{identityProperty: id})
	return err
}

// adoptIdentity adds a UUID to those of a namespace: that of a lost catalog in whose place this one was made.
func (c *Catalog) adoptIdentity(ctx context.Context, namespace, id string) error {
	if known, err := c.hasIdentity(ctx, id); known || err != nil || id == "" {
		return err
	}
	ident := Name{Namespace: namespace}.namespace()
	properties, err := c.namespaceProperties(ctx, ident)
	if err != nil {
		return translate(err)
	}
	ids := append(splitIdentities(properties[identityProperty]), id)
	_, err = c.ice.UpdateNamespaceProperties(ctx, ident, nil, iceberg.Properties{identityProperty: strings.Join(ids, ",")})
	return translate(err)
}

// renewIdentity gives a namespace a new UUID in front of those that it has, which no copy of the catalog has.
func (c *Catalog) renewIdentity(ctx context.Context, namespace string) (string, error) {
	ident := Name{Namespace: namespace}.namespace()
	properties, err := c.namespaceProperties(ctx, ident)
	if err != nil {
		return "", err
	}
	ids := slices.Insert(splitIdentities(properties[identityProperty]), 0, uuid.NewString())
	_, err = c.ice.UpdateNamespaceProperties(ctx, ident, nil, iceberg.Properties{identityProperty: strings.Join(ids, ",")})
	return ids[0], translate(err)
}

// identityValues are the values of the property in the rows of this catalog.
func (c *sqlTables) identityValues(ctx context.Context) (values []string, err error) {
	err = c.reads.do(ctx, func(ctx context.Context) error {
		values = nil
		rows, err := c.db.QueryContext(ctx, c.spelled("SELECT DISTINCT property_value FROM iceberg_namespace_properties"+
			" WHERE catalog_name = $1 AND property_key = $2 AND property_value IS NOT NULL"), CatalogName, identityProperty)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var value string
			if err := rows.Scan(&value); err != nil {
				return err
			}
			values = append(values, value)
		}
		return rows.Err()
	})
	return values, err
}

// addIdentity adds the property to a namespace unless it has it.
func (c *sqlTables) addIdentity(ctx context.Context, ident []string, id string) error {
	_, err := c.exec(ctx, "INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)"+
		" VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", CatalogName, join(ident), identityProperty, id)
	return err
}

// isOwner reports whether the record of a vault folder names this catalog.
func (c *Catalog) isOwner(ctx context.Context, there *Owner) (bool, error) {
	if !there.TakenOver && canonicalIdentity(there.Catalog) == canonicalIdentity(c.identity) {
		return true, nil
	}
	return c.hasIdentity(ctx, there.CatalogID)
}

// checkOwned refuses the vault folder of a table whose record names another table or catalog.
func (c *Catalog) checkOwned(ctx context.Context, there *Owner, tableUUID string) error {
	if there.TableUUID != tableUUID {
		return fmt.Errorf("%w: the vault folder %s belongs to table %s (%s), not to the table %s",
			ErrUnsafe, c.vaultFolder(tableUUID), there.Table, there.TableUUID, tableUUID)
	}
	mine, err := c.isOwner(ctx, there)
	if err != nil || mine {
		return err
	}
	return fmt.Errorf("%w: the vault folder %s belongs to table %s of catalog %s, not to this catalog (%s); if that catalog is lost or retired: shardcat table recover --all --take-over",
		ErrUnsafe, c.vaultFolder(tableUUID), there.Table, there.Catalog, c.identity)
}

// takeOwnership makes this catalog the owner of a vault folder. The former owner is refused from then on.
func (c *Catalog) takeOwnership(ctx context.Context, there Owner, name Name) error {
	id := c.identityFor(ctx, name.Namespace)
	if id != "" && id == there.CatalogID && there.TakenOver && canonicalIdentity(there.Catalog) == canonicalIdentity(c.identity) {
		return nil // taken over before
	}
	if id == "" || id == there.CatalogID { // a copy of this catalog has the UUID too
		var err error
		if id, err = c.renewIdentity(ctx, name.Namespace); err != nil {
			return fmt.Errorf("table %s: the catalog can't store a new identity, so the former catalog can't be fenced: %w", name, err)
		}
	}
	mine := there
	mine.Catalog, mine.CatalogID, mine.TakenOver, mine.Table, mine.Created = c.identity, id, true, name.String(), c.opts.Now().UTC()
	at := c.vaultFolder(there.TableUUID) + "_owner.json"
	for range takeOverAttempts {
		info, err := c.client.Stat(ctx, at)
		if err == nil {
			err = c.client.Delete(ctx, at, info.ETag)
		}
		if err != nil && !errors.Is(err, blobio.ErrNotFound) && !errors.Is(err, blobio.ErrChanged) {
			return fmt.Errorf("vault of table %s: %w", name, err)
		}
		if err = c.putRecord(context.WithoutCancel(ctx), at, mine); err == nil || !errors.Is(err, blobio.ErrExists) {
			return err
		}
	}
	return fmt.Errorf("vault of table %s: %w: another process keeps writing %s; stop the writers of the former catalog", name, ErrConflict, at)
}

// takeOverAttempts is how often the record of an owner is replaced where another process creates one in between.
const takeOverAttempts = 5

package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/caturi"
)

// identityProperty of a namespace has the first UUID of its catalog, or several with commas between them. Each one that is added later has a property
// of its own, identityProperty with a dot and the UUID: a write that rests on an old read, or meets that of another process, removes none. docs/design/catalog-identity.md.
const identityProperty = "shardcat.catalog-id"

// formerIdentity is the value of the property of a UUID that comes after the others; that of one which comes before them is the time at which it was
// added.
const formerIdentity = "former"

// isIdentity reports whether a property of a namespace is one of its catalog's identity.
func isIdentity(key string) bool {
	return key == identityProperty || strings.HasPrefix(key, identityProperty+".")
}

// identitiesOf are the UUIDs that the properties of a namespace have, the newest first.
func identitiesOf(properties map[string]string) []string {
	var added, former []string
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		id, ok := strings.CutPrefix(key, identityProperty+".")
		switch {
		case !ok || uuid.Validate(id) != nil:
		case properties[key] == formerIdentity:
			former = append(former, id)
		default:
			added = append(added, id)
		}
	}
	slices.SortStableFunc(added, func(a, b string) int {
		return strings.Compare(properties[identityProperty+"."+b], properties[identityProperty+"."+a])
	})
	return slices.Concat(added, splitIdentities(properties[identityProperty]), former)
}

// identities caches the UUIDs of the catalog's namespaces.
type identities struct {
	mu  sync.Mutex
	ids []string
}

// readIdentities reads the UUIDs of all namespaces, sorted.
func (c *Catalog) readIdentities(ctx context.Context) ([]string, error) {
	all, err := c.identityProperties(ctx)
	if err != nil {
		return nil, fmt.Errorf("identity of catalog %s: %w", c.identity, translate(err))
	}
	var ids []string
	for _, properties := range all {
		ids = append(ids, identitiesOf(properties)...)
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

// identityProperties are the properties of the namespaces that have UUIDs, by namespace.
func (c *Catalog) identityProperties(ctx context.Context) (all map[string]map[string]string, err error) {
	if c.sql != nil {
		return c.sql.PropertiesNamed(ctx, identityProperty)
	}
	names, err := c.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	all = map[string]map[string]string{}
	for _, name := range names {
		properties, err := c.listedProperties(ctx, name)
		if err != nil {
			return nil, err
		}
		all[name] = properties
	}
	return all, nil
}

// listedProperties are those of a namespace that the catalog lists; none if it was dropped since. A namespace that is reported as missing is loaded again
// while it is listed: without its UUIDs this catalog would be taken for another one.
func (c *Catalog) listedProperties(ctx context.Context, name string) (iceberg.Properties, error) {
	for n := 1; ; n++ {
		properties, err := c.ice.LoadNamespaceProperties(ctx, Name{Namespace: name}.namespace())
		if !errors.Is(err, icecatalog.ErrNoSuchNamespace) {
			return properties, err
		}
		names, listErr := c.Namespaces(ctx)
		if listErr != nil {
			return nil, errors.Join(err, listErr)
		}
		if !slices.Contains(names, name) {
			return nil, nil
		}
		if n == identityReads || backoff.Wait(ctx, backoff.Unknown(n)) != nil {
			return nil, err
		}
	}
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
		if ids := identitiesOf(properties); len(ids) > 0 {
			return ids[0], err
		}
		return "", err
	}
	if id, err := read(); id != "" || err != nil {
		return id, err
	}
	ids, err := c.readIdentities(ctx)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		ids = []string{uuid.NewString()}
	}
	if err := c.addIdentity(ctx, ident, ids); err != nil {
		return "", err
	}
	id, err := read()
	for n := 1; id == "" && err == nil && n < identityReads && backoff.Wait(ctx, backoff.Unknown(n)) == nil; n++ {
		id, err = read()
	}
	return id, err
}

// identityReads is how often the properties of a namespace are read to find a UUID that was added to them.
const identityReads = 3

// namespaceProperties reads properties without what icebergaccess.Wrap puts around the catalog of a database.
func (c *Catalog) namespaceProperties(ctx context.Context, ident []string) (iceberg.Properties, error) {
	if c.sql != nil {
		return c.sql.LoadNamespaceProperties(ctx, ident)
	}
	return c.ice.LoadNamespaceProperties(ctx, ident)
}

// addIdentity gives a namespace without an identity one.
func (c *Catalog) addIdentity(ctx context.Context, ident, ids []string) error {
	if c.sql != nil {
		return c.sql.AddProperty(ctx, ident, identityProperty, strings.Join(ids, ","))
	}
	return c.addFormer(ctx, ident, ids...)
}

// addFormer adds UUIDs to those of a namespace, behind them.
func (c *Catalog) addFormer(ctx context.Context, ident []string, ids ...string) error {
	added := iceberg.Properties{}
	for _, id := range ids {
		added[identityProperty+"."+id] = formerIdentity
	}
	_, err := c.ice.UpdateNamespaceProperties(ctx, ident, nil, added)
	return err
}

// adoptIdentity adds a UUID to those of a namespace: that of a lost catalog in whose place this one was made.
func (c *Catalog) adoptIdentity(ctx context.Context, namespace, id string) error {
	if known, err := c.hasIdentity(ctx, id); known || err != nil || id == "" {
		return err
	}
	return translate(c.addFormer(ctx, Name{Namespace: namespace}.namespace(), id))
}

// renewIdentity gives a namespace a new UUID in front of those that it has, which no copy of the catalog has.
func (c *Catalog) renewIdentity(ctx context.Context, namespace string) (string, error) {
	ident, id := Name{Namespace: namespace}.namespace(), uuid.NewString()
	_, err := c.ice.UpdateNamespaceProperties(ctx, ident, nil, iceberg.Properties{identityProperty + "." + id: c.opts.Now().UTC().Format(identityTime)})
	return id, translate(err)
}

// keepIdentities gives another namespace the UUIDs that only this one has, before it is dropped: tables that were renamed into other namespaces, and
// dropped ones, have vault folders that are owned by them. The last namespace of a catalog takes its UUIDs with it.
func (c *Catalog) keepIdentities(ctx context.Context, namespace string) error {
	all, err := c.identityProperties(ctx)
	if err != nil || len(all[namespace]) == 0 {
		return err
	}
	only := identitiesOf(all[namespace])
	delete(all, namespace)
	for _, properties := range all {
		is := identitiesOf(properties)
		only = slices.DeleteFunc(only, func(id string) bool { return slices.Contains(is, id) })
	}
	others := slices.Sorted(maps.Keys(all)) // those with tables first
	if len(others) == 0 && len(only) > 0 {
		if others, err = c.Namespaces(ctx); err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(name string) bool { return name == namespace })
	}
	if len(only) == 0 || len(others) == 0 {
		return nil
	}
	return c.addFormer(ctx, Name{Namespace: others[0]}.namespace(), only...)
}

// identityTime is the form of the time of a UUID, in the order of its text.
const identityTime = "2006-01-02T15:04:05.000000000Z"

// isOwner reports whether the record of a vault folder names this catalog.
func (c *Catalog) isOwner(ctx context.Context, there *Owner) (bool, error) {
	if !there.TakenOver && caturi.Canonical(there.Catalog) == caturi.Canonical(c.identity) {
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
	if id != "" && id == there.CatalogID && there.TakenOver && caturi.Canonical(there.Catalog) == caturi.Canonical(c.identity) {
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
		if err = c.records.Put(context.WithoutCancel(ctx), at, mine); err == nil || !errors.Is(err, blobio.ErrExists) {
			return err
		}
	}
	return fmt.Errorf("vault of table %s: %w: another process keeps writing %s; stop the writers of the former catalog", name, ErrConflict, at)
}

// takeOverAttempts is how often the record of an owner is replaced where another process creates one in between.
const takeOverAttempts = 5

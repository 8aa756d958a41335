package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/internal/plural"
)

// namespaceOf reads a namespace; parts are separated by dots.
func namespaceOf(namespace string) ([]string, error) {
	ident := Name{Namespace: namespace}.namespace()
	for _, part := range ident {
		if !validPart(part) {
			return nil, fmt.Errorf("%w: namespace %q: use letters, digits, '_' and '-', with dots between levels",
				ErrInvalid, namespace)
		}
	}
	return ident, nil
}

// besideTheVault refuses a namespace whose folder would be the vault or lie in it: its tables' metadata would stand among
// the shards of others.
func (c *Catalog) besideTheVault(ident []string) error {
	if folder := c.warehouse + "/" + strings.Join(ident, "/"); c.warehouse != "" && strings.HasPrefix(folder+"/", c.vault+"/") {
		return fmt.Errorf("%w: namespace %s: its tables would be in the vault %s; use another name", ErrInvalid, join(ident), c.vault)
	}
	return nil
}

// missingNamespace reports which namespaces there are, where one is not.
func (c *Catalog) missingNamespace(ctx context.Context, namespace string) error {
	there, err := c.Namespaces(ctx)
	if err != nil || len(there) == 0 {
		return fmt.Errorf("namespace %s: %w", namespace, ErrNotFound)
	}
	names := make([]refName, len(there))
	for i, n := range there {
		names[i] = refName(n)
	}
	return fmt.Errorf("namespace %s: %w; available: %s", namespace, ErrNotFound, suggestNames(namespace, names))
}

func (c *Catalog) existingNamespace(ctx context.Context, namespace string) ([]string, error) {
	ident, err := namespaceOf(namespace)
	if err != nil {
		return nil, err
	}
	exists, err := c.ice.CheckNamespaceExists(ctx, ident)
	switch {
	case err != nil:
		return nil, fmt.Errorf("namespace %s: %w", namespace, translate(err))
	case !exists:
		return nil, c.missingNamespace(ctx, namespace)
	}
	return ident, nil
}

// DropNamespace removes a namespace that holds no table and no other namespace; one that does is ErrConflict.
func (c *Catalog) DropNamespace(ctx context.Context, namespace string) error {
	ident, err := c.existingNamespace(ctx, namespace)
	if err != nil {
		return err
	}
	tables, err := c.Tables(ctx, namespace)
	if err != nil {
		return err
	}
	below, err := c.ice.ListNamespaces(ctx, ident)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, translate(err))
	}
	below = slices.DeleteFunc(below, func(ns []string) bool { return len(ns) <= len(ident) })
	switch {
	case len(tables) > 0:
		return fmt.Errorf("%w: namespace %s holds %s, the first is %s", ErrConflict, namespace, plural.Count(len(tables), "table"), tables[0])
	case len(below) > 0:
		return fmt.Errorf("%w: namespace %s holds the namespace %s", ErrConflict, namespace, join(below[0]))
	}
	notes := c.namespaceNotes(ctx, namespace)
	if err := c.keepIdentities(ctx, namespace); err != nil {
		return fmt.Errorf("namespace %s: identity of the catalog: %w", namespace, translate(err))
	}
	if err := c.ice.DropNamespace(ctx, ident); err != nil {
		if err = c.settleNamespaceDrop(ctx, ident, err); err != nil {
			return fmt.Errorf("namespace %s: %w", namespace, err)
		}
	}
	if err := c.records.DeleteVersions(ctx, notes); err != nil {
		c.opts.Log.Warn("the record of a dropped namespace could not be deleted", "record", notes, "error", err)
	}
	return nil
}

// settleNamespaceDrop is the error of a drop that ended with one; nil if the namespace is gone, by two requests, although the response was an error.
func (c *Catalog) settleNamespaceDrop(ctx context.Context, ident []string, why error) error {
	why = translate(why)
	if errors.Is(why, ErrNotFound) {
		return why
	}
	ctx = context.WithoutCancel(ctx)
	for range 2 {
		exists, err := c.ice.CheckNamespaceExists(ctx, ident)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, errors.Join(why, translate(err)))
		case exists && errors.Is(why, icecatalog.ErrNamespaceNotEmpty): // a table was made in it meanwhile
			return fmt.Errorf("%w: %w", ErrConflict, why)
		case exists:
			return why
		}
	}
	c.opts.Log.Warn("the response to the drop of a namespace was lost; the catalog has no such namespace any more", "namespace", join(ident), "error", why)
	return nil
}

// NamespaceProperties reads the properties of a namespace.
func (c *Catalog) NamespaceProperties(ctx context.Context, namespace string) (map[string]string, error) {
	ident, err := c.existingNamespace(ctx, namespace)
	if err != nil {
		return nil, err
	}
	properties, err := c.ice.LoadNamespaceProperties(ctx, ident)
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", namespace, translate(err))
	}
	out := maps.Clone(map[string]string(properties))
	delete(out, "exists") // how SQL catalogs report that a namespace without properties is there
	maps.DeleteFunc(out, func(key, _ string) bool { return isIdentity(key) })
	return out, nil
}

// SetNamespaceProperties sets and removes properties of a namespace.
func (c *Catalog) SetNamespaceProperties(ctx context.Context, namespace string, set map[string]string, remove []string) error {
	ident, err := c.existingNamespace(ctx, namespace)
	if err != nil {
		return err
	}
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(set)), remove) {
		if isIdentity(key) {
			return fmt.Errorf("%w: namespace %s: the property %s is the identity of the catalog", ErrInvalid, namespace, key)
		}
	}
	if _, err := c.ice.UpdateNamespaceProperties(ctx, ident, remove, iceberg.Properties(set)); err != nil {
		return fmt.Errorf("namespace %s: %w", namespace, translate(err))
	}
	c.recordNamespace(ctx, namespace)
	return nil
}

package catalog

import (
	"context"
	"errors"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// servedTables is a catalog whose server writes the metadata files. Tables come with their metadata and get an IO of
// this package for everything else; the one that iceberg-go would find by scheme is never called.
type servedTables struct {
	icecatalog.Catalog
	fs table.FSysF
	// vended opens a table's folders by credentials that came with it.
	vended func(ctx context.Context, t *table.Table, load func(context.Context) error)
}

func (c *servedTables) withIO(ctx context.Context, t *table.Table, err error) (*table.Table, error) {
	if err != nil {
		return nil, err
	}
	if c.vended != nil {
		c.vended(ctx, t, func(ctx context.Context) error {
			_, err := c.Catalog.LoadTable(ctx, t.Identifier())
			return err
		})
	}
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), c.fs, c), nil
}

// LoadTable implements icecatalog.Catalog.
func (c *servedTables) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.LoadTable(ctx, ident)
	return c.withIO(ctx, t, err)
}

// CreateTable implements icecatalog.Catalog.
func (c *servedTables) CreateTable(ctx context.Context, ident table.Identifier, sc *iceberg.Schema, opts ...icecatalog.CreateTableOpt) (*table.Table, error) {
	t, err := c.Catalog.CreateTable(ctx, ident, sc, opts...)
	return c.withIO(ctx, t, err)
}

// RenameTable implements icecatalog.Catalog.
func (c *servedTables) RenameTable(ctx context.Context, from, to table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.RenameTable(ctx, from, to)
	return c.withIO(ctx, t, err)
}

// PurgeTable implements purger.
func (c *servedTables) PurgeTable(ctx context.Context, ident table.Identifier) error {
	p, ok := c.Catalog.(purger)
	if !ok {
		return errors.ErrUnsupported
	}
	return p.PurgeTable(ctx, ident)
}

// CheckNamespaceExists implements icecatalog.Catalog. A server that does not know HEAD gets a GET of the namespace.
func (c *servedTables) CheckNamespaceExists(ctx context.Context, ns table.Identifier) (bool, error) {
	there, err := c.Catalog.CheckNamespaceExists(ctx, ns)
	if err == nil {
		return there, nil
	}
	_, loadErr := c.Catalog.LoadNamespaceProperties(ctx, ns)
	switch {
	case loadErr == nil:
		return true, nil
	case errors.Is(loadErr, icecatalog.ErrNoSuchNamespace):
		return false, nil
	}
	return false, err
}

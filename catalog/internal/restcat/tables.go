package restcat

import (
	"context"
	"errors"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/vended"
)

// Tables is a catalog whose server writes the metadata files.
type Tables struct {
	icecatalog.Catalog
	rest *rest.Catalog
	// keys open a table's folders by credentials that came with it.
	keys   *vended.Keys
	closer func() error
	fs     table.FSysF
	stores vended.Stores
}

// UseIO gives the tables their IO, and the stores that are opened by the credentials of tables.
func (c *Tables) UseIO(fs table.FSysF, stores vended.Stores) icecatalog.Catalog {
	c.fs, c.stores = fs, stores
	return c
}

// Close closes the connections to the server.
func (c *Tables) Close() error { return c.closer() }

func (c *Tables) withIO(ctx context.Context, t *table.Table, err error) (*table.Table, error) {
	if err != nil {
		return nil, err
	}
	c.keys.Mount(ctx, c.stores, t, func(ctx context.Context) error {
		_, err := c.Catalog.LoadTable(ctx, t.Identifier())
		return err
	})
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), c.fs, c), nil
}

// LoadTable implements icecatalog.Catalog.
func (c *Tables) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.LoadTable(ctx, ident)
	return c.withIO(ctx, t, err)
}

// CreateTable implements icecatalog.Catalog.
func (c *Tables) CreateTable(ctx context.Context, ident table.Identifier, sc *iceberg.Schema, opts ...icecatalog.CreateTableOpt) (*table.Table, error) {
	t, err := c.Catalog.CreateTable(ctx, ident, sc, opts...)
	return c.withIO(ctx, t, err)
}

// RenameTable implements icecatalog.Catalog.
func (c *Tables) RenameTable(ctx context.Context, from, to table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.RenameTable(ctx, from, to)
	return c.withIO(ctx, t, err)
}

// PurgeTable drops a table and has the server delete its files.
func (c *Tables) PurgeTable(ctx context.Context, ident table.Identifier) error {
	return c.rest.PurgeTable(ctx, ident)
}

// RegisterTable has the server take over a metadata file under a name that is free. The table has no IO: load it for use.
func (c *Tables) RegisterTable(ctx context.Context, ident table.Identifier, metadata string) (*table.Table, error) {
	return c.rest.RegisterTable(ctx, ident, metadata)
}

// CheckNamespaceExists implements icecatalog.Catalog. A server that does not know HEAD gets a GET of the namespace.
func (c *Tables) CheckNamespaceExists(ctx context.Context, ns table.Identifier) (bool, error) {
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

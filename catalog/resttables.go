package catalog

import (
	"context"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// servedTables is a catalog whose server writes the metadata files. Tables come with their metadata and get an IO of
// this package for everything else; the one that iceberg-go would find by scheme is never asked for.
type servedTables struct {
	icecatalog.Catalog
	fs table.FSysF
}

func (c *servedTables) withIO(t *table.Table, err error) (*table.Table, error) {
	if err != nil {
		return nil, err
	}
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), c.fs, c), nil
}

// LoadTable implements icecatalog.Catalog.
func (c *servedTables) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	return c.withIO(c.Catalog.LoadTable(ctx, ident))
}

// CreateTable implements icecatalog.Catalog.
func (c *servedTables) CreateTable(ctx context.Context, ident table.Identifier, sc *iceberg.Schema, opts ...icecatalog.CreateTableOpt) (*table.Table, error) {
	return c.withIO(c.Catalog.CreateTable(ctx, ident, sc, opts...))
}

// RenameTable implements icecatalog.Catalog.
func (c *servedTables) RenameTable(ctx context.Context, from, to table.Identifier) (*table.Table, error) {
	return c.withIO(c.Catalog.RenameTable(ctx, from, to))
}

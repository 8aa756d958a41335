package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// RegisterTable puts a metadata file into the catalog under a name that is free. The namespace must be there.
func (c *sqlTables) RegisterTable(ctx context.Context, ident table.Identifier, metadata string) (*table.Table, error) {
	if err := icecatalog.ValidateTableIdentifier(ident); err != nil {
		return nil, err
	}
	added, err := c.add(ctx, ident, metadata)
	switch {
	case err != nil:
		return nil, err
	case !added:
		return nil, c.refused(ctx, ident)
	}
	return c.LoadTable(ctx, ident)
}

// dropAt drops a table if a metadata file is its current one.
func (c *sqlTables) dropAt(ctx context.Context, ident table.Identifier, at string) error {
	dropped, err := c.exec(ctx, "DELETE FROM iceberg_tables"+c.where()+" AND metadata_location = $4", append(rowOf(ident), at)...)
	if err == nil && dropped == 0 {
		err = fmt.Errorf("%w: another writer committed to table %s", table.ErrCommitFailed, join(ident))
	}
	return err
}

// RenameTable implements icecatalog.Catalog. The table's files stay where they are.
func (c *sqlTables) RenameTable(ctx context.Context, from, to table.Identifier) (*table.Table, error) {
	if err := icecatalog.ValidateTableIdentifier(to); err != nil {
		return nil, err
	}
	if _, err := c.location(ctx, from); err != nil {
		return nil, err
	}
	there, err := c.CheckNamespaceExists(ctx, icecatalog.NamespaceFromIdent(to))
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("%w: %s", icecatalog.ErrNoSuchNamespace, join(icecatalog.NamespaceFromIdent(to)))
	}
	if _, err := c.location(ctx, to); !errors.Is(err, icecatalog.ErrNoSuchTable) {
		return nil, errors.Join(fmt.Errorf("%w: %s", icecatalog.ErrTableAlreadyExists, join(to)), err)
	}
	// The primary key decides between two that take one name.
	moved, err := c.exec(ctx, "UPDATE iceberg_tables SET table_namespace = $4, table_name = $5"+c.where(),
		append(rowOf(from), rowOf(to)[1:]...)...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("renaming table %s: %w", join(from), err)
	case moved == 0:
		return nil, fmt.Errorf("%w: %s", icecatalog.ErrNoSuchTable, join(from))
	}
	return c.LoadTable(ctx, to)
}

// forget deletes a metadata file of an attempt that was rejected: nothing refers to it.
func (c *sqlTables) forget(ctx context.Context, at string) error {
	files, err := c.fs(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if err := files.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

package sqlcat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// RegisterTable puts a metadata file into the catalog under a name that is free. The namespace must be there.
func (c *Tables) RegisterTable(ctx context.Context, ident table.Identifier, metadata string) (*table.Table, error) {
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

// DropAt drops a table if a metadata file is its current one.
func (c *Tables) DropAt(ctx context.Context, ident table.Identifier, at string) error {
	dropped, err := c.db.Change(ctx, "DELETE FROM iceberg_tables"+c.where()+" AND metadata_location = $4", append(c.rowOf(ident), at)...)
	if err == nil && dropped == 0 {
		err = fmt.Errorf("%w: another writer committed to table %s", table.ErrCommitFailed, dotted(ident))
	}
	return err
}

// RenameTable implements icecatalog.Catalog. The table's files stay where they are.
func (c *Tables) RenameTable(ctx context.Context, from, to table.Identifier) (*table.Table, error) {
	if err := icecatalog.ValidateTableIdentifier(to); err != nil {
		return nil, err
	}
	if _, err := c.Location(ctx, from); err != nil {
		return nil, err
	}
	there, err := c.CheckNamespaceExists(ctx, icecatalog.NamespaceFromIdent(to))
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("%w: %s", icecatalog.ErrNoSuchNamespace, dotted(icecatalog.NamespaceFromIdent(to)))
	}
	if _, err := c.Location(ctx, to); !errors.Is(err, icecatalog.ErrNoSuchTable) {
		return nil, errors.Join(fmt.Errorf("%w: %s", icecatalog.ErrTableAlreadyExists, dotted(to)), err)
	}
	// The primary key decides between two that take one name.
	moved, err := c.db.Change(ctx, "UPDATE iceberg_tables SET table_namespace = $4, table_name = $5"+c.where(),
		append(c.rowOf(from), c.rowOf(to)[1:]...)...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("renaming table %s: %w", dotted(from), err)
	case moved == 0:
		return nil, fmt.Errorf("%w: %s", icecatalog.ErrNoSuchTable, dotted(from))
	}
	return c.LoadTable(ctx, to)
}

// forget deletes a metadata file of an attempt that was rejected: nothing refers to it.
func (c *Tables) forget(ctx context.Context, at string) error {
	files, err := c.fs(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if err := files.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// PropertiesNamed are the properties of that name, and those below it (NAME.…), for each namespace that has any.
func (c *Tables) PropertiesNamed(ctx context.Context, name string) (of map[string]map[string]string, err error) {
	err = c.reads.Do(ctx, func(ctx context.Context) error {
		of = map[string]map[string]string{}
		rows, err := c.db.QueryContext(ctx, c.db.Spelled("SELECT namespace, property_key, property_value FROM iceberg_namespace_properties"+
			" WHERE catalog_name = $1 AND (property_key = $2 OR property_key LIKE $3) AND property_value IS NOT NULL"), c.name, name, name+".%")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var namespace, key, value string
			if err := rows.Scan(&namespace, &key, &value); err != nil {
				return err
			}
			if of[namespace] == nil {
				of[namespace] = map[string]string{}
			}
			of[namespace][key] = value
		}
		return rows.Err()
	})
	return of, err
}

// AddProperty adds a property to a namespace unless it has it.
func (c *Tables) AddProperty(ctx context.Context, ident table.Identifier, name, value string) error {
	_, err := c.db.Change(ctx, "INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)"+
		" VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", c.name, dotted(ident), name, value)
	return err
}

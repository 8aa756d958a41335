// Package sqldb is the database of a catalog: a connection, and the dialect in which it takes the parameters of a query.
package sqldb

import (
	"context"
	"database/sql"
	"strings"

	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
)

// DB is an open database.
type DB struct {
	*sql.DB
	Dialect sqlcatalog.SupportedDialect
}

// Spelled is a query with parameters $1, $2 … as the database takes them.
func (d DB) Spelled(query string) string {
	if d.Dialect == sqlcatalog.SQLite {
		return strings.ReplaceAll(query, "$", "?")
	}
	return query
}

// Change runs a statement with parameters $1, $2 … and counts the rows it changed.
func (d DB) Change(ctx context.Context, query string, args ...any) (int64, error) {
	done, err := d.ExecContext(ctx, d.Spelled(query), args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

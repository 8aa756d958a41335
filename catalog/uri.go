package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"
)

// openIceberg opens the catalog of a URI. identity names it without secrets, for ownership of vault folders.
func openIceberg(ctx context.Context, uri, warehouse string, props iceberg.Properties) (
	ice icecatalog.Catalog, identity string, closer func() error, err error,
) {
	switch scheme, rest, _ := strings.Cut(uri, ":"); {
	case scheme == "sqlite":
		return openSQLite(rest, props)
	case scheme == "postgres" || scheme == "postgresql":
		return openPostgres(ctx, uri, props)
	case isREST(uri):
		return openREST(ctx, uri, warehouse, props)
	}
	return nil, "", nil, fmt.Errorf("%w: catalog %q: want sqlite:PATH, postgres://… or rest+http(s)://…",
		ErrInvalid, redactURI(uri))
}

func isREST(uri string) bool {
	return strings.HasPrefix(uri, "rest+http://") || strings.HasPrefix(uri, "rest+https://")
}

// redactURI takes credentials and options out of a catalog URI.
func redactURI(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		scheme, _, _ := strings.Cut(uri, ":")
		return scheme + ":…"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// sqliteOptions: readers do not block the writer (WAL), writers wait for one another up to 30 s, and a
// transaction that will write takes its lock when it begins, so that it can wait instead of failing later.
// synchronous=FULL makes a commit survive a power cut under WAL.
const sqliteOptions = "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)&_pragma=synchronous(FULL)&_txlock=immediate"

func openSQLite(path string, props iceberg.Properties) (icecatalog.Catalog, string, func() error, error) {
	if strings.ContainsAny(path, "?#") || path == "" {
		return nil, "", nil, fmt.Errorf("%w: catalog %q: want sqlite:PATH", ErrInvalid, "sqlite:"+path)
	}
	abs, err := filepath.Abs(strings.TrimPrefix(path, "//"))
	if err != nil {
		return nil, "", nil, err
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o777); err != nil {
		return nil, "", nil, fmt.Errorf("catalog: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+abs+sqliteOptions)
	if err != nil {
		return nil, "", nil, fmt.Errorf("catalog %s: %w", abs, err)
	}
	return sqlCatalog(db, sqlcatalog.SQLite, "sqlite:"+abs, props)
}

func openPostgres(ctx context.Context, uri string, props iceberg.Properties) (icecatalog.Catalog, string, func() error, error) {
	identity := redactURI(uri)
	db, err := sql.Open("pgx", uri)
	if err == nil {
		err = db.PingContext(ctx)
	}
	if err != nil { // the driver's error may repeat the URI
		return nil, "", nil, fmt.Errorf("catalog %s: %s", identity, strings.ReplaceAll(err.Error(), uri, identity))
	}
	return sqlCatalog(db, sqlcatalog.Postgres, identity, props)
}

func sqlCatalog(db *sql.DB, dialect sqlcatalog.SupportedDialect, identity string, props iceberg.Properties) (
	icecatalog.Catalog, string, func() error, error,
) {
	ice, err := sqlcatalog.NewCatalog(CatalogName, db, dialect, props)
	if err != nil {
		return nil, "", nil, errors.Join(fmt.Errorf("catalog %s: %w", identity, err), db.Close())
	}
	tables := newSQLTables(context.Background(), ice, db, dialect)
	return tables, identity, func() error { return errors.Join(ice.Close(), db.Close()) }, nil
}

// openREST takes credentials from the environment: SHARDCAT_REST_TOKEN (a bearer token) or
// SHARDCAT_REST_CREDENTIAL (client id and secret, "id:secret").
func openREST(ctx context.Context, uri, warehouse string, props iceberg.Properties) (icecatalog.Catalog, string, func() error, error) {
	identity := redactURI(uri)
	opts := []rest.Option{rest.WithAdditionalProps(props)}
	if warehouse != "" {
		opts = append(opts, rest.WithWarehouseLocation(warehouse))
	}
	if token := os.Getenv("SHARDCAT_REST_TOKEN"); token != "" {
		opts = append(opts, rest.WithOAuthToken(token))
	}
	if credential := os.Getenv("SHARDCAT_REST_CREDENTIAL"); credential != "" {
		opts = append(opts, rest.WithCredential(credential))
	}
	ice, err := rest.NewCatalog(ctx, CatalogName, strings.TrimPrefix(uri, "rest+"), opts...)
	if err != nil {
		return nil, "", nil, fmt.Errorf("catalog %s: %w", identity, err)
	}
	return ice, identity, ice.Close, nil
}

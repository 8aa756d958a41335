package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"

	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/restcat"
	"github.com/shardcat/shardcat/catalog/internal/resthttp"
	"github.com/shardcat/shardcat/catalog/internal/sqlcat"
)

// openIceberg opens the catalog of a URI. identity names it without secrets, for ownership of vault folders.
func openIceberg(ctx context.Context, o Options, warehouse string) (ice icecatalog.Catalog, identity string, closer func() error, err error) {
	props := iceberg.Properties{}
	if warehouse != "" {
		props["warehouse"] = warehouse
	}
	uri := o.URI
	switch scheme, rest, _ := strings.Cut(uri, ":"); {
	case scheme == "sqlite":
		return openSQLite(ctx, rest, o.Access, props)
	case scheme == "postgres" || scheme == "postgresql":
		return openPostgres(ctx, o, props)
	case caturi.IsREST(uri):
		tables, err := restcat.Open(ctx, o.rest(warehouse))
		if err != nil {
			return nil, "", nil, err
		}
		return tables, caturi.Redact(uri), tables.Close, nil
	}
	return nil, "", nil, fmt.Errorf("%w: catalog %q: must be sqlite:PATH, postgres://… or rest+http(s)://…",
		ErrInvalid, caturi.Redact(uri))
}

// rest are the options of the client of a REST catalog.
func (o *Options) rest(location string) restcat.Options {
	r := restcat.Options{
		Name: CatalogName, URI: o.URI, Location: location, Agent: o.Agent, RequestTimeout: o.RequestTimeout, RetryBudget: o.RetryBudget,
		MaxMemory: o.metadataMemory(), Now: o.Now, Log: o.Log,
	}
	if !o.unnamed {
		r.Warehouse = o.Warehouse
	}
	return r
}

// RedactURI is a catalog's URI without credentials and options.
func RedactURI(uri string) string { return caturi.Redact(uri) }

// sqliteOptions: readers do not block the writer (WAL), writers wait for one another up to 30 s, and a
// transaction that will write takes its lock when it begins, so that it can wait instead of failing later.
// synchronous=FULL makes a commit survive a power cut under WAL.
const sqliteOptions = "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)&_pragma=synchronous(FULL)&_txlock=immediate"

func openSQLite(ctx context.Context, path string, access Access, props iceberg.Properties) (icecatalog.Catalog, string, func() error, error) {
	if strings.ContainsAny(path, "?#") || path == "" {
		return nil, "", nil, fmt.Errorf("%w: catalog %q: must be sqlite:PATH", ErrInvalid, caturi.Redact("sqlite:"+path))
	}
	abs, err := filepath.Abs(strings.TrimPrefix(path, "//"))
	if err != nil {
		return nil, "", nil, err
	}
	// The program itself is called shardcat, as the default folder is: in the folder of an unpacked archive it is in the way.
	if info, err := os.Stat(filepath.Dir(abs)); err == nil && !info.IsDir() {
		return nil, "", nil, fmt.Errorf("%w: catalog sqlite:%s: %s is a file, not a folder; run shardcat in another folder, or set another catalog with "+
			"--catalog sqlite:PATH and another --warehouse", ErrInvalid, abs, filepath.Dir(abs))
	}
	if access != ReadWrite {
		if _, err := os.Stat(abs); errors.Is(err, os.ErrNotExist) {
			return nil, "", nil, fmt.Errorf("catalog sqlite:%s: %w; create it with the first table: shardcat ingest TABLE FILE --create",
				abs, ErrNotFound)
		}
	}
	if access == ReadOnly {
		return readSQLite(ctx, abs, props)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o777); err != nil {
		return nil, "", nil, fmt.Errorf("catalog: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+abs+sqliteOptions)
	if err != nil {
		return nil, "", nil, fmt.Errorf("catalog %s: %w", abs, err)
	}
	return sqlCatalog(ctx, sqlDatabase{db, sqlcatalog.SQLite, "sqlite:" + abs, sqlcat.Reads{}}, access, props)
}

// readSQLite opens a file to read. Under WAL even a reader wants to write an index of the log beside the file. Where
// it can't, and no log is there, nobody is writing and the file can be read as it lies; a log that is there holds
// commits, which must not be passed over.
func readSQLite(ctx context.Context, abs string, props iceberg.Properties) (icecatalog.Catalog, string, func() error, error) {
	open := func(options string) (icecatalog.Catalog, string, func() error, error) {
		db, err := sql.Open("sqlite", "file:"+abs+options)
		if err != nil {
			return nil, "", nil, fmt.Errorf("catalog %s: %w", abs, err)
		}
		return sqlCatalog(ctx, sqlDatabase{db, sqlcatalog.SQLite, "sqlite:" + abs, sqlcat.Reads{}}, ReadOnly, props)
	}
	ice, identity, closer, err := open("?mode=ro&_pragma=busy_timeout(30000)")
	if err == nil || errors.Is(err, ErrNotFound) {
		return ice, identity, closer, err
	}
	if log, statErr := os.Stat(abs + "-wal"); statErr == nil && log.Size() > 0 {
		return nil, "", nil, fmt.Errorf("%w; it has a write-ahead log of commits, which can be read only with write permission for %s",
			err, filepath.Dir(abs))
	}
	return open("?mode=ro&immutable=1")
}

func openPostgres(ctx context.Context, o Options, props iceberg.Properties) (icecatalog.Catalog, string, func() error, error) {
	uri, identity := o.URI, caturi.Redact(o.URI)
	if strings.HasSuffix(identity, ":…") { // the driver's errors would name parts of it
		return nil, "", nil, fmt.Errorf("%w: catalog %s: must be postgres://USER:PASSWORD@HOST/DATABASE, with / and @ in a password written %%2F and %%40",
			ErrInvalid, identity)
	}
	db, err := sql.Open("pgx", uri)
	reads := readsOf(o, identity)
	if err == nil {
		if err = reads.Do(ctx, db.PingContext); err != nil && commiterr.IsOutage(err) {
			return nil, "", nil, errors.Join(fmt.Errorf("catalog %s: %w", identity, &unreachable{strings.ReplaceAll(err.Error(), uri, identity)}), db.Close())
		}
	}
	if err != nil { // the driver's error may repeat the URI
		return nil, "", nil, fmt.Errorf("catalog %s: %s", identity, strings.ReplaceAll(err.Error(), uri, identity))
	}
	return sqlCatalog(ctx, sqlDatabase{db, sqlcatalog.Postgres, identity, reads}, o.Access, props)
}

// readsOf are the reads of a database on another machine by the options of a catalog.
func readsOf(o Options, identity string) sqlcat.Reads {
	r := sqlcat.Reads{Budget: cmp.Or(o.RetryBudget, resthttp.DefaultBudget), Timeout: cmp.Or(o.RequestTimeout, resthttp.DefaultReadTimeout)}
	r.Waiting, r.Recovered = resthttp.OutageLog(o.Log, identity)
	return r
}

// unreachable is an error of a driver without its cause, which may repeat secrets.
type unreachable struct{ text string }

func (u *unreachable) Error() string { return u.text }

func (u *unreachable) Is(target error) bool { return target == ErrUnreachable }

// tablesThere requests what every SQL catalog has.
const tablesThere = "SELECT count(*) FROM iceberg_tables WHERE 1 = 0"

// sqlDatabase is a database that is open, and what names it without secrets.
type sqlDatabase struct {
	*sql.DB
	dialect  sqlcatalog.SupportedDialect
	identity string
	reads    sqlcat.Reads
}

// sqlCatalog opens the catalog in a database, which is closed with it.
func sqlCatalog(ctx context.Context, db sqlDatabase, access Access, props iceberg.Properties) (icecatalog.Catalog, string, func() error, error) {
	if access != ReadWrite {
		props = maps.Clone(props)
		props["init_catalog_tables"] = "false"
		if _, err := db.ExecContext(ctx, tablesThere); err != nil {
			return nil, "", nil, errors.Join(notACatalog(db.identity, err), db.Close())
		}
	}
	ice, err := sqlcatalog.NewCatalog(CatalogName, db.DB, db.dialect, props)
	if err != nil {
		return nil, "", nil, errors.Join(fmt.Errorf("catalog %s: %w", db.identity, err), db.Close())
	}
	tables := sqlcat.New(context.Background(), ice, sqlcat.Options{Name: CatalogName, DB: db.DB, Dialect: db.dialect, Reads: db.reads})
	return tables, db.identity, func() error { return errors.Join(ice.Close(), db.Close()) }, nil
}

// notACatalog distinguishes a database that holds no catalog from one that can't be reached.
func notACatalog(identity string, err error) error {
	if text := err.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "does not exist") {
		return fmt.Errorf("catalog %s: %w: the database has no tables of an Iceberg catalog", identity, ErrNotFound)
	}
	return fmt.Errorf("catalog %s: %w", identity, err)
}

package sqlcat

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/resthttp"
	"github.com/shardcat/shardcat/catalog/internal/sqldb"
)

// Options of Open.
type Options struct {
	// URI is sqlite:PATH or postgres://….
	URI string
	// Name under which tables stand in the database.
	Name string
	// Create makes a missing SQLite file and missing tables; without it they are caterr.ErrNotFound. ReadOnly writes nothing.
	Create, ReadOnly bool
	// RequestTimeout and RetryBudget bound reads of a database on another machine.
	RequestTimeout, RetryBudget time.Duration
	// Log takes the begin and the end of outages.
	Log *slog.Logger
	// Properties of iceberg-go's catalog.
	Properties iceberg.Properties
}

// Open opens the catalog in a database; the tables need an IO before use (UseIO). identity names the database without secrets.
func Open(ctx context.Context, o Options) (tables *Tables, identity string, err error) {
	if path, ok := strings.CutPrefix(o.URI, "sqlite:"); ok {
		return openSQLite(ctx, path, o)
	}
	return openPostgres(ctx, o)
}

// sqliteOptions: readers do not block the writer (WAL), writers wait for one another up to 30 s, and a
// transaction that will write takes its lock when it begins, so that it can wait instead of failing later.
// synchronous=FULL makes a commit survive a power cut under WAL.
const sqliteOptions = "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)&_pragma=synchronous(FULL)&_txlock=immediate"

func openSQLite(ctx context.Context, path string, o Options) (*Tables, string, error) {
	if strings.ContainsAny(path, "?#") || path == "" {
		return nil, "", fmt.Errorf("%w: catalog %q: must be sqlite:PATH", caterr.ErrInvalid, caturi.Redact("sqlite:"+path))
	}
	abs, err := filepath.Abs(strings.TrimPrefix(path, "//"))
	if err != nil {
		return nil, "", err
	}
	// The program itself is called shardcat, as the default folder is: in the folder of an unpacked archive it is in the way.
	if info, err := os.Stat(filepath.Dir(abs)); err == nil && !info.IsDir() {
		return nil, "", fmt.Errorf("%w: catalog sqlite:%s: %s is a file, not a folder; run shardcat in another folder, or set another catalog with "+
			"--catalog sqlite:PATH and another --warehouse", caterr.ErrInvalid, abs, filepath.Dir(abs))
	}
	if !o.Create {
		if _, err := os.Stat(abs); errors.Is(err, os.ErrNotExist) {
			return nil, "", fmt.Errorf("catalog sqlite:%s: %w; create it with the first table: shardcat ingest TABLE FILE --create",
				abs, caterr.ErrNotFound)
		}
	}
	if o.ReadOnly {
		return readSQLite(ctx, abs, o)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o777); err != nil {
		return nil, "", fmt.Errorf("catalog: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+abs+sqliteOptions)
	if err != nil {
		return nil, "", fmt.Errorf("catalog %s: %w", abs, err)
	}
	return openIn(ctx, database{sqldb.DB{DB: db, Dialect: sqlcatalog.SQLite}, "sqlite:" + abs, Reads{}}, o)
}

// readSQLite opens a file to read. Under WAL even a reader wants to write an index of the log beside the file. Where
// it can't, and no log is there, nobody is writing and the file can be read as it lies; a log that is there holds
// commits, which must not be passed over.
func readSQLite(ctx context.Context, abs string, o Options) (*Tables, string, error) {
	open := func(options string) (*Tables, string, error) {
		db, err := sql.Open("sqlite", "file:"+abs+options)
		if err != nil {
			return nil, "", fmt.Errorf("catalog %s: %w", abs, err)
		}
		return openIn(ctx, database{sqldb.DB{DB: db, Dialect: sqlcatalog.SQLite}, "sqlite:" + abs, Reads{}}, o)
	}
	tables, identity, err := open("?mode=ro&_pragma=busy_timeout(30000)")
	if err == nil || errors.Is(err, caterr.ErrNotFound) {
		return tables, identity, err
	}
	if log, statErr := os.Stat(abs + "-wal"); statErr == nil && log.Size() > 0 {
		return nil, "", fmt.Errorf("%w; it has a write-ahead log of commits, which can be read only with write permission for %s",
			err, filepath.Dir(abs))
	}
	return open("?mode=ro&immutable=1")
}

func openPostgres(ctx context.Context, o Options) (*Tables, string, error) {
	uri, identity := o.URI, caturi.Redact(o.URI)
	if strings.HasSuffix(identity, ":…") { // the driver's errors would name parts of it
		return nil, "", fmt.Errorf("%w: catalog %s: must be postgres://USER:PASSWORD@HOST/DATABASE, with / and @ in a password written %%2F and %%40",
			caterr.ErrInvalid, identity)
	}
	db, err := sql.Open("pgx", uri)
	reads := readsOf(o, identity)
	if err == nil {
		if err = reads.Do(ctx, db.PingContext); err != nil && commiterr.IsOutage(err) {
			return nil, "", errors.Join(fmt.Errorf("catalog %s: %w", identity, &unreachable{strings.ReplaceAll(err.Error(), uri, identity)}), db.Close())
		}
	}
	if err != nil { // the driver's error may repeat the URI
		return nil, "", fmt.Errorf("catalog %s: %s", identity, strings.ReplaceAll(err.Error(), uri, identity))
	}
	return openIn(ctx, database{sqldb.DB{DB: db, Dialect: sqlcatalog.Postgres}, identity, reads}, o)
}

// readsOf are the reads of a database on another machine.
func readsOf(o Options, identity string) Reads {
	r := Reads{Budget: cmp.Or(o.RetryBudget, resthttp.DefaultBudget), Timeout: cmp.Or(o.RequestTimeout, resthttp.DefaultReadTimeout)}
	r.Waiting, r.Recovered = resthttp.OutageLog(o.Log, identity)
	return r
}

// unreachable is an error of a driver without its cause, which may repeat secrets.
type unreachable struct{ text string }

func (u *unreachable) Error() string { return u.text }

func (u *unreachable) Is(target error) bool { return target == caterr.ErrUnreachable }

// tablesThere requests what every SQL catalog has.
const tablesThere = "SELECT count(*) FROM iceberg_tables WHERE 1 = 0"

// database is a database that is open, and what names it without secrets.
type database struct {
	sqldb.DB
	identity string
	reads    Reads
}

// openIn opens the catalog in a database, which is closed with it.
func openIn(ctx context.Context, db database, o Options) (*Tables, string, error) {
	props := o.Properties
	if !o.Create {
		props = maps.Clone(props)
		props["init_catalog_tables"] = "false"
		if _, err := db.ExecContext(ctx, tablesThere); err != nil {
			return nil, "", errors.Join(notACatalog(db.identity, err), db.Close())
		}
	}
	ice, err := sqlcatalog.NewCatalog(o.Name, db.DB.DB, db.Dialect, props)
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("catalog %s: %w", db.identity, err), db.Close())
	}
	tables := newTables(context.Background(), ice, o.Name, db)
	tables.closer = func() error { return errors.Join(ice.Close(), db.Close()) }
	return tables, db.identity, nil
}

// notACatalog distinguishes a database that holds no catalog from one that can't be reached.
func notACatalog(identity string, err error) error {
	if text := err.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "does not exist") {
		return fmt.Errorf("catalog %s: %w: the database has no tables of an Iceberg catalog", identity, caterr.ErrNotFound)
	}
	return fmt.Errorf("catalog %s: %w", identity, err)
}

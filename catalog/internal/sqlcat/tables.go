// Package sqlcat is an Iceberg catalog in an SQL database: on the rows that iceberg-go and other clients know, with an IO of its own for metadata files.
package sqlcat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
	"github.com/shardcat/shardcat/catalog/internal/commitqueue"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/catalog/internal/sqldb"
	"github.com/shardcat/shardcat/internal/parallel"
)

// Tables is iceberg-go's SQL catalog with the three operations that touch metadata files done here. iceberg-go
// finds the IO of a file by its scheme, in a registry that all tables of the process share; tables of this package
// have an IO of their own, and leave the registry to others. What stands in the database is the same:
//
//	iceberg_tables   catalog_name, table_namespace, table_name (key), metadata_location, previous_metadata_location,
//	                 iceberg_type ('TABLE', or null in rows of old clients; databases of old clients lack the column)
//
// A commit writes the next metadata file and then moves metadata_location on from the file that the change was made
// on: of two commits on one file one finds nothing to move.
type Tables struct {
	icecatalog.Catalog
	// name is that of the catalog in its database.
	name string
	db   sqldb.DB
	// untyped: the column iceberg_type is not there.
	untyped bool
	fs      table.FSysF
	// last are the states of tables that were loaded or committed last, by the name: metadata files never change, so that a commit on
	// the file that was loaded need not read it again.
	mu   sync.Mutex
	last map[string]*table.Table
	// reads are retried where the database is another machine's.
	reads  Reads
	closer func() error
}

// mostStates is how many states of tables are kept.
const mostStates = 16

// Keep keeps a state of a table, and returns it.
func (c *Tables) Keep(ident table.Identifier, t *table.Table) *table.Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strings.Join(ident, "\x00")
	if _, known := c.last[key]; c.last == nil || !known && len(c.last) >= mostStates {
		c.last = map[string]*table.Table{}
	}
	c.last[key] = t
	return t
}

// Base is the state that a commit is made on: the one that the database names, from memory where it was loaded by this process.
func (c *Tables) Base(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	at, err := c.Location(ctx, ident)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	t := c.last[strings.Join(ident, "\x00")]
	c.mu.Unlock()
	if t != nil && t.MetadataLocation() == at {
		return t, nil
	}
	return table.NewFromLocation(ctx, ident, at, c.fs, c)
}

// newTables are the tables of a catalog of iceberg-go, which does the rest.
func newTables(ctx context.Context, ice icecatalog.Catalog, name string, in database) *Tables {
	c := &Tables{Catalog: ice, name: name, db: in.DB, reads: in.reads}
	_, err := in.ExecContext(ctx, "SELECT iceberg_type FROM iceberg_tables WHERE 1 = 0")
	c.untyped = err != nil
	return c
}

// UseIO gives the tables their IO.
func (c *Tables) UseIO(fs table.FSysF) icecatalog.Catalog {
	c.fs = fs
	return c
}

// Close closes the database.
func (c *Tables) Close() error { return c.closer() }

// Queue is the one of the writers of the tables.
func (c *Tables) Queue() commitqueue.Queue { return commitqueue.NewSQL(c.db) }

// where is the condition that finds a table's row; its arguments come first.
func (c *Tables) where() string {
	const row = " WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3"
	if c.untyped {
		return row
	}
	return row + " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
}

// rowOf are the arguments of where.
func (c *Tables) rowOf(ident table.Identifier) []any {
	return []any{c.name, dotted(icecatalog.NamespaceFromIdent(ident)), icecatalog.TableNameFromIdent(ident)}
}

// Location is the current metadata file of a table; ErrNoSuchTable if there is none.
func (c *Tables) Location(ctx context.Context, ident table.Identifier) (string, error) {
	if err := icecatalog.ValidateTableIdentifier(ident); err != nil {
		return "", err
	}
	var at sql.NullString
	err := c.reads.Do(ctx, func(ctx context.Context) error {
		return c.db.QueryRowContext(ctx, c.db.Spelled("SELECT metadata_location FROM iceberg_tables"+c.where()), c.rowOf(ident)...).Scan(&at)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", fmt.Errorf("%w: %s", icecatalog.ErrNoSuchTable, dotted(ident))
	case err != nil:
		return "", fmt.Errorf("looking up table %s: %w", dotted(ident), err)
	case !at.Valid:
		return "", fmt.Errorf("%w: %s has no metadata file", icecatalog.ErrNoSuchTable, dotted(ident))
	}
	return at.String, nil
}

// Row is a table of a catalog in the database, and its metadata file.
type Row struct{ Catalog, Namespace, Table, Metadata string }

// Rows lists the tables of every catalog in the database.
func (c *Tables) Rows(ctx context.Context) (out []Row, err error) {
	query := "SELECT catalog_name, table_namespace, table_name, metadata_location FROM iceberg_tables WHERE metadata_location IS NOT NULL"
	if !c.untyped {
		query += " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
	}
	found, err := c.db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("listing all tables: %w", err)
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() {
		var r Row
		if err := found.Scan(&r.Catalog, &r.Namespace, &r.Table, &r.Metadata); err != nil {
			return nil, fmt.Errorf("listing all tables: %w", err)
		}
		out = append(out, r)
	}
	return out, found.Err()
}

// LoadTable implements icecatalog.Catalog.
func (c *Tables) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	at, err := c.Location(ctx, ident)
	if err != nil {
		return nil, err
	}
	t, err := table.NewFromLocation(ctx, ident, at, c.fs, c)
	if err != nil {
		return nil, err
	}
	return c.Keep(ident, t), nil
}

// CreateTable implements icecatalog.Catalog; the location must be given.
func (c *Tables) CreateTable(ctx context.Context, ident table.Identifier, sc *iceberg.Schema, opts ...icecatalog.CreateTableOpt) (*table.Table, error) {
	if err := icecatalog.ValidateTableIdentifier(ident); err != nil {
		return nil, err
	}
	var cfg icecatalog.CreateTableCfg
	for _, opt := range opts {
		opt(&cfg)
	}
	if cfg.Location == "" {
		return nil, fmt.Errorf("%w: table %s has no location", caterr.ErrInvalid, dotted(ident))
	}
	metadata, err := table.NewMetadata(sc, cfg.PartitionSpec, cfg.SortOrder, cfg.Location, cfg.Properties)
	if err != nil {
		return nil, err
	}
	if err := c.insert(ctx, ident, metadata); err != nil {
		return nil, err
	}
	return c.LoadTable(ctx, ident)
}

// CommitTable implements icecatalog.Catalog. A change that is based on a state which is no longer the current one
// is table.ErrCommitFailed.
func (c *Tables) CommitTable(ctx context.Context, ident table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	return c.CommitAfter(ctx, ident, requirements, updates, nil)
}

// CommitAfter is CommitTable of a change that names files which are read back while the metadata file is written, before the database is
// asked.
func (c *Tables) CommitAfter(ctx context.Context, ident table.Identifier, requirements []table.Requirement, updates []table.Update, later *metadataio.ReadBacks) (table.Metadata, string, error) {
	current, err := c.Base(ctx, ident)
	if errors.Is(err, icecatalog.ErrNoSuchTable) && creates(requirements) {
		return c.commitFirst(ctx, ident, requirements, updates)
	}
	if err != nil {
		return nil, "", commiterr.Unsent(err)
	}
	next, err := changed(current.Metadata(), current.Metadata(), current.MetadataLocation(), requirements, updates)
	if err != nil {
		return nil, "", err
	}
	if next.Equals(current.Metadata()) {
		return current.Metadata(), current.MetadataLocation(), nil
	}
	version, err := metadataio.Version(current.MetadataLocation())
	if err != nil {
		return nil, "", commiterr.Unsent(err)
	}
	readBack := make(chan error, 1)
	go func() { readBack <- parallel.Guarded(func() error { return later.Do(ctx) }) }()
	at, err := c.write(ctx, next, version+1)
	if failed := <-readBack; failed != nil {
		if err == nil { // nobody will name it
			c.remove(ctx, at)
		}
		return nil, "", commiterr.Unsent(failed)
	}
	if err != nil {
		return nil, "", commiterr.Unsent(err)
	}
	if err := c.move(ctx, ident, current.MetadataLocation(), at); err != nil {
		return next, at, err
	}
	c.Keep(ident, table.New(ident, next, at, c.fs, c))
	return next, at, nil
}

// commitFirst commits to a table that isn't there: it makes one, if the requirements allow.
func (c *Tables) commitFirst(ctx context.Context, ident table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	empty, err := table.NewMetadata(iceberg.NewSchema(0), nil, table.UnsortedSortOrder, "", nil)
	if err != nil {
		return nil, "", err
	}
	metadata, err := changed(nil, empty, "", requirements, updates)
	if err != nil {
		return nil, "", err
	}
	if err := c.insert(ctx, ident, metadata); err != nil {
		return nil, "", err
	}
	at, err := c.Location(ctx, ident)
	return metadata, at, err
}

// creates reports whether a change makes a table.
func creates(requirements []table.Requirement) bool {
	return slices.ContainsFunc(requirements, func(r table.Requirement) bool { return r.GetType() == table.AssertCreate().GetType() })
}

// changed applies updates to base if the current state (nil for no table) meets the requirements.
func changed(current, base table.Metadata, at string, requirements []table.Requirement, updates []table.Update) (table.Metadata, error) {
	for _, r := range requirements {
		if err := r.Validate(current); err != nil {
			return nil, &commiterr.Error{Class: commiterr.Conflict, Local: true, Err: err}
		}
	}
	next, err := table.UpdateTableMetadata(base, updates, at)
	if err != nil {
		return nil, &commiterr.Error{Class: commiterr.Refused, Local: true, Invalid: true, Err: err}
	}
	if lost := lostRef(current, next, updates); lost != "" {
		err := fmt.Errorf("requirement failed: %q refers to a snapshot that the change removes", lost)
		return nil, &commiterr.Error{Class: commiterr.Conflict, Local: true, Err: err}
	}
	return next, nil
}

// lostRef names a branch or tag that goes because the change removes its snapshot: it was made since the change was planned. No requirement of
// Iceberg can exclude that; servers of REST catalogs let it go.
func lostRef(current, next table.Metadata, updates []table.Update) string {
	removes := func(u table.Update) bool { return u.Action() == table.UpdateRemoveSnapshots }
	if current == nil || !slices.ContainsFunc(updates, removes) {
		return ""
	}
	kept := maps.Collect(next.Refs())
	for name := range current.Refs() {
		if _, ok := kept[name]; !ok {
			return name
		}
	}
	return ""
}

// move points a table from one metadata file to the next, which was written for that and is deleted if the move is refused.
func (c *Tables) move(ctx context.Context, ident table.Identifier, from, to string) error {
	refused, err := c.Point(ctx, ident, from, to)
	if refused {
		err = errors.Join(err, c.forget(ctx, to))
	}
	return err
}

// Point points a table from one metadata file to another one. It reports whether an error is the proof that the table does not name that file; the
// file stays.
func (c *Tables) Point(ctx context.Context, ident table.Identifier, from, to string) (refused bool, err error) {
	set := "UPDATE iceberg_tables SET metadata_location = $4, previous_metadata_location = $5"
	if !c.untyped {
		set += ", iceberg_type = 'TABLE'"
	}
	moved, err := c.db.Change(ctx, set+c.where()+" AND metadata_location = $5", append(c.rowOf(ident), to, from)...)
	if err != nil {
		return false, databaseError(fmt.Errorf("committing to table %s: %w", dotted(ident), err))
	}
	if moved > 0 {
		return false, nil
	}
	lost := fmt.Errorf("%w: another writer committed to table %s", table.ErrCommitFailed, dotted(ident))
	// A statement that a driver or a proxy sent twice finds nothing to move the second time.
	switch at, err := c.Location(ctx, ident); {
	case err == nil && at == to:
		return false, &commiterr.Error{Class: commiterr.Unknown, Err: lost}
	case errors.Is(err, icecatalog.ErrNoSuchTable): // dropped, or renamed after the first of two
		if named, err := c.names(ctx, to); named || err != nil {
			return false, &commiterr.Error{Class: commiterr.Unknown, Err: errors.Join(lost, err)}
		}
	case err != nil:
		return false, errors.Join(lost, err)
	}
	return true, lost
}

// names reports whether a metadata file is that of any table.
func (c *Tables) names(ctx context.Context, at string) (bool, error) {
	n := 0
	err := c.reads.Do(ctx, func(ctx context.Context) error {
		return c.db.QueryRowContext(ctx, c.db.Spelled("SELECT COUNT(*) FROM iceberg_tables WHERE metadata_location = $1"), at).Scan(&n)
	})
	return n > 0, err
}

// insert adds a table whose first metadata these are. The namespace must be there, and the name be free.
func (c *Tables) insert(ctx context.Context, ident table.Identifier, metadata table.Metadata) error {
	at, err := c.write(ctx, metadata, 0)
	if err != nil {
		return commiterr.Unsent(err)
	}
	added, err := c.add(ctx, ident, at)
	if err != nil || added {
		return err
	}
	return errors.Join(c.refused(ctx, ident), c.forget(ctx, at))
}

// add puts a metadata file into the catalog; false means that its name is taken or its namespace not there.
func (c *Tables) add(ctx context.Context, ident table.Identifier, at string) (bool, error) {
	column, value := ", iceberg_type", ", 'TABLE'"
	if c.untyped {
		column, value = "", ""
	}
	added, err := c.db.Change(ctx, "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location"+column+
		") SELECT CAST($1 AS VARCHAR), CAST($2 AS VARCHAR), CAST($3 AS VARCHAR), CAST($4 AS VARCHAR)"+value+
		" WHERE EXISTS (SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = $1 AND namespace = $2)"+
		" OR EXISTS (SELECT 1 FROM iceberg_tables WHERE catalog_name = $1 AND table_namespace = $2) ON CONFLICT DO NOTHING",
		append(c.rowOf(ident), at)...)
	if err != nil {
		return false, databaseError(fmt.Errorf("adding table %s: %w", dotted(ident), err))
	}
	return added > 0, nil
}

// refused reports why a table was not added.
func (c *Tables) refused(ctx context.Context, ident table.Identifier) error {
	there, err := c.CheckNamespaceExists(ctx, icecatalog.NamespaceFromIdent(ident))
	switch {
	case err != nil:
		return err
	case there:
		return fmt.Errorf("%w: %s", icecatalog.ErrTableAlreadyExists, dotted(ident))
	}
	return fmt.Errorf("%w: %s", icecatalog.ErrNoSuchNamespace, dotted(icecatalog.NamespaceFromIdent(ident)))
}

// write writes metadata as the table's file of the given version and returns its location.
func (c *Tables) write(ctx context.Context, metadata table.Metadata, version int) (string, error) {
	text, codec, err := metadataio.Encode(metadata)
	if err != nil {
		return "", fmt.Errorf("the metadata file in %s: %w", metadata.Location(), err)
	}
	named := maps.Clone(metadata.Properties())
	if named == nil {
		named = iceberg.Properties{}
	}
	named[table.MetadataCompressionKey] = codec
	provider, err := table.LoadLocationProvider(metadata.Location(), named)
	if err != nil {
		return "", err
	}
	at, err := provider.NewTableMetadataFileLocation(version)
	if err != nil {
		return "", err
	}
	fs, err := c.fs(ctx)
	if err != nil {
		return "", err
	}
	return at, fs.(iceio.WriteFileIO).WriteFile(at, text)
}

// remove deletes a metadata file that nothing names. One that stays is some kilobytes.
func (c *Tables) remove(ctx context.Context, at string) {
	if fs, err := c.fs(ctx); err == nil {
		_ = fs.Remove(at)
	}
}

// databaseError gives the error of a statement the class that the database's own code proves: a statement that ended with an error of
// these codes changed nothing.
func databaseError(err error) error {
	if lite := (*sqlite.Error)(nil); errors.As(err, &lite) {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return &commiterr.Error{Class: commiterr.Later, Local: true, Err: err}
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL,
			sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_NOTADB:
			return &commiterr.Error{Class: commiterr.Refused, Local: true, Err: err}
		}
	}
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Severity == "ERROR" && len(pg.Code) == 5 {
		switch pg.Code[:2] {
		case "40", "55": // serialization failures and locks
			return &commiterr.Error{Class: commiterr.Later, Local: true, Err: err}
		case "22", "23", "25", "28", "42", "54":
			return &commiterr.Error{Class: commiterr.Refused, Local: true, Err: err}
		}
	}
	return err
}

func dotted(ident table.Identifier) string { return strings.Join(ident, ".") }

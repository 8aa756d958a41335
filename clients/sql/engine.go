package shardsql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"sync"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
)

// Options of Open. The zero value is valid.
type Options struct {
	// Database is a file of DuckDB for tables of one's own; empty is memory.
	Database string
	// MaxMemory is what the scans of a query may take together, in bytes, and again what DuckDB may take before it writes to
	// temporary files; shardfmt.DefaultMaxMemory if 0.
	MaxMemory int64
	// NoPushdown reads all rows of the columns that are requested, whatever the conditions.
	NoPushdown bool
}

// Engine answers queries, one at a time. It is not for concurrent use; many engines over one catalog are.
type Engine struct {
	cat    *catalog.Catalog
	o      Options
	db     duckdb.Database
	conn   duckdb.Connection
	handle unsafe.Pointer
	// types is the connection by which Arrow's types become DuckDB's: the other one is busy while a query runs.
	types duckdb.Connection

	mu sync.Mutex
	// asked is the query that runs, nil if none does.
	asked *query
}

// Open makes an engine over a catalog, which stays the caller's to close.
func Open(c *catalog.Catalog, o Options) (*Engine, error) {
	o.MaxMemory = cmp.Or(o.MaxMemory, shardfmt.DefaultMaxMemory)
	e := &Engine{cat: c, o: o}
	config := duckdb.Config{}
	if duckdb.CreateConfig(&config) == duckdb.StateError {
		return nil, errors.New("duckdb: no configuration")
	}
	defer duckdb.DestroyConfig(&config)
	duckdb.SetConfig(config, "memory_limit", fmt.Sprintf("%dB", o.MaxMemory))
	var message string
	if duckdb.OpenExt(o.Database, &e.db, config, &message) == duckdb.StateError {
		return nil, fmt.Errorf("duckdb: %s", message)
	}
	if duckdb.Connect(e.db, &e.conn) == duckdb.StateError || duckdb.Connect(e.db, &e.types) == duckdb.StateError {
		return nil, errors.Join(errors.New("duckdb: no connection"), e.Close())
	}
	e.handle = newHandle(e)
	if err := e.register(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	// Names of tables are distinguished from functions by quotes alone, and instants are shown in UTC, as scans show them.
	if _, err := e.text(context.Background(), "SET TimeZone = 'UTC'"); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close lets go of DuckDB. Results must be closed before.
func (e *Engine) Close() error {
	if e.conn.Ptr != nil {
		duckdb.Disconnect(&e.conn)
	}
	if e.types.Ptr != nil {
		duckdb.Disconnect(&e.types)
	}
	if e.db.Ptr != nil {
		duckdb.Close(&e.db)
	}
	if e.handle != nil {
		freeHandle(e.handle)
		e.handle = nil
	}
	return nil
}

// Query answers one statement. Close the result before the next query. An error of SQL is ErrSQL.
func (e *Engine) Query(ctx context.Context, statement string) (*Result, error) {
	q := &query{engine: e, ctx: ctx, tables: map[string]*catalog.Table{}, filters: map[int64]string{}}
	if err := e.begin(q); err != nil {
		return nil, err
	}
	rewritten, scans := e.named(q, statement)
	if scans > 0 {
		q.tablesNamed = scans
		if !e.o.NoPushdown {
			q.filters = e.conditions(ctx, rewritten)
		}
		statement = rewritten
	}
	q.scans = nil // those of the plan that was looked at
	r, err := e.run(q, statement)
	if err != nil {
		e.end(q)
		return nil, err
	}
	return r, nil
}

// ErrSQL is a statement that DuckDB refuses or fails at.
var ErrSQL = errors.New("SQL")

// sqlError reports DuckDB's message; what the reading of a table failed with comes first.
func (q *query) sqlError(message string) error {
	if err := q.ctx.Err(); err != nil {
		return err
	}
	if err := q.failed(); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrSQL, strings.TrimSpace(message))
}

func (e *Engine) begin(q *query) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked != nil {
		return fmt.Errorf("%w: a query is running; close its result first", catalog.ErrInvalid)
	}
	e.asked = q
	return nil
}

func (e *Engine) end(q *query) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked == q {
		e.asked = nil
	}
}

// current is the query that runs.
func (e *Engine) current() *query {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

// newHandle makes a pointer of C's memory that stands for a value of Go.
func newHandle(v any) unsafe.Pointer {
	p := callocHandle()
	*(*cgo.Handle)(p) = cgo.NewHandle(v)
	return p
}

// valueOf is the value that a pointer of newHandle stands for.
func valueOf[T any](p unsafe.Pointer) T { return (*(*cgo.Handle)(p)).Value().(T) }

package shardsql

import (
	"context"
	"sync"

	"github.com/shardcat/shardcat/catalog"
)

// query is what the scans of one query share. Its methods are safe for concurrent use, for DuckDB begins scans on many
// threads.
type query struct {
	engine *Engine
	ctx    context.Context
	// filters are those of scans by their number in the query.
	filters map[int64]string
	// tablesNamed is how many scans share the memory of the query, as far as that is known.
	tablesNamed int64

	mu sync.Mutex
	// tables are as they were when the query first named them, so that all of its scans see one state.
	tables map[string]*catalog.Table
	scans  []*Scan
	err    error
}

// Scan is what a query read of a table.
type Scan struct {
	Table string `json:"table"`
	// Columns that were read, and the filter that came from the query's conditions.
	Columns []string `json:"columns"`
	Where   string   `json:"where,omitempty"`
	catalog.ScanStats
}

// table loads a table once for a query.
func (q *query) table(text string) (*catalog.Table, error) {
	name, err := catalog.ParseName(text)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.tables[name.String()]; t != nil {
		return t, nil
	}
	t, err := q.engine.cat.Load(q.ctx, name)
	if err != nil {
		return nil, err
	}
	q.tables[name.String()] = t
	return t, nil
}

// fail keeps the first error of the scans, which DuckDB would tell as text alone.
func (q *query) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
}

func (q *query) failed() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

package shardsql

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// Result is the rows of a query, as DuckDB makes them: an array.RecordReader with one reference. It is not for concurrent use.
type Result struct {
	query   *query
	stop    func() bool
	pending duckdb.Result
	options duckdb.ArrowOptions
	schema  *arrow.Schema
	batch   arrow.RecordBatch
	err     error
	closed  bool
	refs    atomic.Int64
}

// run begins a statement, which is one.
func (e *Engine) run(q *query, statement string) (*Result, error) {
	var statements duckdb.ExtractedStatements
	n := duckdb.ExtractStatements(e.conn, statement, &statements)
	defer duckdb.DestroyExtracted(&statements)
	switch {
	case n == 0:
		if message := duckdb.ExtractStatementsError(statements); message != "" {
			return nil, q.sqlError(message)
		}
		return nil, fmt.Errorf("%w: no statement", ErrSQL)
	case n > 1:
		return nil, fmt.Errorf("%w: %d statements; run one at a time", ErrSQL, n)
	}
	stop := context.AfterFunc(q.ctx, func() { duckdb.Interrupt(e.conn) })
	r, err := e.execute(q, statements)
	if err != nil {
		stop()
		return nil, err
	}
	r.stop = stop
	return r, nil
}

func (e *Engine) execute(q *query, statements duckdb.ExtractedStatements) (*Result, error) {
	var prepared duckdb.PreparedStatement
	state := duckdb.PrepareExtractedStatement(e.conn, statements, 0, &prepared)
	defer duckdb.DestroyPrepare(&prepared)
	if state == duckdb.StateError {
		return nil, q.sqlError(duckdb.PrepareError(prepared))
	}
	var pending duckdb.PendingResult
	state = duckdb.PendingPreparedStreaming(prepared, &pending)
	defer duckdb.DestroyPending(&pending)
	if state == duckdb.StateError {
		return nil, q.sqlError(duckdb.PendingError(pending))
	}
	r := &Result{query: q}
	r.refs.Store(1)
	if duckdb.ExecutePending(pending, &r.pending) == duckdb.StateError {
		err := q.sqlError(duckdb.ResultError(&r.pending))
		duckdb.DestroyResult(&r.pending)
		return nil, err
	}
	if err := r.describe(); err != nil {
		r.free()
		return nil, err
	}
	return r, nil
}

// describe finds the Arrow schema of the rows.
func (r *Result) describe() (err error) {
	r.options = duckdb.ResultGetArrowOptions(&r.pending)
	n := duckdb.ColumnCount(&r.pending)
	names, types := make([]string, n), make([]duckdb.LogicalType, n)
	for i := range n {
		names[i], types[i] = duckdb.ColumnName(&r.pending, i), duckdb.ColumnLogicalType(&r.pending, i)
		defer duckdb.DestroyLogicalType(&types[i])
	}
	s, told := duckdb.NewArrowSchema(r.options, types, names)
	r.schema = s
	return dataError(told)
}

// Schema of the rows.
func (r *Result) Schema() *arrow.Schema { return r.schema }

// Next goes to the next batch; false means that there is none, or an error.
func (r *Result) Next() bool {
	r.drop()
	if r.err != nil || r.closed {
		return false
	}
	chunk := duckdb.FetchChunk(r.pending)
	defer duckdb.DestroyDataChunk(&chunk)
	if message := duckdb.ResultError(&r.pending); message != "" {
		r.err = r.query.sqlError(message)
		return false
	}
	if chunk.Ptr == nil || duckdb.DataChunkGetSize(chunk) == 0 {
		r.err = r.query.failed()
		return false
	}
	batch, told := duckdb.DataChunkToArrowArray(r.options, r.schema, chunk)
	if r.err = dataError(told); r.err != nil {
		return false
	}
	r.batch = batch
	return true
}

// RecordBatch is the current batch, valid until the next call of Next.
func (r *Result) RecordBatch() arrow.RecordBatch { return r.batch }

// Record is RecordBatch by its old name.
func (r *Result) Record() arrow.RecordBatch { return r.batch }

// Err is what ended the rows early, nil if they are whole.
func (r *Result) Err() error { return r.err }

func (r *Result) drop() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

// Retain counts a reference, as array.RecordReader has it.
func (r *Result) Retain() { r.refs.Add(1) }

// Release drops a reference; with the last one it is Close.
func (r *Result) Release() {
	if r.refs.Add(-1) == 0 {
		r.Close()
	}
}

// Close ends the query, whether or not all rows were read.
func (r *Result) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.stop()
	r.drop()
	r.free()
	r.query.engine.end(r.query)
}

func (r *Result) free() {
	duckdb.DestroyArrowOptions(&r.options)
	duckdb.DestroyResult(&r.pending)
}

// Scans report what the query read of which tables, in the order in which their scans began. They are complete once the
// result is closed.
func (r *Result) Scans() []*Scan { return r.query.scans }

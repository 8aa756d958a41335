package shardsql

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// converter makes chunks of DuckDB of the batches of one schema. Safe for concurrent use.
type converter struct {
	engine *Engine
	schema duckdb.ArrowConvertedSchema
}

func (e *Engine) converter(types *arrow.Schema) (*converter, error) {
	s, told := duckdb.SchemaFromArrow(e.types, types)
	if err := dataError(told); err != nil {
		return nil, err
	}
	return &converter{e, s}, nil
}

func (c *converter) close() { duckdb.DestroyArrowConvertedSchema(&c.schema) }

// convert makes a chunk, which shares the batch's memory and keeps it.
func (c *converter) convert(b arrow.RecordBatch) (duckdb.DataChunk, error) {
	b = rebase(b)
	defer b.Release()
	chunk, told := duckdb.DataChunkFromArrow(c.engine.types, b, c.schema)
	return chunk, dataError(told)
}

// dataError frees what DuckDB reports about a call, and is its error.
func dataError(told duckdb.ErrorData) error {
	defer duckdb.DestroyErrorData(&told)
	if duckdb.ErrorDataHasError(told) {
		return errors.New("duckdb: " + duckdb.ErrorDataMessage(told))
	}
	return nil
}

package shardsql

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	duckdb "github.com/duckdb/duckdb-go-bindings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// timeUnit is DuckDB's own, in which all years of the format can be determined; the last of seven digits is cut.
const timeUnit = "us"

// readers is how many of DuckDB's threads take batches of one scan. More find nothing to do, for the scan decodes them.
const readers = 4

// bound is a table in a query, before it is known which of its columns are read.
type bound struct {
	query *query
	table *catalog.Table
	types *arrow.Schema
	// number of the scan in the query, by which its filter is found; 0 has none.
	number int64
}

// bind reports DuckDB the columns of a table.
func (q *query) bind(info duckdb.BindInfo) (*bound, error) {
	name := duckdb.BindGetParameter(info, 0)
	defer duckdb.DestroyValue(&name)
	t, err := q.table(duckdb.GetVarchar(name))
	if err != nil {
		return nil, err
	}
	b := &bound{query: q, table: t}
	if duckdb.BindGetParameterCount(info) > 1 {
		number := duckdb.BindGetParameter(info, 1)
		defer duckdb.DestroyValue(&number)
		b.number = duckdb.GetInt64(number)
	}
	if b.types, err = t.ArrowSchema(timeUnit); err != nil {
		return nil, err
	}
	duckdb.BindSetCardinality(info, duckdb.IdxT(t.Describe().Records), false)
	return b, q.engine.columns(info, b.types)
}

// columns gives DuckDB the types that its own reader of Arrow makes of a schema.
func (e *Engine) columns(info duckdb.BindInfo, types *arrow.Schema) error {
	none := array.NewRecordBuilder(memory.DefaultAllocator, types).NewRecordBatch()
	defer none.Release()
	c, err := e.converter(types)
	if err != nil {
		return err
	}
	defer c.close()
	chunk, err := c.convert(none)
	if err != nil {
		return err
	}
	defer duckdb.DestroyDataChunk(&chunk)
	for i, f := range types.Fields() {
		kind := duckdb.VectorGetColumnType(duckdb.DataChunkGetVector(chunk, duckdb.IdxT(i)))
		duckdb.BindAddResultColumn(info, f.Name, kind)
		duckdb.DestroyLogicalType(&kind)
	}
	return nil
}

// stream is a scan at work. A goroutine of its own reads, for DuckDB calls on threads that Go's iterators can't follow.
type stream struct {
	bound  *bound
	cancel context.CancelFunc
	scan   *Scan
	// columns is how many of the batches go to DuckDB: none if it only counts.
	columns   int
	converter *converter
	batches   chan arrow.RecordBatch
	// err is what the reading ended with. It may be read when batches is closed.
	err error
}

// start plans a scan of the columns that DuckDB requests.
func (b *bound) start(info duckdb.InitInfo) (*stream, error) {
	o := catalog.ScanOptions{Select: []string{}, Ordered: true}
	for i := range duckdb.InitGetColumnCount(info) {
		if at := duckdb.InitGetColumnIndex(info, i); at < duckdb.IdxT(b.types.NumFields()) {
			o.Select = append(o.Select, schema.JoinPath(b.types.Field(int(at)).Name))
		} else if at != math.MaxUint64 { // what stands for no column
			return nil, fmt.Errorf("DuckDB asks for column %d of %d", at, b.types.NumFields())
		}
	}
	s := &stream{bound: b, columns: len(o.Select), scan: &Scan{Table: b.table.Name().String(), Columns: o.Select, Where: b.query.filters[b.number]}}
	if s.scan.Where != "" {
		var err error
		if o.Where, err = filter.Parse(s.scan.Where); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(b.query.ctx)
	s.cancel = cancel
	if err := s.open(ctx, o); err != nil {
		cancel()
		return nil, err
	}
	return s, nil
}

func (s *stream) open(ctx context.Context, o catalog.ScanOptions) error {
	q := s.bound.query
	q.mu.Lock()
	defer q.mu.Unlock() // a table is not for concurrent use
	p, err := s.bound.table.Plan(ctx, o)
	if err != nil {
		return err
	}
	p.LimitMemory(q.engine.o.MaxMemory / max(1, q.tablesNamed))
	opened := make(chan error)
	s.batches = make(chan arrow.RecordBatch)
	go s.read(ctx, p, opened)
	if err := <-opened; err != nil {
		return err
	}
	q.scans = append(q.scans, s.scan)
	return nil
}

// read gives the rows of a plan to DuckDB's threads, in pieces of the size of its vectors.
func (s *stream) read(ctx context.Context, p *catalog.Plan, opened chan<- error) {
	defer close(s.batches)
	reader, err := p.Reader(ctx, catalog.ReadOptions{TimeUnit: timeUnit, Stats: &s.scan.ScanStats})
	if err == nil {
		defer reader.Release()
		s.converter, err = s.bound.query.engine.converter(reader.Schema())
	}
	opened <- err
	if err != nil {
		return
	}
	s.err = parallel.Guarded(func() error {
		for reader.Next() {
			if !s.send(ctx, reader.RecordBatch()) {
				return ctx.Err()
			}
		}
		return reader.Err()
	})
}

// send reports whether the rows of a batch are still wanted.
func (s *stream) send(ctx context.Context, b arrow.RecordBatch) bool {
	size := int64(duckdb.VectorSize())
	for from := int64(0); from < b.NumRows(); from += size {
		piece := b.NewSlice(from, min(b.NumRows(), from+size))
		select {
		case s.batches <- piece:
		case <-ctx.Done():
			piece.Release()
			return false
		}
	}
	return true
}

// release ends the scan, when DuckDB has read enough of it.
func (s *stream) release() {
	s.cancel()
	for b := range s.batches {
		b.Release()
	}
	s.converter.close()
}

// fill gives DuckDB the next rows, none at the end. It is called by many threads at a time.
func (s *stream) fill(out duckdb.DataChunk) error {
	rows, ok := <-s.batches
	if !ok {
		return s.err
	}
	defer rows.Release()
	if s.columns > 0 {
		chunk, err := s.converter.convert(rows)
		if err != nil {
			return err
		}
		defer duckdb.DestroyDataChunk(&chunk)
		for i := range duckdb.IdxT(s.columns) {
			duckdb.VectorReferenceVector(duckdb.DataChunkGetVector(out, i), duckdb.DataChunkGetVector(chunk, i))
		}
	}
	duckdb.DataChunkSetSize(out, duckdb.IdxT(rows.NumRows()))
	return nil
}

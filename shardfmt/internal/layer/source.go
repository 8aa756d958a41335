package layer

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// errNoTypes is a file whose values can't be read, for nobody reported what they are.
var errNoTypes = &fileformat.OptionError{Name: optionTypes, Value: "", What: "the layer file has no types: set key and aux of each column, such as i64,string/u64,()"}

// Schema implements fileformat.File: k0, a0, k1, a1 and so on, without those of ().
func (f *File) Schema() *arrow.Schema {
	_, s := parts(f.types)
	return s
}

// source yields a row for every row of the last column, with the values of the rows that own it. It goes by the rows of
// the last column; a column before it has a cursor that moves on when its group ends.
type source struct {
	f      *File
	o      fileformat.ReadOptions
	parts  []part // those that are read
	schema *arrow.Schema
	levels []*Cursor
	batch  arrow.RecordBatch
}

// Read implements fileformat.File.
func (f *File) Read(_ context.Context, o fileformat.ReadOptions) (fileformat.Source, error) {
	if f.types == nil {
		return nil, errNoTypes
	}
	all, schema := parts(f.types)
	s := &source{f: f, o: o, parts: all, schema: schema}
	if s.o.BatchRows <= 0 {
		s.o.BatchRows = fileformat.DefaultBatchRows
	}
	if o.Columns != nil {
		var fields []arrow.Field
		s.parts = nil
		for _, i := range o.Columns {
			if i < 0 || i >= len(all) {
				return nil, fmt.Errorf("column %d of %d", i, len(all))
			}
			s.parts, fields = append(s.parts, all[i]), append(fields, schema.Field(i))
		}
		s.schema = arrow.NewSchema(fields, nil)
	}
	s.levels = make([]*Cursor, len(f.types))
	s.levels[0] = f.Group().Cursor()
	return s, nil
}

// Schema implements fileformat.Source.
func (s *source) Schema() *arrow.Schema { return s.schema }

// Report implements fileformat.Source: batches hold all values.
func (s *source) Report() *arrowtype.Report { return &arrowtype.Report{} }

// Close implements fileformat.Source.
func (s *source) Close() error {
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
	return nil
}

// maxBatchBytes is about the most that the byte strings of a batch take.
const maxBatchBytes = 16 << 20

// Next implements fileformat.Source.
func (s *source) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := s.Close(); err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.schema)
	defer b.Release()
	rows, size := int64(0), 0
	for rows < int64(s.o.BatchRows) && size < maxBatchBytes {
		more, err := s.advance(ctx, len(s.levels)-1)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		for i, p := range s.parts {
			v, err := s.value(p)
			if err != nil {
				return nil, err
			}
			size += len(v.Bytes)
			if err := p.t.appendTo(b.Field(i), v); err != nil {
				return nil, corrupt.Locate(err, s.f.url, 0)
			}
		}
		rows++
	}
	if rows == 0 {
		return nil, io.EOF
	}
	columns := make([]arrow.Array, len(s.parts))
	for i := range columns {
		columns[i] = b.Field(i).NewArray()
		defer columns[i].Release()
	}
	s.batch = array.NewRecordBatch(s.schema, columns, rows)
	return s.batch, nil
}

func (s *source) value(p part) (Value, error) {
	if p.aux {
		return s.levels[p.column].Aux()
	}
	return s.levels[p.column].Key()
}

// advance moves to the next row of a column, into the next group of the column before where its own ends.
func (s *source) advance(ctx context.Context, column int) (bool, error) {
	c := s.levels[column]
	if c != nil {
		if err := s.step(ctx, c, column); err != nil {
			return false, err
		}
		if c.Valid() || column == 0 {
			return c.Valid(), nil
		}
	}
	more, err := s.advance(ctx, column-1)
	if !more || err != nil {
		return false, err
	}
	g, err := s.levels[column-1].Group()
	if err != nil {
		return false, err
	}
	s.levels[column] = g.Cursor()
	err = s.levels[column].First(ctx)
	return s.levels[column].Valid(), err
}

// step moves a cursor on. Where the first column comes to a new block that the filter rules out by its bounds, the block
// is not read.
func (s *source) step(ctx context.Context, c *Cursor, column int) error {
	if column > 0 || s.o.MayMatch == nil || s.f.keyless(0) {
		return c.Next(ctx)
	}
	row := c.at + 1
	if c.data != nil && row < c.leaf.end && row > c.leaf.start {
		return c.Next(ctx)
	}
	next, err := s.f.nextMatch(ctx, s.f.top(0), row, s.o.MayMatch)
	if err != nil {
		return err
	}
	return c.Nth(ctx, next)
}

// nextMatch is the first row at or behind row whose block may match, or the number of rows.
func (f *File) nextMatch(ctx context.Context, n node, row uint64, mayMatch func(func(int) *filter.Stats) bool) (uint64, error) {
	if !n.index {
		return max(row, n.start), nil
	}
	x, err := n.open(ctx, f)
	if err != nil {
		return 0, err
	}
	for i := range x.n {
		child := n.child(x, i)
		if child.end <= row {
			continue
		}
		low, err := f.bound(0, x, n, 2*i)
		if err != nil {
			return 0, err
		}
		high, err := f.bound(0, x, n, 2*i+1)
		if err != nil {
			return 0, err
		}
		if !mayMatch(f.keyStats(ctx, child, low, high)) {
			continue
		}
		next, err := f.nextMatch(ctx, child, row, mayMatch)
		if err != nil || next < child.end {
			return next, err
		}
	}
	return n.end, nil
}

// keyStats are what the bounds of a block state about the keys of the first column, which is the first Arrow column.
// Of a leaf the filter reports more: one that can't be read rules nothing out.
func (f *File) keyStats(ctx context.Context, n node, low, high Value) func(int) *filter.Stats {
	t := f.types[0].Key
	return func(column int) *filter.Stats {
		if column != 0 || t.Kind == Unit || low.None || high.None {
			return nil
		}
		from, to := t.filterValue(low), t.filterValue(high)
		if from == nil || to == nil {
			return nil
		}
		stats := &filter.Stats{Positions: n.end - n.start, NullsKnown: true, NoNaNs: true, Min: from, Max: to}
		if !n.index {
			stats.MayContain = func(v filter.Value) bool {
				admitted, err := f.admits(ctx, n, Value{Int: v.Int, Uint: v.Uint, Bytes: v.Bytes})
				return admitted || err != nil
			}
		}
		return stats
	}
}

// filterValue puts a key into the terms of the filter, nil where the two orders differ.
func (t Type) filterValue(v Value) *filter.Value {
	switch t.Kind {
	case I8, I16, I32, I64:
		return &filter.Value{Int: v.Int}
	case U8, U16, U32, U64:
		return &filter.Value{Uint: v.Uint}
	case String, Bytes:
		return &filter.Value{Bytes: v.Bytes}
	}
	return nil
}

package tablescan

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/catalog/internal/rowsort"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// OrderKey is a column that a scan's rows are ordered by.
type OrderKey struct {
	// Column is a dotted path.
	Column string
	// Descending turns the order of the values; nulls come last in either order unless NullsFirst.
	Descending, NullsFirst bool
}

// sorted orders the rows of the plan, with bounded memory and temporary files, and leaves off what is beyond the limit.
func (p *Plan) sorted(ctx context.Context, stats *ScanStats) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		wide := *p
		wide.columns = append([]*schema.Node(nil), p.columns...)
		var keys []rowsort.Key
		for _, k := range p.options.OrderBy {
			n, err := p.state.Schema.Shard.Lookup(k.Column)
			if err != nil {
				yield(nil, fmt.Errorf("%w: %w", caterr.ErrInvalid, err))
				return
			}
			wide.columns = append(wide.columns, n)
			var path []string
			for _, step := range projection.PathTo(p.state.Schema.Shard.Fields, n) {
				path = append(path, step.Name)
			}
			keys = append(keys, rowsort.Key{Path: path, Descending: k.Descending, NullsFirst: k.NullsFirst})
		}
		s, err := rowsort.New(wide.Schema(), keys, p.sortOptions())
		if err != nil {
			yield(nil, fmt.Errorf("%w: %w", caterr.ErrInvalid, err))
			return
		}
		rows, err := wide.firstRows(ctx, stats)
		if err != nil {
			yield(nil, errors.Join(err, s.Close()))
			return
		}
		mapped(s.Drain(ctx, rows, p.state.Log), p.own())(yield)
	}
}

// sortOptions request as many rows as offset and limit leave.
func (p *Plan) sortOptions() rowsort.Options {
	o := rowsort.Options{Memory: p.options.SortMemory, Dir: p.options.SortDir}
	if limit := p.options.Limit; limit > 0 {
		o.Limit = limit + p.options.Offset
	}
	return o
}

// randomColumn is the key that a sample is drawn by. No column of a table has an empty name.
const randomColumn = ""

// sampled draws rows with equal chances: each gets a random number, and the rows of the lowest are kept.
func (p *Plan) sampled(ctx context.Context, stats *ScanStats) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		fields := append(p.Schema().Fields(), arrow.Field{Name: randomColumn, Type: arrow.PrimitiveTypes.Uint64})
		numbered := arrow.NewSchema(fields, nil)
		o := rowsort.Options{Memory: p.options.SortMemory, Dir: p.options.SortDir, Limit: p.options.Sample}
		s, err := rowsort.New(numbered, []rowsort.Key{{Path: []string{randomColumn}}}, o)
		if err != nil {
			yield(nil, err)
			return
		}
		seed := p.options.Seed
		if seed == 0 {
			seed = rand.Uint64()
		}
		source := rand.NewPCG(seed, 0)
		rows := mapped(p.read(ctx, stats, -1), func(b arrow.RecordBatch) arrow.RecordBatch {
			numbers := make([]uint64, b.NumRows())
			for i := range numbers {
				numbers[i] = source.Uint64()
			}
			column := array.NewUint64Data(array.NewData(arrow.PrimitiveTypes.Uint64, len(numbers),
				[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Uint64Traits.CastToBytes(numbers))}, nil, 0, 0))
			return array.NewRecordBatch(numbered, append(b.Columns()[:b.NumCols():b.NumCols()], column), b.NumRows())
		})
		mapped(s.Drain(ctx, rows, p.state.Log), p.own())(yield)
	}
}

// mapped gives what is made of each batch.
func mapped(rows iter.Seq2[arrow.RecordBatch, error], made func(arrow.RecordBatch) arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for b, err := range rows {
			if err == nil {
				b = made(b)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// own leaves of a batch what the plan requests.
func (p *Plan) own() func(arrow.RecordBatch) arrow.RecordBatch {
	types := p.Schema()
	return func(b arrow.RecordBatch) arrow.RecordBatch { return withoutKeys(b, p.output(), types) }
}

// withoutKeys leaves out the columns, and members of structs, that only the order needed.
func withoutKeys(b arrow.RecordBatch, fields []*schema.Node, types *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, len(fields))
	for i, f := range fields {
		columns[i] = onlyMembers(b.Column(i), f)
	}
	return array.NewRecordBatch(types, columns, b.NumRows())
}

// onlyMembers narrows a struct to the members of a node.
func onlyMembers(a arrow.Array, n *schema.Node) arrow.Array {
	to := arrowtype.Type(n)
	if arrow.TypeEqual(a.DataType(), to) {
		return a
	}
	from := a.DataType().(*arrow.StructType)
	var children []arrow.ArrayData
	for _, c := range n.Children {
		i, _ := from.FieldIdx(c.Name)
		child := array.MakeFromData(a.Data().Children()[i])
		children = append(children, onlyMembers(child, c).Data())
	}
	return array.MakeFromData(array.NewData(to, a.Len(), a.Data().Buffers(), children, a.NullN(), a.Data().Offset()))
}

// skipping leaves out the first rows and ends after the last wanted; a negative limit is none.
func skipping(rows iter.Seq2[arrow.RecordBatch, error], offset, limit int64) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		left := limit
		for b, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			from := min(offset, b.NumRows())
			offset -= from
			to := b.NumRows()
			if limit >= 0 {
				to = min(to, from+left)
			}
			if from == to {
				continue
			}
			left -= to - from
			if !yield(b.NewSlice(from, to), nil) || limit >= 0 && left == 0 {
				return
			}
		}
	}
}

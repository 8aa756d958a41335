package catalog

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog/internal/rowsort"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// topRows is the largest N of a scan of the first N rows in an order that reads the first key alone before the rows.
const topRows = 100_000

// topBytes is the least stored size of the shards for that: a small table is read once. A variable for tests.
var topBytes int64 = 16 << 20

// atMostLast narrows a scan of the first N rows in an order: it reads the first key alone, finds the N-th value, and adds the filter that
// values behind it fail. Bounds of shards, stripes and blocks then rule most rows out before other columns are read. The plan stays as it
// is where that does not pay, or where the filter language has no word for the value.
func (p *Plan) atMostLast(ctx context.Context, stats *ScanStats) error {
	n := p.topKey()
	if n == nil {
		return nil
	}
	key := p.options.OrderBy[0]
	narrow := *p
	narrow.options.Select, narrow.columns = []string{key.Column}, []*schema.Node{n}
	limit := p.options.Limit + p.options.Offset
	s, err := rowsort.New(narrow.Schema(), []rowsort.Key{{Path: []string{n.Name}, Descending: key.Descending, NullsFirst: key.NullsFirst}},
		rowsort.Options{Memory: p.options.SortMemory, Dir: p.options.SortDir, Limit: limit})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	found, rows := &topValues{}, &ScanStats{}
	p.table.drain(ctx, s, narrow.read(ctx, rows, -1), nil, nil, found.add)
	if stats != nil {
		stats.BlocksRead += rows.BlocksRead
		stats.BlocksPruned += rows.BlocksPruned
		stats.IndexGets += rows.IndexGets
		stats.IndexBytes += rows.IndexBytes
	}
	if found.err != nil || found.rows < limit {
		return found.err
	}
	expr := found.filter(filter.Path{n.Name}, key)
	if expr == nil {
		return nil
	}
	if where := p.options.Where; where != nil {
		expr = filter.And{Left: where, Right: expr}
	}
	bound, err := filter.Bind(expr, p.schema.Shard)
	if err != nil {
		return nil // the value has no literal in the filter language: sort all rows
	}
	p.options.Where, p.bound, p.stats = expr, bound, nil
	p.Total -= len(p.Shards) // keeps counts them again
	p.Shards = slices.DeleteFunc(slices.Clone(p.Shards), func(e *manifest.Entry) bool { return !p.keeps(e) })
	return nil
}

// topKey returns the first key of the order if reading it alone first pays, else nil.
func (p *Plan) topKey() *schema.Node {
	limit := p.options.Limit
	if limit <= 0 || limit+p.options.Offset > topRows || p.options.SkipDamaged || p.window != nil || len(p.options.OrderBy) == 0 {
		return nil
	}
	path := schema.SplitPath(p.options.OrderBy[0].Column)
	n, err := p.schema.Shard.Lookup(p.options.OrderBy[0].Column)
	if err != nil || len(path) != 1 || !topType(n) {
		return nil
	}
	others, stored := false, int64(0)
	for _, c := range p.columns {
		others = others || c.ID != n.ID
	}
	for _, e := range p.Shards {
		stored += e.StoredBytes
	}
	if !others || stored < topBytes {
		return nil
	}
	return n
}

// topType reports whether values of a type have literals and ranges by which they are found again.
func topType(n *schema.Node) bool {
	if n.IsTimeSpan() || n.IsDynamic() {
		return false
	}
	switch n.Basic {
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64, schema.Float32, schema.Float64, schema.DateTime, schema.String:
		return true
	}
	return n.IsDecimal()
}

// topValues are the sorted values of a key: the first, the last, and their number.
type topValues struct {
	first, last arrow.Array // each of one value
	rows        int64
	err         error
}

func (v *topValues) add(b arrow.RecordBatch, err error) bool {
	if err != nil {
		v.err = err
		return false
	}
	if a := b.Column(0); a.Len() > 0 {
		if v.first == nil {
			v.first = array.NewSlice(a, 0, 1)
		}
		v.last = array.NewSlice(a, int64(a.Len())-1, int64(a.Len()))
		v.rows += b.NumRows()
	}
	return true
}

// filter is what the first rows fulfil, up to the last value; nil if that is not known.
func (v *topValues) filter(path filter.Path, key OrderKey) filter.Expr {
	if v.last.IsNull(0) {
		if key.NullsFirst {
			return filter.IsNull{Field: path}
		}
		return nil // nulls come last: all values are wanted
	}
	value, ok := topLiteral(v.last)
	if _, known := topLiteral(v.first); !ok || !known && !v.first.IsNull(0) {
		return nil
	}
	op := filter.Le
	if key.Descending {
		op = filter.Ge
	}
	var expr filter.Expr = filter.Compare{Field: path, Op: op, Value: value}
	if key.NullsFirst {
		expr = filter.Or{Left: filter.IsNull{Field: path}, Right: expr}
	}
	return expr
}

// topLiteral is a value as a literal; false for those that have none, or that compare in another way than they sort, such as NaN.
func topLiteral(a arrow.Array) (filter.Literal, bool) {
	if a.IsNull(0) {
		return filter.Literal{}, false
	}
	float := func(v float64, bits int) (filter.Literal, bool) {
		return filter.Literal{Kind: filter.NumberLiteral, Text: strconv.FormatFloat(v, 'g', -1, bits)}, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	number := func(text string) (filter.Literal, bool) {
		return filter.Literal{Kind: filter.NumberLiteral, Text: text}, true
	}
	switch a := a.(type) {
	case *array.Int8:
		return number(strconv.FormatInt(int64(a.Value(0)), 10))
	case *array.Int16:
		return number(strconv.FormatInt(int64(a.Value(0)), 10))
	case *array.Int32:
		return number(strconv.FormatInt(int64(a.Value(0)), 10))
	case *array.Int64:
		return number(strconv.FormatInt(a.Value(0), 10))
	case *array.Uint8:
		return number(strconv.FormatUint(uint64(a.Value(0)), 10))
	case *array.Uint16:
		return number(strconv.FormatUint(uint64(a.Value(0)), 10))
	case *array.Uint32:
		return number(strconv.FormatUint(uint64(a.Value(0)), 10))
	case *array.Uint64:
		return number(strconv.FormatUint(a.Value(0), 10))
	case *array.Float32:
		return float(float64(a.Value(0)), 32)
	case *array.Float64:
		return float(a.Value(0), 64)
	case *array.LargeString:
		return filter.Literal{Kind: filter.StringLiteral, Text: a.Value(0)}, true
	case *arrowtype.DecimalArray:
		d := decimal.From(a.Value(0))
		return filter.Literal{Kind: filter.DecimalLiteral, Text: d.String()}, !d.IsNaN() && !d.IsInfinite()
	case array.ExtensionArray:
		if ticks, ok := a.Storage().(*array.Int64); ok {
			return dateTimeLiteral(ticks.Value(0))
		}
	}
	return filter.Literal{}, false
}

// dateTimeLiteral is a time in ticks; false for one outside the years that text has.
func dateTimeLiteral(ticks int64) (filter.Literal, bool) {
	text := string(literal.AppendDateTime(nil, ticks))
	back, _, cut, err := literal.ParseISO(text)
	return filter.Literal{Kind: filter.DateTimeLiteral, Text: text}, err == nil && !cut && back == ticks
}

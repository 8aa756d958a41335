package scan

import (
	"bytes"
	"cmp"
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/internal/field"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/decimal"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// auditRows are the rows of one read of an audit.
const auditRows = 4096

// Audit reads every top-level field of every stripe as a scan does, field by field, and compares its values with
// what pruning believes of them: null counts, NaN counts, ranges and Bloom filters of the stripe and of the shard.
// What a scan would refuse, and statistics that lie, are given to found, one for each field and stripe; the error is
// for what is not about stored data. Of a field that stores nothing only its first row is read.
func Audit(ctx context.Context, store Store, q *Request, found func(error) error) error {
	s := &scanner{plan: newPlan(q), fetch: &fetcher{store: store}, decode: newDecoder(q)}
	for i := range q.Stripes {
		for _, n := range q.Project.Fields {
			if err := s.audit(ctx, i, n); err != nil {
				if err := found(err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// audit checks one field of one stripe.
func (s *scanner) audit(ctx context.Context, i int, n *schema.Node) error {
	of := s.plan.q.Stripes[i]
	if of.Records == 0 {
		return nil
	}
	st := &stripe{plan: s.plan, fetch: &fetcher{store: s.fetch.store}, decode: s.decode, index: i, of: of, mem: s.plan.q.Budget.Account()}
	defer st.mem.Close()
	st.fetch.mem = st.mem
	columns, err := st.columns(ctx, []*schema.Node{n})
	if err != nil {
		return err
	}
	rows := buffer.Range{Start: 0, End: of.Records}
	stores := columns[0].Size() > 0
	if !stores {
		rows.End = 1
	}
	claims, err := s.claims(ctx, i, n)
	if err != nil {
		return err
	}
	nulls := uint64(0)
	st.batch, st.usual = auditRows, auditRows
	for rows.Len() > 0 {
		var window []buffer.Range
		st.output = columns
		window, rest := cutWindow([]buffer.Range{rows}, st.windowRows())
		before := st.fetch.held
		if err := st.get(ctx, columns, window); err != nil {
			return st.outOfBudget(err, window[0].Start)
		}
		err := st.eachBatch(window, func(r buffer.Range) error { return st.auditBatch(ctx, columns, r, n, claims, &nulls) })
		if err != nil {
			return err
		}
		st.mem.Drop(st.fetch.held - before)
		st.fetch.held = before
		rows.Start = rows.End
		if len(rest) > 0 {
			rows = rest[0]
		}
	}
	if c := claims[0]; stores && c != nil && c.NullsKnown && c.Nulls != nulls {
		return st.lie(n, "%d nulls, the descriptor says %d", nulls, c.Nulls)
	}
	return nil
}

// claims are what the stripe and the shard say of a field; nil where they say nothing.
func (s *scanner) claims(ctx context.Context, stripe int, n *schema.Node) (out [2]*filter.Stats, err error) {
	for k, which := range [...]int{stripe, -1} {
		expected := s.plan.q.Root.Directory().TotalRecordCount
		if which >= 0 {
			expected = s.plan.q.Stripes[which].Records
		}
		d, err := s.plan.descriptor(ctx, which, n.ID)
		if err != nil {
			return out, err
		}
		if d != nil {
			out[k] = statsOf(n, d, expected)
		}
	}
	return out, nil
}

// auditBatch reads rows of a field and checks each value.
func (s *stripe) auditBatch(ctx context.Context, columns []field.Column, r buffer.Range, n *schema.Node, claims [2]*filter.Stats, nulls *uint64) error {
	data, err := s.decode.read(ctx, columns, r)
	if err != nil {
		return err
	}
	a := array.MakeFromData(data[0])
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	get := valuesOf(a)
	for i := range a.Len() {
		if isNull(a, i) {
			*nulls++
			continue
		}
		if get == nil {
			continue
		}
		v := get(i)
		for k, c := range claims {
			if what := contradicts(n, c, v); what != "" {
				return s.lie(n, "record %d of the stripe is %s", r.Start+uint64(i), what+[...]string{"", " of the shard"}[k])
			}
		}
	}
	for _, c := range columns {
		c.Release(r.End)
	}
	return nil
}

// isNull reports whether value i is null. Arrow's unions have no nulls of their own: a null one chooses a variant whose value is null.
func isNull(a arrow.Array, i int) bool {
	if u, ok := a.(*array.SparseUnion); ok {
		return isNull(u.Field(u.ChildID(i)), i+u.Data().Offset())
	}
	return a.IsNull(i)
}

// lie is the error of statistics that contradict the data.
func (s *stripe) lie(n *schema.Node, format string, args ...any) error {
	err := corrupt.At(-1, "stripe %d, field %q: "+format, append([]any{s.index, n.Name}, args...)...)
	return corrupt.Locate(err, s.plan.q.Root.URL(), 0)
}

// contradicts names what in the claims a value contradicts, "" if nothing.
func contradicts(n *schema.Node, c *filter.Stats, v filter.Value) string {
	if c == nil {
		return ""
	}
	if isFloating(n) && notANumber(n, v) {
		if c.NoNaNs {
			return "not a number, against the count"
		}
		return ""
	}
	if c.Min != nil {
		if d := compareValues(n, v, *c.Min); d < 0 || d == 0 && c.MinExclusive {
			return "below the least value"
		}
	}
	if c.Max != nil {
		if d := compareValues(n, v, *c.Max); d > 0 || d == 0 && c.MaxExclusive {
			return "above the greatest value"
		}
	}
	if c.MayContain != nil && !c.MayContain(v) {
		return "not in the Bloom filter"
	}
	return ""
}

func notANumber(n *schema.Node, v filter.Value) bool {
	if n.IsDecimal() {
		return len(v.Bytes) == decimal.Size && decimal.From(v.Bytes).IsNaN()
	}
	return math.IsNaN(v.Float)
}

// compareValues compares two values of a node in the order of ranges.
func compareValues(n *schema.Node, a, b filter.Value) int {
	switch {
	case n.IsDecimal():
		return decimal.Compare(decimal.From(a.Bytes), decimal.From(b.Bytes))
	case n.Basic == schema.Boolean:
		return boolRank(a.Bool) - boolRank(b.Bool)
	case isFloating(n):
		return cmp.Compare(a.Float, b.Float)
	case isSigned(n):
		return cmp.Compare(a.Int, b.Int)
	case n.Basic.IsInteger():
		return cmp.Compare(a.Uint, b.Uint)
	}
	return bytes.Compare(a.Bytes, b.Bytes)
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// valuesOf gives the values of an array in the terms of the filter, nil for types that have no order.
func valuesOf(a arrow.Array) func(i int) filter.Value {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int) filter.Value { return filter.Value{Int: int64(a.Value(i))} }
	case *array.Int16:
		return func(i int) filter.Value { return filter.Value{Int: int64(a.Value(i))} }
	case *array.Int32:
		return func(i int) filter.Value { return filter.Value{Int: int64(a.Value(i))} }
	case *array.Int64:
		return func(i int) filter.Value { return filter.Value{Int: a.Value(i)} }
	case *array.Uint8:
		return func(i int) filter.Value { return filter.Value{Uint: uint64(a.Value(i))} }
	case *array.Uint16:
		return func(i int) filter.Value { return filter.Value{Uint: uint64(a.Value(i))} }
	case *array.Uint32:
		return func(i int) filter.Value { return filter.Value{Uint: uint64(a.Value(i))} }
	case *array.Uint64:
		return func(i int) filter.Value { return filter.Value{Uint: a.Value(i), Int: int64(a.Value(i))} }
	case *array.Float32:
		return func(i int) filter.Value { return filter.Value{Float: float64(a.Value(i))} }
	case *array.Float64:
		return func(i int) filter.Value { return filter.Value{Float: a.Value(i)} }
	case *array.Boolean:
		return func(i int) filter.Value { return filter.Value{Bool: a.Value(i)} }
	case *array.LargeString:
		return func(i int) filter.Value { return filter.Value{Bytes: []byte(a.Value(i))} }
	case *array.LargeBinary:
		return func(i int) filter.Value { return filter.Value{Bytes: a.Value(i)} }
	case *array.FixedSizeBinary:
		return func(i int) filter.Value { return filter.Value{Bytes: a.Value(i)} }
	}
	return nil
}

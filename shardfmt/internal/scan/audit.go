package scan

import (
	"bytes"
	"cmp"
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// leastFetch is the least number of encoded bytes that are fetched of a column at a time: what workers fetch together is no more than
// a window of a scan, up to eight of them.
const leastFetch = 4 << 20

// auditRows are the rows of one read of an audit.
const auditRows = 4096

// auditedColumn is a column of a stripe, which must have so many positions.
type auditedColumn struct {
	stripe    int
	node      *schema.Node
	positions uint64
	// only is the number of the encoding that is checked, 0 for the first one that can be read.
	only int
}

// audit checks one column of one stripe in one encoding, and all below it. The variants of unions are columns of their own here: read with
// their union, each has nulls where another variant is.
func (s *scanner) audit(ctx context.Context, c auditedColumn, shard *shardClaims) error {
	if c.positions == 0 {
		return nil
	}
	of := s.plan.q.Stripes[c.stripe]
	of.Records = c.positions
	st := &stripe{plan: s.plan, fetch: &fetcher{store: s.fetch.store}, decode: s.decode, index: c.stripe, of: of, mem: s.plan.q.Budget.Account(), only: c.only,
		fetches:  max(leastFetch, fetchBytes/uint64(max(1, s.plan.q.Workers))),
		restored: func(err error) { s.restored = append(s.restored, err) }}
	defer st.mem.Close()
	st.fetch.mem = st.mem
	st.mem.Reuse() // nothing of a batch is kept
	columns, err := st.columns(ctx, []*schema.Node{c.node})
	if err != nil {
		return err
	}
	claims, err := newClaims(ctx, st, c.node, shard)
	if err != nil {
		return err
	}
	rows := colstream.Range{Start: 0, End: c.positions}
	if columns[0].Size() == 0 {
		rows.End, claims.sampled = 1, true
	}
	if err := st.auditRows(ctx, columns, rows, claims); err != nil {
		return err
	}
	if err := claims.check(); err != nil {
		return err
	}
	st.settle()
	for _, u := range claims.unions {
		for _, variant := range u.Children {
			d, err := s.plan.descriptor(ctx, c.stripe, variant.ID)
			if err != nil {
				return err
			}
			if err := s.audit(ctx, auditedColumn{stripe: c.stripe, node: variant, positions: d.GetPositionCount()}, shard); err != nil {
				return err
			}
		}
	}
	return nil
}

// auditRows reads rows of a column, window by window.
func (s *stripe) auditRows(ctx context.Context, columns []column.Column, rows colstream.Range, claims *claims) error {
	s.batch, s.usual = auditRows, auditRows
	s.output = columns
	for rows.Len() > 0 {
		window, rest := cutWindow([]colstream.Range{rows}, s.windowRows())
		if err := s.get(ctx, columns, window); err != nil {
			return s.outOfBudget(err, window[0].Start)
		}
		err := s.eachBatch(window, func(r colstream.Range) error {
			var data []arrow.ArrayData
			err := s.inAnyEncoding(ctx, columns, r, func() (err error) {
				data, err = s.decode.read(ctx, columns, r)
				return err
			})
			if err != nil {
				return err
			}
			columns[0].Release(r.End)
			a := array.MakeFromData(data[0])
			if err := checkRequired(s.plan.q.Root.URL(), a, claims.node); err != nil {
				return err
			}
			return claims.take(a, claims.node)
		})
		if err != nil {
			return err
		}
		s.fetch.release()
		rows.Start = rows.End
		if len(rest) > 0 {
			rows = rest[0]
		}
	}
	return nil
}

// lie is the error of statistics that contradict the data.
func (s *stripe) lie(n *schema.Node, format string, args ...any) error {
	err := corrupt.At(-1, "stripe %d, field %q: "+format, append([]any{s.index, s.plan.pathOf(n)}, args...)...)
	return corrupt.Locate(err, s.plan.q.Root.URL(), 0)
}

// pathOf is the dotted path of a node, which names it where its own name is that of a list's elements.
func (p *plan) pathOf(n *schema.Node) string {
	path := n.Name
	p.q.Project.Walk(func(at string, m *schema.Node) bool {
		if m.ID == n.ID {
			path = at
		}
		return m.ID != n.ID
	})
	return path
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
	if what := outside(n, c, v); what != "" {
		return what
	}
	if c.MayContain != nil && !c.MayContain(v) {
		return "not in the Bloom filter"
	}
	return ""
}

// outside names the bound that a value, which is not a NaN, lies beyond, "" if none.
func outside(n *schema.Node, c *filter.Stats, v filter.Value) string {
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

package scan

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// claims are what a stripe states about a column and of all below it, to be compared with the values.
type claims struct {
	stripe *stripe
	node   *schema.Node
	shard  *shardClaims
	// nodes are the fields that say something, by node number.
	nodes map[uint32]*claim
	// unions are those on the way: what is below them is not looked at with them.
	unions []*schema.Node
	// sampled: the column stores nothing, and its first row stands for all.
	sampled bool
}

// claim is what is reported of one field, and what was seen of it.
type claim struct {
	node       *schema.Node
	descriptor *metapb.FieldDescriptor
	// stats are those of the stripe and of the shard, nil where nothing is reported.
	stats [2]*filter.Stats
	seen  *stats.Collector
	index *indexClaim
	// admitted are values that every Bloom filter of stats admits.
	admitted admitted
	bounds   decimal.Bounds // of the run available
}

// mostExact is up to how many different values an exact count is counted again.
const mostExact = 1 << 17

// newClaims reads what is reported of n and of all below it, down to unions.
func newClaims(ctx context.Context, s *stripe, n *schema.Node, shard *shardClaims) (*claims, error) {
	c := &claims{stripe: s, node: n, shard: shard, nodes: map[uint32]*claim{}}
	return c, c.add(ctx, n)
}

func (c *claims) add(ctx context.Context, n *schema.Node) error {
	d, err := c.stripe.plan.descriptor(ctx, c.stripe.index, n.ID)
	if err != nil {
		return err
	}
	if d != nil {
		if err := c.addField(ctx, n, d); err != nil {
			return err
		}
	}
	if n.Basic == schema.Union {
		c.unions = append(c.unions, n)
		return nil
	}
	for _, child := range n.Children {
		if err := c.add(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

func (c *claims) addField(ctx context.Context, n *schema.Node, d *metapb.FieldDescriptor) (err error) {
	x := &claim{node: n, descriptor: d, stats: [2]*filter.Stats{statsOf(n, d, d.PositionCount), nil}}
	o := stats.Options{Bloom: stats.BloomNever, Reference: d.GetCardinality().GetHllSketch() == nil && !stats.IsExact(d.Cardinality)}
	if stats.IsExact(d.Cardinality) {
		o.Exact = int(min(d.GetCardinality().GetCount(), mostExact))
	}
	x.seen = stats.NewCollector(n, o)
	if of := c.shard.of(ctx, n); of != nil {
		x.stats[1] = statsOf(n, of, of.PositionCount)
	}
	x.index, err = c.stripe.readIndex(ctx, n, d.PositionCount)
	c.nodes[n.ID] = x
	return err
}

// readIndex reads the range index of a field, nil if it has none that is known.
func (s *stripe) readIndex(ctx context.Context, n *schema.Node, positions uint64) (*indexClaim, error) {
	var out *indexClaim
	q, err := column.IndexRequest(ctx, column.Field{Source: s.plan.q.Root, Stripe: s.index, Node: n, Records: positions}, func(x *colstream.RangeIndex) {
		out = &indexClaim{node: n, index: x}
	})
	if err != nil || q == nil {
		return nil, err
	}
	if err := s.fetch.round(ctx, []colstream.Request{*q}); err != nil {
		return nil, err
	}
	return out, s.mem.Hold(positions / colstream.RangeIndexBlock * indexBytes)
}

// take holds the next values of a node, and of those below it, against what is reported of them.
func (c *claims) take(a arrow.Array, n *schema.Node) error {
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	if x := c.nodes[n.ID]; x != nil {
		if err := c.values(x, a); err != nil {
			return err
		}
	}
	switch a := a.(type) {
	case *array.Struct:
		for i, child := range n.Children {
			if err := c.take(a.Field(i), child); err != nil {
				return err
			}
		}
	case *array.Map:
		if err := c.take(arrowtype.KeysOf(a), n.Children[0]); err != nil {
			return err
		}
		return c.take(a.Items(), n.Children[1])
	case array.ListLike:
		return c.take(a.ListValues(), n.Children[0])
	}
	return nil
}

// values compares values of one field with its claims. What lies behind the field's own positions was added by its reader:
// the reference does not pad the last lists of a fixed size.
func (c *claims) values(x *claim, a arrow.Array) error {
	if left := x.descriptor.PositionCount - x.seen.Positions(); uint64(a.Len()) > left {
		a = array.NewSlice(a, 0, int64(left))
	}
	at := x.seen.Positions()
	x.seen.Add(a)
	if what := x.hold(a, at); what != "" {
		return c.stripe.lie(x.node, "%s", what)
	}
	return nil
}

// hold holds values, the first of which is at a position of the stripe, against the claims and names the first contradiction, "" if there
// is none.
func (x *claim) hold(a arrow.Array, at uint64) string {
	if x.holdTogether(a, at) {
		return ""
	}
	return x.holdEach(a, at)
}

// holdEach is hold of one value after the other.
func (x *claim) holdEach(a arrow.Array, at uint64) string {
	get := valuesOf(a)
	for i := range a.Len() {
		valid := !arrowtype.IsNull(a, i)
		var v filter.Value
		if valid && get != nil {
			v = get(i)
			for k, s := range x.stats {
				if what := contradicts(x.node, s, v); what != "" {
					return fmt.Sprintf("position %d of the stripe is %s", at+uint64(i), what+[...]string{"", " of the shard"}[k])
				}
			}
		}
		if what := x.index.take(at+uint64(i), valid, v); what != "" {
			return what
		}
	}
	return ""
}

// check compares what was counted with what is reported, after all values were taken.
func (c *claims) check() error {
	var failed error
	(&schema.Schema{Fields: []*schema.Node{c.node}}).Walk(func(_ string, n *schema.Node) bool {
		if x := c.nodes[n.ID]; x != nil && failed == nil {
			failed = c.checkField(x)
		}
		return failed == nil
	})
	return failed
}

func (c *claims) checkField(x *claim) error {
	d := x.descriptor
	if err := c.checkDeleted(x); err != nil {
		return err
	}
	if c.sampled {
		if x.seen.Positions() != 1 {
			return nil
		}
		nulls := x.seen.Nulls() * d.PositionCount
		if d.NullCount != nil && *d.NullCount != nulls {
			return c.stripe.lie(x.node, "%d nulls, the descriptor says %d", nulls, *d.NullCount)
		}
		c.shard.addNulls(x.node, d.PositionCount, nulls)
		return nil
	}
	if n := x.seen.Positions(); n != d.PositionCount {
		return c.stripe.lie(x.node, "%d positions, the descriptor says %d", n, d.PositionCount)
	}
	got := x.seen.Descriptor()
	c.shard.add(x.node, got)
	if what := differs(got, d); what != "" {
		return c.stripe.lie(x.node, "%s", what)
	}
	if n := d.GetCardinality().GetCount(); stats.IsExact(d.Cardinality) && n <= mostExact && x.seen.TooMany() {
		return c.stripe.lie(x.node, "more than %d different values, the descriptor says exactly %d", max(n, 1024), n)
	}
	return nil
}

// checkDeleted compares the records that a marker marks with how many the stripe states are deleted.
func (c *claims) checkDeleted(x *claim) error {
	if x.node.Internal != schema.InternalDeletedRecord || x.node.Basic != schema.Boolean {
		return nil
	}
	marked := x.seen.Descriptor().GetBooleanStats().GetTrueCount()
	if c.sampled {
		marked *= x.descriptor.PositionCount
	}
	if n := c.stripe.of.Deleted; marked != n {
		return c.stripe.lie(x.node, "%d records are marked as deleted, the stripe says %d", marked, n)
	}
	return nil
}

// differs names what in a descriptor is not as it was counted, "" if nothing. What a descriptor does not state is no
// difference, nor is a range wider than the values.
func differs(got, d *metapb.FieldDescriptor) string {
	switch {
	case d.NullCount != nil && got.NullCount != nil && *d.NullCount != *got.NullCount:
		return fmt.Sprintf("%d nulls, the descriptor says %d", *got.NullCount, *d.NullCount)
	case d.RawDataSize != nil && got.RawDataSize != nil && *d.RawDataSize != *got.RawDataSize:
		return fmt.Sprintf("%d bytes of values, the descriptor says %d", *got.RawDataSize, *d.RawDataSize)
	}
	if what := differentCounts(got, d); what != "" {
		return what
	}
	if deniesConstant(got, d.ConstantValue) {
		return fmt.Sprintf("the descriptor says that all values are %v, but they are not", d.ConstantValue)
	}
	if g, c := got.Cardinality, d.Cardinality; stats.IsExact(g) && stats.IsExact(c) && *g.Count != *c.Count {
		return fmt.Sprintf("%d different values, the descriptor says exactly %d", *g.Count, *c.Count)
	}
	if stats.IsExact(d.Cardinality) && d.NullCount != nil && *d.Cardinality.Count > d.PositionCount-min(*d.NullCount, d.PositionCount) {
		return fmt.Sprintf("exactly %d different values in %d positions, %d of them null", *d.Cardinality.Count, d.PositionCount, *d.NullCount)
	}
	return differentSketch(got.Cardinality, d.Cardinality)
}

// deniesConstant reports whether the values that were counted are other ones than a constant, or several.
func deniesConstant(got *metapb.FieldDescriptor, constant *metapb.AnyValue) bool {
	switch {
	case constant == nil || got.PositionCount == 0:
		return false
	case got.ConstantValue != nil:
		return !meta.Equal(got.ConstantValue, constant)
	}
	r := got.RangeStats
	return r != nil && r.MinValue != nil && r.MaxValue != nil && !meta.Equal(r.MinValue, r.MaxValue)
}

// differentCounts compares the statistics that belong to a type, as far as both sides have them.
func differentCounts(got, d *metapb.FieldDescriptor) string {
	oneof := d.ProtoReflect().Descriptor().Oneofs().ByName("type_specific")
	which := d.ProtoReflect().WhichOneof(oneof)
	if which == nil || which != got.ProtoReflect().WhichOneof(oneof) {
		return ""
	}
	is, says := got.ProtoReflect().Get(which).Message(), d.ProtoReflect().Get(which).Message()
	for i := range says.Descriptor().Fields().Len() {
		fd := says.Descriptor().Fields().Get(i)
		if !says.Has(fd) && fd.HasPresence() {
			continue
		}
		if a, b := is.Get(fd), says.Get(fd); !a.Equal(b) {
			return fmt.Sprintf("%s is %v, the descriptor says %v", fd.Name(), a, b)
		}
	}
	return ""
}

// differentSketch compares sketches of the kind that is written, and the estimate with its sketch.
func differentSketch(got, c *metapb.CardinalityInfo) string {
	want := c.GetHllSketch()
	if want == nil {
		return ""
	}
	if n, ok := stats.Estimate(want); ok && c.Count != nil && c.IsEstimate && *c.Count != n {
		return fmt.Sprintf("an estimate of %d distinct values beside a sketch of %d", *c.Count, n)
	}
	have := got.GetHllSketch()
	if have == nil || have.HashSeed != want.HashSeed || have.BitsPerIndex != want.BitsPerIndex || have.HashAlgorithm != want.HashAlgorithm {
		return ""
	}
	if string(have.Counters) != string(want.Counters) {
		return "the sketch of distinct values is not that of the values"
	}
	return ""
}

package mutant

import (
	"context"
	"fmt"
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// schema changes bytes of the schema.
func (g *graft) schema() (string, error) {
	payload, err := g.root.Message(context.Background(), g.root.URL(), g.dir.SchemaRef)
	if err != nil {
		return "", err
	}
	b := append([]byte(nil), payload...)
	var at []int
	for range 1 + g.r.IntN(3) {
		i := g.r.IntN(len(b))
		switch g.r.IntN(3) {
		case 0:
			b[i] ^= 1 << g.r.IntN(8)
		case 1:
			b[i] = byte(g.r.IntN(32)) // type numbers, lengths and offsets are small
		default:
			b[i]++
		}
		at = append(at, i)
	}
	g.dir.SchemaRef = g.add(b)
	return fmt.Sprintf("schema: bytes at %v", at), nil
}

// promise makes a shard report that it has more records than before, in every place that counts them.
func (g *graft) promise() (string, error) {
	list, err := g.stripes()
	if err != nil {
		return "", err
	}
	i, err := g.anyStripe(list)
	if err != nil {
		return "", err
	}
	s := list.Stripes[i]
	was := s.TotalRecordCount
	counts := []uint64{was + 1, 2 * was, was * 1000, 1 << 20, 1 << 31, 1 << 40, 1 << 62, math.MaxInt64 - g.dir.TotalRecordCount + was}
	n := counts[g.r.IntN(len(counts))]
	if n <= was {
		return "", errNothing
	}
	deleted := g.r.IntN(2) == 0
	s.TotalRecordCount = n
	if deleted {
		s.DeletedRecordCount += n - was
		g.dir.DeletedRecordCount += n - was
	}
	for k := i + 1; k < len(list.Stripes); k++ {
		list.Stripes[k].ShardPosition += n - was
	}
	g.dir.TotalRecordCount += n - was
	if err := g.grow(list, i, n, g.r.IntN(3)); err != nil {
		return "", err
	}
	g.setStripes(list)
	return fmt.Sprintf("stripe %d has %d records, not %d; deleted: %v", i, n, was, deleted), nil
}

// grow gives the top-level fields of a stripe n positions: by what they store (0), as nulls (1), as a constant (2).
func (g *graft) grow(list *metapb.StripeList, stripe int, n uint64, way int) error {
	fields := map[uint32]*metapb.StripeFieldDescriptor{}
	for _, node := range g.nodes.Fields {
		d, err := g.field(stripe, node.ID)
		if err != nil {
			return err
		}
		d.Field.PositionCount = n
		switch way {
		case 1:
			d.Field.NullCount = &n
			d.Encodings = []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Native{Native: &metapb.NativeDataEncoding{}}}}
		case 2:
			d.Field.ConstantValue = g.constant(node)
		}
		fields[node.ID] = d
	}
	return g.setFields(list, stripe, fields)
}

// constant is a value of a node's type, or of another one.
func (g *graft) constant(n *schema.Node) *metapb.AnyValue {
	text := make([]byte, []int{0, 1, 16, 4096}[g.r.IntN(4)])
	if n.FixedSize > 0 && n.FixedSize < 1<<16 && g.r.IntN(2) == 0 {
		text = make([]byte, n.FixedSize)
	}
	all := []*metapb.AnyValue{
		meta.Text(string(text)), meta.Blob(text), meta.Uint(g.r.Uint64() >> g.r.IntN(64)),
		{Kind: &metapb.AnyValue_I64Value{I64Value: int64(g.r.Uint64() >> g.r.IntN(64))}},
		{Kind: &metapb.AnyValue_BoolValue{BoolValue: true}},
		{Kind: &metapb.AnyValue_DoubleValue{DoubleValue: math.NaN()}},
		{Kind: &metapb.AnyValue_DatetimeValue{DatetimeValue: &metapb.DateTimeUtc{Ticks: g.r.Uint64()}}},
		{Kind: &metapb.AnyValue_DecimalValue{DecimalValue: text}},
		{Kind: &metapb.AnyValue_NullValue{NullValue: &metapb.UnitValue{}}},
		{},
	}
	return all[g.r.IntN(len(all))]
}

// form changes how a field of a stripe is stored: constants of any type, other buffers, none.
func (g *graft) form() (string, error) {
	list, err := g.stripes()
	if err != nil {
		return "", err
	}
	i, err := g.anyStripe(list)
	if err != nil {
		return "", err
	}
	node, d, err := g.anyField(i)
	if err != nil {
		return "", err
	}
	what := g.changeForm(i, node, d)
	if what == "" {
		return "", errNothing
	}
	err = g.setFields(list, i, map[uint32]*metapb.StripeFieldDescriptor{node.ID: d})
	g.setStripes(list)
	return fmt.Sprintf("stripe %d, field %d: %s", i, node.ID, what), err
}

// changeForm changes a descriptor and reports how, "" if there was nothing to change.
func (g *graft) changeForm(stripe int, node *schema.Node, d *metapb.StripeFieldDescriptor) string {
	var buffers []*metapb.EncodedBuffer
	if len(d.Encodings) > 0 {
		buffers = d.Encodings[0].GetNative().GetBuffers()
	}
	switch g.r.IntN(7) {
	case 0:
		d.Field.ConstantValue = g.constant(node)
		return "a constant"
	case 1:
		if len(buffers) == 0 {
			return ""
		}
		k := g.r.IntN(len(buffers))
		kind := buffers[k].Kind
		d.Encodings[0].GetNative().Buffers = append(buffers[:k:k], buffers[k+1:]...)
		return fmt.Sprintf("no buffer of kind %v", kind)
	case 2:
		d.Encodings = nil
		return "no encoding"
	case 3:
		n := d.Field.PositionCount
		d.Field.NullCount = &n
		return "all null"
	case 4:
		_, from, err := g.anyField(stripe)
		if err != nil {
			return ""
		}
		d.Encodings = from.Encodings
		return "the buffers of another field"
	case 5:
		_, from, err := g.anyField(stripe)
		if err != nil {
			return ""
		}
		d.Field = from.Field
		return "the description of another field"
	}
	if len(buffers) == 0 {
		return ""
	}
	b := buffers[g.r.IntN(len(buffers))]
	b.Kind = metapb.BufferKind(g.r.IntN(9))
	return fmt.Sprintf("a buffer of kind %v", b.Kind)
}

package column

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// object is a stripe in memory: one object and the descriptors of its fields.
type object struct {
	bytes  []byte
	fields map[uint32]*metapb.StripeFieldDescriptor
	gets   int
}

func (o *object) StripeField(_ context.Context, _ int, id uint32) (*metapb.StripeFieldDescriptor, string, error) {
	return o.fields[id], "mem://t/root", nil
}

func (o *object) Resolve(anchor, ref string) (string, error) { return anchor, nil }

// add places a finished node.
func (o *object) add(e *Encoded) error {
	d := &metapb.StripeFieldDescriptor{Field: e.Descriptor}
	for _, buffers := range append([][]Buffer{e.Buffers}, e.Alternatives...) {
		native := &metapb.NativeDataEncoding{PackedGroup: e.Packed}
		for _, b := range buffers {
			if b.Bytes == nil {
				native.Buffers = append(native.Buffers, b.Meta)
				continue
			}
			for len(o.bytes)%colstream.Alignment != 0 {
				o.bytes = append(o.bytes, 0)
			}
			start := uint64(len(o.bytes))
			if err := b.Pieces(func(p []byte) error { o.bytes = append(o.bytes, p...); return nil }); err != nil {
				return err
			}
			end := uint64(len(o.bytes))
			b.Meta.Buffer = meta.SelfRef(start, end)
			switch b.Meta.Kind {
			case metapb.BufferKind_DATA, metapb.BufferKind_PRESENCE, metapb.BufferKind_OFFSETS:
				b.Meta.BlockMap = meta.SelfRef(start+uint64(b.MapStart), end)
			}
			native.Buffers = append(native.Buffers, b.Meta)
		}
		d.Encodings = append(d.Encodings, &metapb.DataEncoding{Kind: &metapb.DataEncoding_Native{Native: native}})
	}
	o.fields[e.Node.ID] = d
	return nil
}

// fetch makes all requests that reading ranges takes.
func (o *object) fetch(c Column, ranges []colstream.Range, whole bool) error {
	for {
		q, err := c.Need(ranges, whole)
		if err != nil || len(q) == 0 {
			return err
		}
		o.gets += len(q)
		for _, r := range q {
			if err := r.Fill(o.bytes[r.Start:r.End]); err != nil {
				return err
			}
		}
	}
}

// store encodes an array in pieces.
func store(t testing.TB, node *schema.Node, a arrow.Array, o *Options, pieces int) *object {
	t.Helper()
	e, err := NewEncoder(node, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range pieces {
		from, to := i*a.Len()/pieces, (i+1)*a.Len()/pieces
		if err := e.Add(array.NewSlice(a, int64(from), int64(to))); err != nil {
			t.Fatal(err)
		}
	}
	out := &object{fields: make(map[uint32]*metapb.StripeFieldDescriptor)}
	if err := e.Finish(out.add); err != nil {
		t.Fatal(err)
	}
	return out
}

// check reads a range back and compares it.
func (o *object) check(t testing.TB, node *schema.Node, want arrow.Array, r colstream.Range) {
	t.Helper()
	c, err := Open(context.Background(), Field{Source: o, Node: node, Records: uint64(want.Len())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.fetch(c, []colstream.Range{r}, r.Len() == uint64(want.Len())); err != nil {
		t.Fatal(err)
	}
	d, err := c.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	if !arrow.TypeEqual(d.DataType(), want.DataType()) {
		t.Fatalf("type %v, want %v", d.DataType(), want.DataType())
	}
	got, slice := array.MakeFromData(d), array.NewSlice(want, int64(r.Start), int64(r.End))
	if !equal(got, slice) {
		t.Fatalf("%v [%d, %d):\ngot  %.400v\nwant %.400v", want.DataType(), r.Start, r.End, got, slice)
	}
}

// equal compares arrays; NaNs are equal to themselves.
func equal(a, b arrow.Array) bool {
	return array.ApproxEqual(a, b, array.WithNaNsEqual(true), array.WithAbsTolerance(0))
}

func types(t testing.TB) []*schema.Node {
	leaf := func(b schema.Basic) *schema.Node { return &schema.Node{Name: fmt.Sprint("t", b), Basic: b} }
	of := func(b schema.Basic, children ...*schema.Node) *schema.Node {
		return &schema.Node{Name: fmt.Sprint("n", b), Basic: b, Children: children}
	}
	signed := func(b schema.Basic) *schema.Node { n := leaf(b); n.Signed = true; return n }
	sized := func(n *schema.Node, size uint64) *schema.Node { n.FixedSize = size; return n }
	label := func(n *schema.Node, l string) *schema.Node { n.Ext = &schema.Extension{Label: l}; return n }
	named := func(n *schema.Node, name string) *schema.Node { n.Name = name; return n }
	str := func() *schema.Node { return leaf(schema.String) }
	nodes := []*schema.Node{
		leaf(schema.Unit), leaf(schema.Boolean), signed(schema.Int8), leaf(schema.Int8), signed(schema.Int16),
		leaf(schema.Int16), signed(schema.Int32), leaf(schema.Int32), signed(schema.Int64), leaf(schema.Int64),
		leaf(schema.Float32), leaf(schema.Float64), leaf(schema.Binary), str(), leaf(schema.DateTime),
		sized(leaf(schema.FixedSizeBinary), 3), sized(leaf(schema.Guid), 16),
		label(sized(leaf(schema.FixedSizeBinary), 16), schema.LabelDecimal),
		label(signed(schema.Int64), schema.LabelTimeSpan), label(leaf(schema.Binary), schema.LabelDynamic),
		of(schema.List, signed(schema.Int32)), of(schema.List, of(schema.List, str())),
		sized(of(schema.FixedSizeList, leaf(schema.Float32)), 3),
		of(schema.Struct, named(str(), "a"), named(leaf(schema.Boolean), "b")),
		of(schema.Map, str(), signed(schema.Int64)),
		of(schema.Union, named(str(), "s"), named(signed(schema.Int64), "i")),
		of(schema.Struct, named(of(schema.Map, str(), of(schema.List, of(schema.Struct, named(leaf(schema.Float64), "x"),
			named(sized(of(schema.FixedSizeList, str()), 2), "y")))), "m"), named(leaf(schema.Unit), "u")),
		of(schema.List, of(schema.Union, named(of(schema.List, leaf(schema.Boolean)), "l"), named(leaf(schema.DateTime), "d"))),
	}
	for _, n := range nodes {
		s := &schema.Schema{Fields: []*schema.Node{n}}
		s.Number()
		if err := arrowtype.Check(s); err != nil {
			t.Fatal(err)
		}
	}
	return nodes
}

func TestRoundTrip(t *testing.T) {
	for _, node := range types(t) {
		for _, profile := range []encode.Profile{encode.Plain, encode.Balanced, encode.MinimalSize} {
			for _, nulls := range []float64{0, 0.1, 1} {
				for _, n := range []int{0, 1, 7, 256, 3000} {
					if profile == encode.MinimalSize && n > 256 {
						continue
					}
					g := &generator{rand.New(rand.NewPCG(uint64(node.Basic), uint64(n))), nulls}
					a := g.array(node, n)
					o := store(t, node, a, &Options{Profile: profile}, 1+n%3)
					o.check(t, node, a, colstream.Range{Start: 0, End: uint64(n)})
					if n > 1 {
						from := uint64(g.IntN(n))
						o.check(t, node, a, colstream.Range{Start: from, End: from + uint64(g.IntN(n-int(from)))})
					}
				}
			}
		}
	}
}

func TestRoundTripLarge(t *testing.T) {
	const n = 150_000
	for _, node := range types(t)[:24] {
		g := &generator{rand.New(rand.NewPCG(1, uint64(node.Basic))), 0.01}
		a := g.array(node, n)
		o := store(t, node, a, &Options{}, 4)
		for _, r := range []colstream.Range{{Start: 0, End: n}, {Start: 65_535, End: 65_540}, {Start: 149_999, End: n}} {
			o.check(t, node, a, r)
		}
	}
}

func TestSparseUnion(t *testing.T) {
	for _, node := range types(t) {
		if node.Basic != schema.Union {
			continue
		}
		for _, n := range []int{0, 1, 3000} {
			g := &generator{rand.New(rand.NewPCG(3, 4)), 0.2}
			a := g.array(node, n)
			o := store(t, node, a, &Options{SparseUnions: true}, 2)
			c, err := Open(context.Background(), Field{Source: o, Node: node, Records: uint64(n)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := colstream.Range{Start: uint64(n) / 3, End: uint64(n)}
			if err := o.fetch(c, []colstream.Range{r}, false); err != nil {
				t.Fatal(err)
			}
			d, err := c.Read(r)
			if err != nil {
				t.Fatal(err)
			}
			got, want := array.MakeFromData(d).(*array.SparseUnion), array.NewSlice(a, int64(r.Start), int64(n)).(*array.SparseUnion)
			for i := range want.Len() {
				if got.ValueStr(i) != want.ValueStr(i) || got.ChildID(i) != want.ChildID(i) {
					t.Fatalf("slot %d: %s, want %s", i, got.ValueStr(i), want.ValueStr(i))
				}
			}
		}
	}
}

func TestNullKeys(t *testing.T) {
	key, value := &schema.Node{Name: "key", Basic: schema.String}, &schema.Node{Name: "value", Basic: schema.Boolean}
	node := &schema.Node{Name: "m", Basic: schema.Map, Children: []*schema.Node{key, value}}
	(&schema.Schema{Fields: []*schema.Node{node}}).Number()
	g := &generator{rand.New(rand.NewPCG(5, 6)), 0.3}
	keys := g.data(key, 600)
	offsets := make([]int64, 301)
	for i := range offsets {
		offsets[i] = int64(2 * i)
	}
	d := mapData(arrowtype.Type(node).(*arrow.MapType), &validity{n: 300}, offsets, make([]int32, len(offsets)), []arrow.ArrayData{keys, g.data(value, 600)})
	o := store(t, node, array.MakeFromData(d), &Options{}, 3)
	c, err := Open(context.Background(), Field{Source: o, Node: node, Records: 300}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := colstream.Range{Start: 0, End: 300}
	if err := o.fetch(c, []colstream.Range{r}, true); err != nil {
		t.Fatal(err)
	}
	got, err := c.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	if a := keysOf(array.MakeFromData(got).(*array.Map)); a.NullN() == 0 || !equal(a, array.MakeFromData(keys)) {
		t.Fatalf("got %v", a)
	}
}

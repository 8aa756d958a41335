package column

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// packedStruct is a struct of every type that can be a member, with a list between them that can't.
func packedStruct(t testing.TB) (*schema.Node, []int) {
	t.Helper()
	node := &schema.Node{Name: "s", Basic: schema.Struct}
	var members []int
	for _, n := range types(t) {
		if n.Basic == schema.List && len(members) > 8 || Packable(n) {
			if Packable(n) {
				members = append([]int{len(node.Children)}, members...) // the last child is member 0
			}
			node.Children = append(node.Children, n)
		}
	}
	s := &schema.Schema{Fields: []*schema.Node{node}}
	s.Number()
	return node, members
}

func TestPackedGroup(t *testing.T) {
	node, members := packedStruct(t)
	if len(members) < 15 || len(node.Children) == len(members) {
		t.Fatalf("%d members of %d children", len(members), len(node.Children))
	}
	for _, profile := range []encode.Profile{encode.Plain, encode.Balanced} {
		for _, nulls := range []float64{0, 0.1, 1} {
			for _, n := range []int{0, 1, 1024, 2500} {
				if profile == encode.Balanced && n > 1024 {
					continue
				}
				g := &generator{rand.New(rand.NewPCG(uint64(n), 7)), nulls}
				a := g.array(node, n)
				o := store(t, node, a, &Options{Profile: profile, Pack: map[uint32][]int{node.ID: members}}, 1+n%3)
				if e := o.fields[node.ID].Encodings[0].GetNative(); !e.PackedGroup || len(e.Buffers) != 1 {
					t.Fatalf("the struct has %v", e)
				}
				o.check(t, node, a, colstream.Range{Start: 0, End: uint64(n)})
				for range min(n, 6) {
					from := uint64(g.IntN(n))
					o.check(t, node, a, colstream.Range{Start: from, End: from + uint64(g.IntN(n-int(from)))})
					o.check(t, node, a, colstream.Range{Start: from, End: from + 1})
				}
			}
		}
	}
}

// Some members alone come from the same super-blocks; a field that is not in the group costs no super-block.
func TestPackedGroupInPart(t *testing.T) {
	node, members := packedStruct(t)
	g := &generator{rand.New(rand.NewPCG(2, 7)), 0.2}
	a := g.array(node, 3000).(*array.Struct)
	o := store(t, node, a, &Options{Pack: map[uint32][]int{node.ID: members}}, 1)
	for i, child := range node.Children {
		part := *node
		part.Children = []*schema.Node{child}
		c, err := Open(context.Background(), Field{Source: o, Node: &part, Records: 3000}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := colstream.Range{Start: 1000, End: 1100}
		if err := o.fetch(c, []colstream.Range{r}, false); err != nil {
			t.Fatal(err)
		}
		d, err := c.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := array.MakeFromData(d).(*array.Struct).Field(0); !equal(got, array.NewSlice(a.Field(i), 1000, 1100)) {
			t.Errorf("field %s: %v", child.Name, got)
		}
	}
}

// All members of a row come in one request, once the block map is there.
func TestPackedGroupIsOneRequest(t *testing.T) {
	node := &schema.Node{Name: "s", Basic: schema.Struct}
	for range 200 {
		node.Children = append(node.Children, &schema.Node{Name: "c", Basic: schema.Int64, Signed: true})
	}
	(&schema.Schema{Fields: []*schema.Node{node}}).Number()
	all := make([]int, 200)
	for i := range all {
		all[i] = i
	}
	g := &generator{rand.New(rand.NewPCG(3, 7)), 0.2}
	a := g.array(node, 5000)
	for _, c := range []struct {
		pack map[uint32][]int
		gets int
	}{{map[uint32][]int{node.ID: all}, 2}, {nil, 1 + 200}} { // map and super-block; presence and 200 small columns whole
		o := store(t, node, a, &Options{Profile: encode.Plain, Pack: c.pack}, 1)
		o.check(t, node, a, colstream.Range{Start: 3333, End: 3334})
		if o.gets != c.gets {
			t.Errorf("%d requests, want %d", o.gets, c.gets)
		}
	}
}

func TestPackedGroupDamage(t *testing.T) {
	node := &schema.Node{Name: "s", Basic: schema.Struct, Children: []*schema.Node{
		{Name: "a", Basic: schema.Int32}, {Name: "b", Basic: schema.String}}}
	(&schema.Schema{Fields: []*schema.Node{node}}).Number()
	g := &generator{rand.New(rand.NewPCG(4, 7)), 0.2}
	a := g.array(node, 50)
	data := func(o *object, id uint32) *metapb.EncodedBuffer {
		return o.fields[id].Encodings[0].GetNative().Buffers[0]
	}
	second, huge := uint32(1), uint32(1<<31)
	for name, c := range map[string]struct {
		break1 func(o *object)
		want   error
		says   string
	}{
		"member that is not there": {func(o *object) { *data(o, 1).PackedGroupIndex = 9 }, corrupt.ErrCorrupt, "has no member 9"},
		"member twice":             {func(o *object) { data(o, 1).PackedGroupIndex = &second }, corrupt.ErrCorrupt, "a second member 1"},
		"member out of range":      {func(o *object) { data(o, 1).PackedGroupIndex = &huge }, corrupt.ErrCorrupt, "member 2147483648"},
		"member with bytes":        {func(o *object) { data(o, 1).Buffer = data(o, 0).Buffer }, corrupt.ErrCorrupt, "without a reference"},
		"two buffers": {func(o *object) {
			n := o.fields[0].Encodings[0].GetNative()
			n.Buffers = append(n.Buffers, &metapb.EncodedBuffer{Kind: metapb.BufferKind_PRESENCE})
		}, corrupt.ErrCorrupt, "one buffer"},
		"group of a number": {func(o *object) { o.fields[1].Encodings[0].GetNative().PackedGroup = true }, corrupt.ErrUnsupported, "type other than Struct"},
		"no group":          {func(o *object) { o.fields[0].Encodings[0].GetNative().PackedGroup = false }, corrupt.ErrUnsupported, "not stored as a packed group"},
		"number of members": {func(o *object) { o.bytes[0]++ }, corrupt.ErrCorrupt, "checksum of the header"},
		"size of a member":  {func(o *object) { o.bytes[4] += 8 }, corrupt.ErrCorrupt, "checksum of the header"},
		"members for ever":  {func(o *object) { o.bytes[3] = 0x7f }, corrupt.ErrCorrupt, "claims"},
	} {
		o := store(t, node, a, &Options{Pack: map[uint32][]int{node.ID: {0, 1}}}, 1)
		c.break1(o)
		err := o.tryRead(node, 50)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tryRead reads all rows.
func (o *object) tryRead(node *schema.Node, n uint64) error {
	c, err := Open(context.Background(), Field{Source: o, Node: node, Records: n}, nil)
	if err != nil {
		return err
	}
	r := colstream.Range{Start: 0, End: n}
	if err := o.fetch(c, []colstream.Range{r}, true); err != nil {
		return err
	}
	_, err = c.Read(r)
	return err
}

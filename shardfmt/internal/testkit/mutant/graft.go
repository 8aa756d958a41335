package mutant

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// graft replaces messages and buffers of a shard: new ones go behind the old ones in the root, every reference on the way
// from the directory is recreated, and all checksums are right.
type graft struct {
	r     *rand.Rand
	shard *Shard
	root  *meta.Root
	nodes *schema.Schema
	// body is the root without its directory, to which new bytes are appended; dir the new directory.
	body []byte
	dir  *metapb.ShardDirectory
}

func newGraft(r *rand.Rand, s *Shard) (*graft, error) {
	root, err := meta.OpenRoot(context.Background(), s.Store(), URL, meta.Options{})
	if err != nil {
		return nil, err
	}
	nodes, err := root.Schema(context.Background())
	if err != nil {
		return nil, err
	}
	b := s.Objects[RootName]
	tail, err := meta.TailSize(b, int64(len(b)))
	if err != nil {
		return nil, err
	}
	return &graft{r: r, shard: s, root: root, nodes: nodes, body: bytes.Clone(b[:int64(len(b))-tail]), dir: proto.CloneOf(root.Directory())}, nil
}

// onGraft makes a kind of a change to a graft, which reports what it changed.
func onGraft(change func(*graft) (string, error)) func(*rand.Rand, *Shard, []*Shard) (*Shard, string, error) {
	return func(r *rand.Rand, s *Shard, _ []*Shard) (*Shard, string, error) {
		g, err := newGraft(r, s)
		if err != nil {
			return nil, "", err
		}
		what, err := change(g)
		if err != nil {
			return nil, "", err
		}
		return g.finish(), what, nil
	}
}

// finish puts the root together.
func (g *graft) finish() *Shard {
	payload := meta.Marshal(g.dir)
	g.body = meta.AppendFrame(g.body, payload)
	g.body = binary.LittleEndian.AppendUint32(g.body, uint32(len(payload)))
	return g.shard.with(RootName, append(g.body, meta.Magic[:]...))
}

// add appends a message.
func (g *graft) add(payload []byte) *metapb.DataRef {
	start := uint64(len(g.body))
	g.body = meta.AppendFrame(g.body, payload)
	return meta.SelfRef(start, uint64(len(g.body)))
}

// bufferAlignment is that of every buffer in its object, in bytes.
const bufferAlignment = 64

// addBuffer appends a buffer and gives its place.
func (g *graft) addBuffer(b []byte) (start uint64) {
	g.body = append(g.body, make([]byte, -len(g.body)&(bufferAlignment-1))...)
	start = uint64(len(g.body))
	g.body = append(g.body, b...)
	return start
}

// stripes is a copy of the list of stripes, to be changed and set.
func (g *graft) stripes() (*metapb.StripeList, error) {
	list, err := g.root.StripeList(context.Background())
	return proto.CloneOf(list), err
}

func (g *graft) setStripes(list *metapb.StripeList) { g.dir.StripeListRef = g.add(meta.Marshal(list)) }

// refs are the elements of a list of references.
func refs(a *meta.RefArray) (*metapb.DataRefArray, error) {
	all := make([]*metapb.DataRef, a.Len())
	for i := range all {
		var err error
		if all[i], err = a.Ref(i); err != nil {
			return nil, err
		}
	}
	return meta.RefsOf(all), nil
}

// field is a copy of a stripe's descriptor, errNothing if there is none or if it does not lie in the root.
func (g *graft) field(stripe int, id uint32) (*metapb.StripeFieldDescriptor, error) {
	d, anchor, err := g.root.StripeField(context.Background(), stripe, id)
	if err != nil {
		return nil, err
	}
	if d.GetField() == nil || anchor != g.root.URL() {
		return nil, errNothing
	}
	return proto.CloneOf(d), nil
}

// setFields replaces descriptors of a stripe in a list of stripes.
func (g *graft) setFields(list *metapb.StripeList, stripe int, fields map[uint32]*metapb.StripeFieldDescriptor) error {
	a, anchor, err := g.root.StripeFieldList(context.Background(), stripe)
	if err != nil {
		return err
	}
	if anchor != g.root.URL() {
		return errNothing
	}
	array, err := refs(a)
	if err != nil {
		return err
	}
	for id := range g.nodes.Count {
		d, ok := fields[id]
		if !ok || int(id) >= len(array.Start) {
			continue
		}
		ref := g.add(meta.Marshal(d))
		array.Url[id], array.Start[id], array.End[id] = "", ref.Range.Start, ref.Range.End
	}
	list.Stripes[stripe].FieldListRef = g.add(meta.Marshal(array))
	return nil
}

// anyStripe chooses a stripe.
func (g *graft) anyStripe(list *metapb.StripeList) (int, error) {
	if len(list.Stripes) == 0 {
		return 0, errNothing
	}
	return g.r.IntN(len(list.Stripes)), nil
}

// anyField chooses a field of a stripe.
func (g *graft) anyField(stripe int) (*schema.Node, *metapb.StripeFieldDescriptor, error) {
	var nodes []*schema.Node
	g.nodes.Walk(func(_ string, n *schema.Node) bool { nodes = append(nodes, n); return true })
	if len(nodes) == 0 {
		return nil, nil, errNothing
	}
	n := nodes[g.r.IntN(len(nodes))]
	d, err := g.field(stripe, n.ID)
	return n, d, err
}

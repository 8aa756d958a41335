package mutant

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// message changes one message of the metadata.
func (g *graft) message() (string, error) {
	ctx := context.Background()
	switch n := g.r.IntN(20); {
	case n == 0:
		return "directory: " + changeMessage(g.r, g.dir), nil
	case n == 1:
		p, err := g.root.Properties(ctx)
		if err != nil {
			return "", err
		}
		p = proto.CloneOf(p)
		what := changeMessage(g.r, p)
		g.dir.PropertiesRef = g.add(meta.Marshal(p))
		return "properties: " + what, nil
	case n == 2:
		list, err := g.root.URLList(ctx)
		if err != nil {
			return "", err
		}
		list = proto.CloneOf(list)
		what := changeMessage(g.r, list)
		g.dir.UrlListRef = g.add(meta.Marshal(list))
		return "url list: " + what, nil
	case n < 6:
		return g.shardField()
	}
	list, err := g.stripes()
	if err != nil {
		return "", err
	}
	what, err := g.stripeMessage(list)
	g.setStripes(list)
	return what, err
}

// shardField changes the descriptor of a field for the whole shard.
func (g *graft) shardField() (string, error) {
	id := uint32(g.r.IntN(int(max(1, g.nodes.Count))))
	d, err := g.root.ShardField(context.Background(), id)
	if err != nil || d == nil {
		return "", errNothing
	}
	d = proto.CloneOf(d)
	what := changeMessage(g.r, d)
	return fmt.Sprintf("field %d of the shard: %s", id, what), g.setShardField(id, d)
}

// setShardField replaces the descriptor of a field for the whole shard.
func (g *graft) setShardField(id uint32, d *metapb.FieldDescriptor) error {
	payload, err := g.root.Message(context.Background(), g.root.URL(), g.dir.FieldListRef)
	if err != nil {
		return err
	}
	a, err := meta.ParseRefArray(payload)
	if err != nil {
		return err
	}
	array, err := refs(a)
	if err != nil || int(id) >= len(array.Start) {
		return errNothing
	}
	ref := g.add(meta.Marshal(d))
	array.Start[id], array.End[id] = ref.Range.Start, ref.Range.End
	g.dir.FieldListRef = g.add(meta.Marshal(array))
	return nil
}

// stripeMessage changes something of a stripe.
func (g *graft) stripeMessage(list *metapb.StripeList) (string, error) {
	i, err := g.anyStripe(list)
	if err != nil {
		return "", err
	}
	switch n := g.r.IntN(10); {
	case n == 0:
		return "stripe list: " + changeMessage(g.r, list), nil
	case n == 1:
		p, err := g.root.StripeProperties(context.Background(), i)
		if err != nil {
			return "", err
		}
		p = proto.CloneOf(p)
		what := changeMessage(g.r, p)
		list.Stripes[i].PropertiesRef = g.add(meta.Marshal(p))
		return fmt.Sprintf("properties of stripe %d: %s", i, what), nil
	case n == 2:
		a, anchor, err := g.root.StripeFieldList(context.Background(), i)
		if err != nil || anchor != g.root.URL() {
			return "", errNothing
		}
		array, err := refs(a)
		if err != nil {
			return "", err
		}
		what := changeMessage(g.r, array)
		list.Stripes[i].FieldListRef = g.add(meta.Marshal(array))
		return fmt.Sprintf("field list of stripe %d: %s", i, what), nil
	}
	node, d, err := g.anyField(i)
	if err != nil {
		return "", err
	}
	what := changeMessage(g.r, d)
	return fmt.Sprintf("stripe %d, field %d: %s", i, node.ID, what), g.setFields(list, i, map[uint32]*metapb.StripeFieldDescriptor{node.ID: d})
}

// slot is a field of a message that may be changed.
type slot struct {
	m  protoreflect.Message
	fd protoreflect.FieldDescriptor
}

// slots lists the fields of a message and of those within: what is set, and what could be.
func slots(m protoreflect.Message) (set, unset []slot) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if !m.Has(fd) {
			unset = append(unset, slot{m, fd})
			continue
		}
		set = append(set, slot{m, fd})
		if fd.Kind() != protoreflect.MessageKind {
			continue
		}
		var within []protoreflect.Message
		if fd.IsList() {
			for k := range m.Get(fd).List().Len() {
				within = append(within, m.Get(fd).List().Get(k).Message())
			}
		} else {
			within = append(within, m.Get(fd).Message())
		}
		for _, x := range within {
			a, b := slots(x)
			set, unset = append(set, a...), append(unset, b...)
		}
	}
	return set, unset
}

// changeMessage changes one field, mostly one that is set, and reports which.
func changeMessage(r *rand.Rand, m proto.Message) string {
	set, unset := slots(m.ProtoReflect())
	from := set
	if len(set) == 0 || len(unset) > 0 && r.IntN(6) == 0 {
		from = unset
	}
	if len(from) == 0 {
		return "nothing"
	}
	s := from[r.IntN(len(from))]
	before := fmt.Sprintf("%.60v", s.m.Get(s.fd))
	s.change(r)
	return fmt.Sprintf("%s %s -> %.60v", s.fd.FullName(), before, s.m.Get(s.fd))
}

func (s slot) change(r *rand.Rand) {
	switch {
	case s.fd.IsList():
		s.changeList(r)
	case s.m.Has(s.fd) && r.IntN(8) == 0:
		s.m.Clear(s.fd)
	case s.fd.Kind() == protoreflect.MessageKind:
		if s.m.Has(s.fd) && r.IntN(2) == 0 {
			s.m.Clear(s.fd)
		} else {
			s.m.Set(s.fd, s.m.NewField(s.fd))
		}
	default:
		s.m.Set(s.fd, other(r, s.fd, s.m.Get(s.fd)))
	}
}

func (s slot) changeList(r *rand.Rand) {
	l := s.m.Mutable(s.fd).List()
	n := l.Len()
	if n == 0 {
		l.Append(l.NewElement())
		return
	}
	i, k := r.IntN(n), r.IntN(n)
	switch r.IntN(4) {
	case 0:
		l.Append(l.Get(i))
	case 1:
		for ; i+1 < n; i++ {
			l.Set(i, l.Get(i+1))
		}
		l.Truncate(n - 1)
	case 2:
		a, b := l.Get(i), l.Get(k)
		l.Set(i, b)
		l.Set(k, a)
	default:
		if s.fd.Kind() != protoreflect.MessageKind {
			l.Set(i, other(r, s.fd, l.Get(i)))
		} else {
			l.Set(i, l.Get(k))
		}
	}
}

// other is another value than v: a neighbour, a limit, or anything.
func other(r *rand.Rand, fd protoreflect.FieldDescriptor, v protoreflect.Value) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(!v.Bool())
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(10)))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(otherText(r, v.String()))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(otherBytes(r, v.Bytes()))
	case protoreflect.DoubleKind:
		f := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -v.Float(), v.Float() + 1, math.MaxFloat64}
		return protoreflect.ValueOfFloat64(f[r.IntN(len(f))])
	case protoreflect.Int64Kind, protoreflect.Sfixed64Kind, protoreflect.Sint64Kind:
		return protoreflect.ValueOfInt64(int64(otherNumber(r, uint64(v.Int()))))
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind, protoreflect.Sint32Kind:
		return protoreflect.ValueOfInt32(int32(otherNumber(r, uint64(v.Int()))))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(otherNumber(r, v.Uint())))
	}
	return protoreflect.ValueOfUint64(otherNumber(r, v.Uint()))
}

func otherNumber(r *rand.Rand, v uint64) uint64 {
	all := []uint64{0, 1, v + 1, v - 1, v * 2, v / 2, v + 64, v - 64, 1 << 31, 1 << 32, 1 << 62, math.MaxInt64, 1 << 63, math.MaxUint64, v ^ 1<<r.IntN(64), r.Uint64N(1 << 20)}
	return all[r.IntN(len(all))]
}

func otherText(r *rand.Rand, s string) string {
	all := []string{"", "x", s + "x", "../" + s, "https://attack.invalid/" + s, "\x00", "ÿ" + s}
	return all[r.IntN(len(all))]
}

func otherBytes(r *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	switch {
	case r.IntN(4) == 0 || len(b) == 0:
		return append(b, byte(r.Uint32()))
	case r.IntN(3) == 0:
		return b[:r.IntN(len(b))]
	}
	b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	return b
}

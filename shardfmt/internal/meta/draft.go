package meta

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A root on the draft wire is read whole when it is opened: every message is put on the current wire, and the result laid out
// behind the end of the object, where the rest of this package reads it as if it were there. The bytes of the object itself stay
// where references to buffers find them.

// draftWhole is up to which size in bytes a draft root is read in one request; of a larger one the end, and each message by itself.
const draftWhole = 16 << 20

// draftMost is how many bytes of messages are laid out: many references may lead to one message, and each gets a copy.
const draftMost = 256 << 20

// undraft replaces the metadata of a root on the draft wire by the same on the current one.
func (r *Root) undraft(ctx context.Context) error {
	if r.size <= draftWhole && r.tailStart > 0 {
		whole := make([]byte, r.size)
		if _, err := r.store.ReadRange(ctx, r.url, 0, whole); err != nil {
			return outside(err, r.url, 0, r.size)
		}
		r.tail, r.tailStart = whole, 0
	}
	d := &undrafted{r: r, to: NewRootBuilderAt(uint64(r.size))}
	if err := d.directory(ctx); err != nil {
		return err
	}
	r.draft = r.size
	r.tail, r.tailStart = d.to.buf, r.size
	r.size += int64(len(d.to.buf))
	return nil
}

// Draft reports whether the root is on the draft wire.
func (r *Root) Draft() bool { return r.draft > 0 }

// undrafted puts the messages of a root on the current wire.
type undrafted struct {
	r      *Root
	to     *RootBuilder
	schema *schema.Schema
	nodes  []*schema.Node
}

func (d *undrafted) directory(ctx context.Context) error {
	dir := d.r.dir
	payload, url, err := d.r.message(ctx, d.r.url, dir.SchemaRef)
	if err != nil {
		return err
	}
	if d.schema, err = schemawire.UnmarshalDraft(payload); err != nil {
		return corrupt.Locate(err, url, int64(dir.SchemaRef.GetRange().GetStart())+4)
	}
	d.nodes = make([]*schema.Node, d.schema.Count)
	d.schema.Walk(func(_ string, n *schema.Node) bool {
		d.nodes[n.ID] = n
		return true
	})
	dir.SchemaRef = d.to.AddPayload(schemawire.Marshal(d.schema))
	if dir.PropertiesRef, err = copyMessage[metapb.ShardProperties](ctx, d, d.r.url, dir.PropertiesRef, nil); err != nil {
		return err
	}
	if dir.UrlListRef, err = copyMessage[metapb.UrlList](ctx, d, d.r.url, dir.UrlListRef, nil); err != nil {
		return err
	}
	if dir.IndexesRef, err = copyMessage[metapb.IndexCollection](ctx, d, d.r.url, dir.IndexesRef, nil); err != nil {
		return err
	}
	if dir.FieldListRef, err = copyFieldList[metapb.FieldDescriptor](ctx, d, d.r.url, dir.FieldListRef); err != nil {
		return err
	}
	dir.StripeListRef, err = d.stripes(ctx, dir.StripeListRef)
	return err
}

func (d *undrafted) stripes(ctx context.Context, ref *metapb.DataRef) (*metapb.DataRef, error) {
	anchor, err := d.r.Resolve(d.r.url, ref.GetUrl())
	if err != nil {
		return nil, err
	}
	return copyMessage(ctx, d, d.r.url, ref, func(l *metapb.StripeList) (err error) {
		for _, s := range l.Stripes {
			if s.PropertiesRef, err = copyMessage[metapb.StripeProperties](ctx, d, anchor, s.PropertiesRef, nil); err != nil {
				return err
			}
			if s.IndexesRef, err = copyMessage[metapb.IndexCollection](ctx, d, anchor, s.IndexesRef, nil); err != nil {
				return err
			}
			if s.FieldListRef == nil {
				continue
			}
			if s.FieldListRef, err = copyFieldList[metapb.StripeFieldDescriptor](ctx, d, anchor, s.FieldListRef); err != nil {
				return err
			}
		}
		return nil
	})
}

// message is a generated message of type T.
type message[T any] interface {
	*T
	proto.Message
}

// copyMessage puts the message that ref, in a message of anchor, refers to on the current wire, after change has looked at it. Its
// references name their objects then, unless they are in the root.
func copyMessage[T any, M message[T]](ctx context.Context, d *undrafted, anchor string, ref *metapb.DataRef, change func(M) error) (*metapb.DataRef, error) {
	if ref == nil {
		return nil, nil
	}
	payload, url, err := d.r.message(ctx, anchor, ref)
	if err != nil {
		return nil, err
	}
	m := M(new(T))
	if payload, err = toCurrent.message(payload, m.ProtoReflect().Descriptor(), 0); err == nil {
		err = unmarshal(payload, m)
	}
	if err != nil {
		return nil, corrupt.Locate(err, url, int64(ref.GetRange().GetStart())+4)
	}
	if change != nil {
		if err := change(m); err != nil {
			return nil, err
		}
	}
	if url != d.r.url {
		RewriteURLs(m, func(u string) string {
			if u == "" {
				return ref.GetUrl()
			}
			return u
		})
	}
	if p, ok := any(m).(*metapb.ShardProperties); ok {
		dropLayout(p)
	}
	out := d.to.Add(m)
	if d.to.Len() > draftMost {
		return nil, corrupt.Locate(corrupt.Unsupported(-1, "a shard on the draft wire with more than %d bytes of messages", draftMost), d.r.url, 0)
	}
	return out, nil
}

// dropLayout removes what a shard states about the places of its messages, which is not so any more.
func dropLayout(p *metapb.ShardProperties) {
	kept := p.CustomProperties[:0]
	for _, c := range p.CustomProperties {
		if c.GetName() != PropertyLayout {
			kept = append(kept, c)
		}
	}
	p.CustomProperties = kept
}

// copyFieldList copies a field list and the descriptors that it refers to.
func copyFieldList[T any, M message[T]](ctx context.Context, d *undrafted, anchor string, ref *metapb.DataRef) (*metapb.DataRef, error) {
	payload, url, err := d.r.message(ctx, anchor, ref)
	if err != nil {
		return nil, err
	}
	list, err := ParseRefArray(payload)
	if err != nil {
		return nil, corrupt.Locate(err, url, int64(ref.GetRange().GetStart())+4)
	}
	refs := make([]*metapb.DataRef, list.Len())
	for i := range refs {
		u, start, end, err := list.At(i)
		if err != nil {
			return nil, corrupt.Locate(err, url, int64(ref.GetRange().GetStart())+4)
		}
		if start == end {
			continue
		}
		one := NewRef(u, uint64(start), uint64(end))
		if u == "" && url != d.r.url {
			one.Url = ref.GetUrl()
		}
		refs[i], err = copyMessage(ctx, d, d.r.url, one, func(m M) error {
			d.decimals(i, m)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return d.to.Add(RefsOf(refs)), nil
}

// decimals makes decimals of the bytes that the draft has for them.
func (d *undrafted) decimals(id int, m proto.Message) {
	if id >= len(d.nodes) || d.nodes[id] == nil || !d.nodes[id].IsDecimal() {
		return
	}
	f, ok := m.(*metapb.FieldDescriptor)
	if !ok {
		f = m.(*metapb.StripeFieldDescriptor).GetField()
	}
	for _, v := range []*metapb.AnyValue{f.GetConstantValue(), f.GetRangeStats().GetMinValue(), f.GetRangeStats().GetMaxValue()} {
		if b, ok := v.GetKind().(*metapb.AnyValue_BytesValue); ok {
			v.Kind = &metapb.AnyValue_DecimalValue{DecimalValue: b.BytesValue}
		}
	}
}

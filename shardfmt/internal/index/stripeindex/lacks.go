package stripeindex

import (
	"context"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Rebuild makes a builder of what an index, or a term filter, of ours must hold of its columns, to be given batches of the columns of s,
// whose nodes have their numbers of the shard. It is nil for an index that no scan relies on: one of another writer, or of columns that
// have another type now. whole means that the index is one of all records of the shard.
func Rebuild(d *metapb.IndexDescriptor, s *schema.Schema, whole bool) *Builder {
	fields, ok := fieldsOf(d)
	if !ok {
		return nil
	}
	b := &Builder{spec: Spec{Kind: Text, Tokenizer: fields[0].tokenizer}}
	keys := texts(meta.Properties(d.Properties).Get(propertyKeys))
	switch {
	case d.IndexType == layerindex.Type:
		b.spec.Kind = Layer
	case len(keys) > 0:
		b.spec.Kind = Hash
	}
	if whole {
		b.spec.Scope = OfShard
	}
	for i, f := range d.IndexedFields {
		var all column
		for k, id := range f.SchemaIds {
			c, ok := columnOf(s, id)
			if !ok || fields[0].typ != c.leaf().TypeName() || fields[0].tokenizer != b.spec.Tokenizer {
				return nil
			}
			fields = fields[1:]
			if k == 0 {
				all = c
			} else {
				all.more = append(all.more, c)
			}
		}
		b.columns, b.numbers = append(b.columns, all), append(b.numbers, uint32(i))
		if b.spec.Kind == Hash {
			b.prefixes = append(b.prefixes, keys[i])
		} else {
			b.prefixes = append(b.prefixes, "")
		}
	}
	b.begin()
	if whole {
		b.shared.begin(b.spec.Kind, b.newLayer)
	}
	return b
}

// columnOf is the column of a node of a schema.
func columnOf(s *schema.Schema, id uint32) (c column, ok bool) {
	var visit func(n *schema.Node, path []*schema.Node) bool
	visit = func(n *schema.Node, path []*schema.Node) bool {
		path = append(path, n)
		if n.ID == id {
			c.path = slices.Clone(path)
			return true
		}
		if n.Basic != schema.Struct && n.Basic != schema.List {
			return false
		}
		return slices.ContainsFunc(n.Children, func(child *schema.Node) bool { return visit(child, path) })
	}
	for i, n := range s.Fields {
		if visit(n, nil) {
			c.top = i
			return c, true
		}
	}
	return c, false
}

// Relied reports whether scans rely on an index of a stripe, or with whole of a shard, of so many records.
func Relied(d *metapb.IndexDescriptor, whole bool, records uint64) bool {
	if _, ok := fieldsOf(d); !ok || !relied(d.IndexType) || meta.NoReferences(d.Properties) != nil {
		return false
	}
	if whole {
		return ofWhole(d, records)
	}
	base, _ := meta.Properties(d.Properties).Text(propertyBase)
	return base == baseStripe
}

// Keys are the keys that a term filter of the stripe available must hold.
func (b *Builder) Keys() []uint64 {
	if b.spec.Kind == Hash {
		return b.hash.Hashes()
	}
	return b.termKeys()
}

// Lacks describes what an index lacks of the one that its builder made of the values, "" if nothing; the descriptor of made is nil where there
// is nothing to index. Both are of as many stripes and records.
func Lacks(ctx context.Context, stored, made Stored, p urlresolve.Policy) (string, error) {
	if made.Descriptor == nil {
		return "", nil
	}
	part := func(s *Stored) hashindex.Part {
		return hashindex.Part{Descriptor: s.Descriptor, Base: s.Base, Store: s.Store, Records: s.Records}
	}
	switch stored.Descriptor.IndexType {
	case hashindex.Type:
		return hashindex.Lacks(ctx, part(&stored), part(&made), p)
	case layerindex.Type:
		return layerindex.Lacks(ctx, layerindex.Part(part(&stored)), layerindex.Part(part(&made)), p)
	}
	ofText := func(s *Stored) textindex.Part {
		out := textindex.Part{Descriptor: s.Descriptor, Base: s.Base, Store: s.Store, Stripes: s.Stripes, Records: s.Records, Fields: map[uint32]uint32{}}
		for k, built := range builtAs(s.Descriptor) {
			out.Fields[built] = uint32(k)
		}
		return out
	}
	return textindex.Lacks(ctx, ofText(&stored), ofText(&made), textindex.JoinOptions{Policy: p})
}

// Stored is an index of a stripe or shard, and the store that holds it.
type Stored struct {
	Part
	Store meta.Store
}

// Missing counts the keys that a term filter does not hold.
func (f *Filter) Missing(ctx context.Context, st meta.Store, keys []uint64) (missing int, err error) {
	data := make([]byte, f.Size())
	if _, err := st.ReadRange(ctx, f.Object, f.Start, data); err != nil {
		return 0, err
	}
	if err := f.Check(data); err != nil {
		return 0, err
	}
	columns, err := f.Split(data)
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		if !columns[f.Column].Has(k) {
			missing++
		}
	}
	return missing, nil
}

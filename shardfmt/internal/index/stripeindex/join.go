package stripeindex

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// Part is a shard that is put together with others, and its index of the shard as a whole, whose fields have their numbers in the new shard.
type Part struct {
	Descriptor *metapb.IndexDescriptor
	// Base is the object whose folder the descriptor's references start at.
	Base    string
	Stripes int
	Records uint64
}

// OfShardAsWhole reports whether a scan of a shard of so many records relies on an index as one of all its stripes.
func OfShardAsWhole(d *metapb.IndexDescriptor, records uint64) bool {
	if !relied(d.IndexType) {
		return false
	}
	_, ok := fieldsOf(d)
	return ok && ofWhole(d, records) && meta.NoReferences(d.Properties) == nil
}

// Alike reports whether indexes of two shards, on whose columns the new shard has the same numbers, can be one: they know the same of the same
// columns.
func Alike(a, b *metapb.IndexDescriptor) bool {
	if a.IndexType != b.IndexType || !slices.EqualFunc(a.IndexedFields, b.IndexedFields, func(x, y *metapb.IndexedField) bool { return proto.Equal(x, y) }) {
		return false
	}
	for _, name := range []string{propertyTypes, "collation", "tokenizers", propertyKeys, propertyHolder, "order", "key_bytes", "layers", "nulls"} {
		x, y := meta.Properties(a.Properties).Get(name), meta.Properties(b.Properties).Get(name)
		if (x == nil) != (y == nil) || x != nil && !proto.Equal(x, y) {
			return false
		}
	}
	return ascend(a) && ascend(b)
}

// ascend reports whether the numbers of the fields when the index was built ascend, so that lists of one index are in the order of another's.
func ascend(d *metapb.IndexDescriptor) bool {
	built := builtAs(d)
	return slices.IsSorted(built) && len(slices.Compact(slices.Clone(built))) == len(built)
}

// builtAs are the numbers of the fields when the index was built.
func builtAs(d *metapb.IndexDescriptor) (out []uint32) {
	for _, e := range meta.Properties(d.Properties).Get(propertyFields).GetListValue().GetElements() {
		n, _ := meta.Uint64Of(e)
		out = append(out, uint32(n))
	}
	return out
}

// JoinStore is what joining needs of an object store; a *blobio.Client is one.
type JoinStore interface {
	meta.Store
	shardwriter.Store
}

// JoinOptions of Join. Root and Prefix must be set.
type JoinOptions struct {
	// Root is the root in terms of which the index is described, Prefix what the URLs of its objects begin with.
	Root, Prefix string
	Policy       urlresolve.Policy
	// Memory is about how many bytes are held of what is read, textindex.DefaultMemory if 0.
	Memory int64
}

// Join writes one index of those of shards that are put one behind the other, which are all Alike, and describes it. No record
// is read. After an error the objects are those that were written all the same. A part that is not as it must be is a corrupt.ErrCorrupt.
func Join(ctx context.Context, st JoinStore, parts []Part, o JoinOptions) (d *metapb.IndexDescriptor, out []shardwriter.Object, err error) {
	d = bare(parts[0].Descriptor)
	records := uint64(0)
	for i := range parts {
		records += parts[i].Records
	}
	to := shardwriter.IndexTarget{Store: st, Root: o.Root, Prefix: o.Prefix}
	var made *metapb.IndexDescriptor
	if d.IndexType == layerindex.Type {
		var objects []layerindex.Object
		made, objects, err = layerindex.Join(ctx, to, layerParts(st, parts), o.Policy, o.Memory)
		out = written(objects)
		if made != nil {
			setProperties(d, made)
		}
	} else if d.IndexType == hashindex.Type {
		var objects []hashindex.Object
		made, objects, err = hashindex.Join(ctx, to, hashParts(st, parts), o.Policy, int(o.Memory))
		out = written(objects)
	} else {
		var objects []textindex.Object
		made, objects, err = textindex.Join(ctx, to, d, textParts(st, parts), textindex.JoinOptions{Policy: o.Policy, Memory: o.Memory})
		out = written(objects)
	}
	if err != nil {
		return nil, out, err
	}
	if made == nil {
		return nil, out, fmt.Errorf("the indexes %s have no terms", parts[0].Base)
	}
	d.Artifacts, d.IndexSize = made.Artifacts, made.IndexSize
	setRecords(d, records)
	return d, out, nil
}

// setProperties gives a descriptor the properties that an index has which was recreated.
func setProperties(d, made *metapb.IndexDescriptor) {
	bag := meta.Properties(d.Properties)
	for _, p := range made.Properties {
		bag.Set(p.GetName(), p.GetValue())
	}
	d.Properties = bag
}

func layerParts(st meta.Store, parts []Part) []layerindex.Part {
	out := make([]layerindex.Part, len(parts))
	for i, p := range hashParts(st, parts) {
		out[i] = layerindex.Part(p)
	}
	return out
}

func hashParts(st meta.Store, parts []Part) []hashindex.Part {
	out, first := make([]hashindex.Part, len(parts)), uint64(0)
	for i, p := range parts {
		out[i] = hashindex.Part{Descriptor: p.Descriptor, Base: p.Base, Store: st, Records: p.Records, FirstRecord: first}
		first += p.Records
	}
	return out
}

func textParts(st meta.Store, parts []Part) []textindex.Part {
	out, stripes, first := make([]textindex.Part, len(parts)), 0, uint64(0)
	numbers := builtAs(parts[0].Descriptor)
	for i, p := range parts {
		out[i] = textindex.Part{
			Descriptor: p.Descriptor, Base: p.Base, Store: st, Stripes: p.Stripes, FirstStripe: stripes, Records: p.Records, FirstRecord: first,
			Fields: map[uint32]uint32{},
		}
		for k, built := range builtAs(p.Descriptor) {
			out[i].Fields[built] = numbers[k]
		}
		stripes, first = stripes+p.Stripes, first+p.Records
	}
	return out
}

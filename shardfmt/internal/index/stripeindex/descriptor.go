package stripeindex

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

// Descriptor describes an index: its type, the fields it covers and the objects it consists of.
type Descriptor struct{ message *metapb.IndexDescriptor }

// DescriptorOf wraps a message.
func DescriptorOf(d *metapb.IndexDescriptor) Descriptor { return Descriptor{d} }

// DescriptorsOf wraps messages.
func DescriptorsOf(messages []*metapb.IndexDescriptor) []Descriptor {
	out := make([]Descriptor, len(messages))
	for i, m := range messages {
		out[i] = Descriptor{m}
	}
	return out
}

// Message returns the message of a descriptor.
func Message(d Descriptor) *metapb.IndexDescriptor { return d.message }

// Messages returns the messages of descriptors.
func Messages(descriptors []Descriptor) []*metapb.IndexDescriptor {
	out := make([]*metapb.IndexDescriptor, len(descriptors))
	for i, d := range descriptors {
		out[i] = d.message
	}
	return out
}

// ParseDescriptor decodes a bare IndexDescriptor message.
func ParseDescriptor(b []byte) (Descriptor, error) {
	d := new(metapb.IndexDescriptor)
	if err := proto.Unmarshal(b, d); err != nil || d.IndexType == "" {
		return Descriptor{}, corrupt.At(0, "not the descriptor of an index")
	}
	return Descriptor{d}, nil
}

// Type is the type of the index as its writer named it.
func (d Descriptor) Type() string { return d.message.GetIndexType() }

// Kind is the kind of the index; ok is false for a type that is not known.
func (d Descriptor) Kind() (kind Kind, ok bool) {
	switch d.Type() {
	case textindex.Type:
		return Text, true
	case hashindex.Type, hashindex.RawType:
		return Hash, true
	case layerindex.Type:
		return Layer, true
	}
	return 0, false
}

// Size is the number of bytes of the objects of the index, 0 if it is not known.
func (d Descriptor) Size() uint64 { return d.message.GetIndexSize() }

// Spec returns the spec that the index was built from; an error for an index of another writer.
func (d Descriptor) Spec() (Spec, error) { return SpecOf(d.message) }

// IsTermFilter reports whether d describes a term filter, which stands beside the index of the same name.
func (d Descriptor) IsTermFilter() bool { return IsFilter(d.message) }

// CoversShard reports whether a scan relies on the index as one of all stripes of a shard with the given number of records.
func (d Descriptor) CoversShard(records uint64) bool { return OfShardAsWhole(d.message, records) }

// Fields returns the indexed fields, each as the numbers of its nodes in the schema of the shard.
func (d Descriptor) Fields() [][]uint32 {
	var out [][]uint32
	for _, f := range d.message.GetIndexedFields() {
		out = append(out, f.SchemaIds)
	}
	return out
}

// MarshalBinary encodes the descriptor as ParseDescriptor reads it.
func (d Descriptor) MarshalBinary() ([]byte, error) { return proto.Marshal(d.message) }

// OpenText opens the text index that d describes. References are relative to the folder of the object base.
func (d Descriptor) OpenText(ctx context.Context, st meta.Store, base string, p urlresolve.Policy) (*textindex.Index, error) {
	return textindex.Open(ctx, st, base, d.message, p)
}

// OpenHash opens the hash index that d describes, without a request.
func (d Descriptor) OpenHash(st meta.Store, base string, p urlresolve.Policy) (*hashindex.Index, error) {
	return hashindex.Open(st, base, d.message, p)
}

// OpenLayer opens the layer index that d describes with one request.
func (d Descriptor) OpenLayer(ctx context.Context, st meta.Store, base string, p urlresolve.Policy) (*layerindex.Index, error) {
	return layerindex.Open(ctx, st, base, d.message, p)
}

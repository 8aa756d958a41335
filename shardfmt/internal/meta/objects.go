package meta

import "github.com/shardcat/shardcat/shardfmt/internal/metapb"

// PropertyObjects is the custom property of a stripe that protects what the wire leaves without a checksum (block
// maps, length prefixes, padding): a list of one struct for each byte range that the stripe's buffers lie in, with
//
//	url    data_ref   the object and the range, by the rules of every reference
//	size   u64        bytes of the range
//	xxh3   u64        XXH3-64 of the range, seed 0
//
// Being a property it travels with the stripe through every merge, and its reference is rewritten like any other.
const PropertyObjects = "shardcat.objects"

// ObjectSum is the checksum of a byte range that holds buffers of a stripe.
type ObjectSum struct {
	// Ref names object and range; an empty URL means the object that holds the stripe's properties.
	Ref *metapb.DataRef
	// Sum is the XXH3-64 of the range.
	Sum uint64
}

// ObjectSumsValue is the value of PropertyObjects.
func ObjectSumsValue(sums ...ObjectSum) *metapb.AnyValue {
	list := make([]*metapb.AnyValue, len(sums))
	for i, s := range sums {
		size := s.Ref.GetRange().GetEnd() - s.Ref.GetRange().GetStart()
		list[i] = StructOf(
			Pair("url", &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: s.Ref}}),
			Pair("size", Uint(size)), Pair("xxh3", Uint(s.Sum)))
	}
	return ListOf(list...)
}

// ObjectSums reads PropertyObjects. Elements of another form are left out: a later version may add some.
func ObjectSums(v *metapb.AnyValue) []ObjectSum {
	var out []ObjectSum
	for _, e := range v.GetListValue().GetElements() {
		bag := Properties(e.GetStructValue().GetFields())
		ref := bag.Get("url").GetDataRef()
		sum, ok := Uint64Of(bag.Get("xxh3"))
		if ref != nil && ok {
			out = append(out, ObjectSum{Ref: ref, Sum: sum})
		}
	}
	return out
}

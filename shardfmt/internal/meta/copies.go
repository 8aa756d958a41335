package meta

import "github.com/shardcat/shardcat/shardfmt/internal/metapb"

// PropertyCopies is the custom property of a shard with copies of what lies far from the root in the same object, and is read by whoever reads anything:
// block maps, and the last blocks of buffers. A reader that has the root need not request them. It is a list of structs of "at", where in the object the
// range starts (u64), and "bytes". What the object has there counts; a copy that differs is corrupt.
const PropertyCopies = "shardcat.copies"

// RangeCopy is the bytes of a range of an object, and where it starts.
type RangeCopy struct {
	Start uint64
	Bytes []byte
}

// CopiesValue is the value of PropertyCopies.
func CopiesValue(copies []RangeCopy) *metapb.AnyValue {
	list := make([]*metapb.AnyValue, len(copies))
	for i, c := range copies {
		list[i] = StructOf(Pair("at", Uint(c.Start)), Pair("bytes", Blob(c.Bytes)))
	}
	return ListOf(list...)
}

// Copies reads PropertyCopies. Elements of another form are left out: a later version may add some.
func Copies(v *metapb.AnyValue) (out []RangeCopy) {
	for _, e := range v.GetListValue().GetElements() {
		bag := Properties(e.GetStructValue().GetFields())
		at, ok := Uint64Of(bag.Get("at"))
		b, is := bag.Get("bytes").GetKind().(*metapb.AnyValue_BytesValue)
		if ok && is && at+uint64(len(b.BytesValue)) >= at {
			out = append(out, RangeCopy{at, b.BytesValue})
		}
	}
	return out
}

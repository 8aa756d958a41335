package meta

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// HasReference reports whether v is a reference, or holds one.
func HasReference(v *metapb.AnyValue) bool {
	if v.GetDataRef() != nil {
		return true
	}
	for _, e := range v.GetListValue().GetElements() {
		if HasReference(e) {
			return true
		}
	}
	for _, p := range v.GetStructValue().GetFields() {
		if HasReference(p.GetValue()) {
			return true
		}
	}
	return false
}

// NoReferences refuses a bag in which a value is a reference or holds one. References are followed in the bags of shards, stripes
// and fields alone; an index would have to be read to know what it states about itself.
func NoReferences(bag Properties) error {
	for _, p := range bag {
		if HasReference(p.GetValue()) {
			return corrupt.Unsupported(-1, "property %s holds a reference: references are followed in the properties of shards, stripes and fields alone", p.GetName())
		}
	}
	return nil
}

// checkStatistics refuses references in the place of a constant or of bounds.
func checkStatistics(d *metapb.FieldDescriptor, url string, at int64, id uint32) error {
	for _, v := range []struct {
		what string
		is   *metapb.AnyValue
	}{
		{"constant value", d.GetConstantValue()}, {"least value", d.GetRangeStats().GetMinValue()}, {"greatest value", d.GetRangeStats().GetMaxValue()},
	} {
		if HasReference(v.is) {
			return corrupt.Locate(corrupt.Unsupported(at, "field %d: the %s is a reference: references are followed in properties alone", id, v.what), url, 0)
		}
	}
	return nil
}

// checkObjects refuses a reference in the place of the whole property PropertyObjects: its elements refer to data, and it is not followed.
func checkObjects(bag Properties, url string) error {
	if bag.Get(PropertyObjects).GetDataRef() == nil {
		return nil
	}
	return corrupt.Locate(corrupt.Unsupported(-1, "property %s is a reference and not a list", PropertyObjects), url, 0)
}

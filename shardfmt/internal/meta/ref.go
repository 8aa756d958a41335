package meta

import (
	"math"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// SelfRef refers to bytes [start, end) of the object that holds the reference.
func SelfRef(start, end uint64) *metapb.DataRef { return NewRef("", start, end) }

// NewRef refers to bytes [start, end) of the object that url names.
func NewRef(url string, start, end uint64) *metapb.DataRef {
	return &metapb.DataRef{Url: url, Range: &metapb.UInt64Range{Start: start, End: end}}
}

// RefRange is the byte range of ref: [0, 0) if it has none. A range that runs backwards, or ends beyond
// what an object can hold, is corrupt.
func RefRange(ref *metapb.DataRef) (start, end int64, err error) {
	r := ref.GetRange()
	return checkRange(r.GetStart(), r.GetEnd())
}

func checkRange(start, end uint64) (int64, int64, error) {
	if start > end || end > math.MaxInt64 {
		return 0, 0, corrupt.At(-1, "reference to the range [%d, %d)", start, end)
	}
	return int64(start), int64(end), nil
}

// RefsOf shreds refs into the three arrays of a DataRefArray; nil stands for an absent element.
func RefsOf(refs []*metapb.DataRef) *metapb.DataRefArray {
	a := &metapb.DataRefArray{
		Url:   make([]string, len(refs)),
		Start: make([]uint64, len(refs)),
		End:   make([]uint64, len(refs)),
	}
	for i, r := range refs {
		if r == nil {
			continue
		}
		a.Url[i], a.Start[i], a.End[i] = r.Url, r.GetRange().GetStart(), r.GetRange().GetEnd()
	}
	return a
}

package shardwriter

import (
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

const (
	// largestMap and largestBlock bound a block map and a block that are copied, mostCopies all of them.
	largestMap, largestBlock, mostCopies = 4 << 10, 32 << 10, 48 << 10
	// nearEnd is how far before the metadata what is read with it is sure to lie, if the metadata has no copies.
	nearEnd = 80 << 10
)

// copies are block maps and last blocks of an object, for its root; see meta.PropertyCopies.
type copies struct {
	maps, blocks []meta.RangeCopy
	// want is the range of the object that is kept when it is written, got what came of it.
	want colstream.Range
	got  []byte
}

// expect requests the block map and the last block of a buffer that starts at an offset of the object and is about to be written.
func (c *copies) expect(at uint64, mapStart int, blockMap []byte) error {
	if c == nil {
		return nil
	}
	if len(blockMap) <= largestMap {
		c.maps = append(c.maps, meta.RangeCopy{Start: at + uint64(mapStart), Bytes: append([]byte(nil), blockMap...)})
	}
	m, err := colstream.ParseMap(blockMap)
	if err != nil {
		return err
	}
	if n := m.Blocks(); n > 0 {
		if start, end := m.Range(n - 1); end-start <= largestBlock {
			c.want, c.got = colstream.Range{Start: at + start, End: at + end}, nil
		}
	}
	return nil
}

// wrote takes what is requested from bytes of the object that start at an offset.
func (c *copies) wrote(at uint64, b []byte) {
	if c == nil || c.want.Len() == 0 {
		return
	}
	from, to := max(at, c.want.Start), min(at+uint64(len(b)), c.want.End)
	if from >= to {
		return
	}
	if c.got = append(c.got, b[from-at:to-at]...); uint64(len(c.got)) == c.want.Len() {
		c.blocks = append(c.blocks, meta.RangeCopy{Start: c.want.Start, Bytes: c.got})
		c.want, c.got = colstream.Range{}, nil
	}
}

// property is the property that holds what lies far from end, where the metadata starts; nil if there is nothing.
func (c *copies) property(end uint64) *metapb.NameValuePair {
	if c == nil {
		return nil
	}
	room, near := mostCopies, uint64(nearEnd)
	var far []meta.RangeCopy
	for _, of := range [][]meta.RangeCopy{c.maps, c.blocks} {
		for _, r := range of {
			if r.Start+near <= end && len(r.Bytes) <= room {
				far = append(far, r)
				room -= len(r.Bytes)
				near -= uint64(len(r.Bytes))
			}
		}
	}
	if len(far) == 0 {
		return nil
	}
	return meta.Pair(meta.PropertyCopies, meta.CopiesValue(far))
}

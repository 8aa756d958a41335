package shardfmt

import (
	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/internal/field"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// survivors gives the rows of the stripe that range indexes do not rule out.
func (s *stripeScan) survivors() ([]buffer.Range, error) {
	all := []buffer.Range{s.rows}
	total := blocksOf([]buffer.Range{{Start: 0, End: s.stripes[s.index].Records}})
	ranges := all
	if s.needed != nil {
		indexes, err := s.indexes()
		if err != nil {
			return nil, err
		}
		ranges = s.prune(indexes)
	}
	s.stats.BlocksPruned += total - blocksOf(ranges)
	return ranges, nil
}

// indexed is a field of the filter with its range index.
type indexed struct {
	node  *schema.Node
	index *buffer.RangeIndex
}

// smallColumns is the size of the columns up to which they are fetched with the range indexes instead of after
// them: less than a round trip costs.
const smallColumns = 256 << 10

// indexes fetches the range indexes of the filter's fields, all at once, and with them the columns if they are
// small. An index that can't be read is an error, but one of an unknown version only prunes nothing.
func (s *stripeScan) indexes() (out []indexed, err error) {
	if s.stripes[s.index].Records <= buffer.RangeIndexBlock {
		return nil, nil
	}
	var round []buffer.Request
	s.needed.Walk(func(_ string, n *schema.Node) bool {
		if !s.aligned(n) {
			return true
		}
		q, failed := field.IndexRequest(s.ctx, s.root, s.index, n, s.stripes[s.index].Records, func(x *buffer.RangeIndex) {
			out = append(out, indexed{n, x})
		})
		if failed != nil {
			err = failed
		} else if q != nil {
			round = append(round, *q)
		}
		return err == nil
	})
	if err != nil || len(round) == 0 {
		return nil, err
	}
	with, err := s.smallNeeds()
	if err != nil {
		return nil, err
	}
	err = fetch(s.ctx, s.sp, append(round, with...)) // which fills out
	return out, err
}

// smallNeeds are the requests of the columns that are read first, if they are small.
func (s *stripeScan) smallNeeds() (round []buffer.Request, err error) {
	first, stored := s.first(), uint64(0)
	for _, c := range first {
		stored += c.Size()
	}
	if stored > smallColumns {
		return nil, nil
	}
	rows := []buffer.Range{s.rows}
	for _, c := range first {
		q, err := c.Need(rows, s.whole(rows))
		if err != nil {
			return nil, err
		}
		round = append(round, q...)
	}
	return round, nil
}

// aligned says that positions of a node are rows: it is a top-level field. (Members of structs would do, but
// only with the nulls of the structs.)
func (s *stripeScan) aligned(n *schema.Node) bool { return n.Parent == schema.NoParent }

// prune applies the filter to the blocks of range indexes.
func (s *stripeScan) prune(indexes []indexed) []buffer.Range {
	if len(indexes) == 0 || !sameBlocks(indexes) {
		return []buffer.Range{s.rows}
	}
	var out []buffer.Range
	x := indexes[0].index
	for i := int(s.rows.Start / x.BlockSize); i < x.Blocks(); i++ {
		r := x.Range(i)
		r.Start, r.End = max(r.Start, s.rows.Start), min(r.End, s.rows.End)
		if r.Start >= r.End {
			break
		}
		if !s.blockMayMatch(indexes, i) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].End == r.Start {
			out[n-1].End = r.End
		} else {
			out = append(out, r)
		}
	}
	return out
}

func sameBlocks(indexes []indexed) bool {
	for _, x := range indexes {
		if x.index.BlockSize != indexes[0].index.BlockSize {
			return false
		}
	}
	return true
}

func (s *stripeScan) blockMayMatch(indexes []indexed, block int) bool {
	return s.o.Filter.MayMatch(func(id uint32) *filter.Stats {
		for _, x := range indexes {
			if x.node.ID == id {
				return indexedStats(x.node, x.index, block)
			}
		}
		return nil
	})
}

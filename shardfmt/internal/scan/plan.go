package scan

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// plan reports what a scan has to read.
type plan struct {
	q *Request
	// asked are the answers of the indexes of stripes that were asked together, by their number.
	asked map[int]answer
	// yielded: a batch was.
	yielded bool
	// nearby: requests cost next to nothing, and are made by one worker, when it needs what they give.
	nearby bool
	// local: requests cost next to nothing, and one stripe is fetched before its turn at most.
	local bool
	// covered: one index answers for all stripes at once, so that it is read however small they are.
	covered bool
	ahead   *Ahead
	// nodes are the numbers of all nodes that are read, those of the output first, and made how many those are.
	nodes []uint32
	made  int
}

func newPlan(q *Request) *plan {
	p := &plan{q: q, nodes: appendNodes(nil, q.Project.Fields)}
	p.made = len(p.nodes)
	if q.Needed != nil {
		p.nodes = appendNodes(p.nodes, q.Needed.Fields)
	}
	if q.Marker != nil {
		p.nodes = append(p.nodes, q.Marker.ID)
	}
	return p
}

// appendNodes adds the numbers of nodes and of all below them.
func appendNodes(ids []uint32, nodes []*schema.Node) []uint32 {
	for _, n := range nodes {
		ids = appendNodes(append(ids, n.ID), n.Children)
	}
	return ids
}

// stripes gives the stripes in the range of records that statistics do not rule out.
func (p *plan) stripes(ctx context.Context, counts *Counts) (keep []int, err error) {
	var in []int
	for i, st := range p.q.Stripes {
		if p.q.Marker != nil && st.Deleted == st.Records {
			continue // nothing of it is left
		}
		if i < len(p.q.RuledOut) && p.q.RuledOut[i] {
			counts.StripesPrunedTerms++
			continue
		}
		if st.Records > 0 && st.Position < p.q.End && st.Position+st.Records > p.q.Start {
			in = append(in, i)
		}
	}
	if p.q.Filter == nil {
		return in, nil
	}
	all := len(in)
	if in, err = p.withinBounds(ctx, in); err != nil {
		return nil, err
	}
	defer func() { counts.StripesPruned += all - len(keep) }()
	if len(in) == 0 {
		return nil, nil
	}
	if err := p.q.Root.LoadFields(ctx, in, p.q.Filter.Nodes()); err != nil {
		return nil, err
	}
	for _, i := range in {
		may, err := p.mayMatch(i, p.descriptors(ctx, i))
		if err != nil {
			return nil, err
		}
		if may {
			keep = append(keep, i)
		}
	}
	return keep, nil
}

// withinBounds leaves out the stripes that the shard rules out by what it states about all of them together, or, where only the
// end of its root is available, by what that repeats of each.
func (p *plan) withinBounds(ctx context.Context, in []int) (keep []int, err error) {
	if p.q.Root.Partial() {
		if bounds, err := p.q.Root.Bounds(ctx); bounds != nil || err != nil {
			return p.prunedBy(bounds, in, err)
		}
	}
	may, err := p.mayMatch(-1, p.descriptors(ctx, -1))
	if err != nil || !may {
		return nil, err
	}
	return in, nil
}

// prunedBy leaves out the stripes that bounds rule out.
func (p *plan) prunedBy(bounds *meta.Bounds, in []int, err error) (keep []int, _ error) {
	if err != nil {
		return nil, err
	}
	for _, i := range in {
		may, err := p.mayMatch(i, func(id uint32) (*metapb.FieldDescriptor, error) { return bounds.Field(i, id) })
		if err != nil {
			return nil, err
		}
		if may {
			keep = append(keep, i)
		}
	}
	return keep, nil
}

// rows are the rows of a stripe in the range of records.
func (p *plan) rows(i int) colstream.Range {
	st := p.q.Stripes[i]
	return colstream.Range{
		Start: max(p.q.Start, st.Position) - st.Position,
		End:   min(p.q.End, st.Position+st.Records) - st.Position,
	}
}

// indexed is a field of the filter with its range index.
type indexed struct {
	node  *schema.Node
	index *colstream.RangeIndex
	stats *blockStats // of the current block
}

// indexBytes is the most memory that a block of a range index takes once it is decoded: two decimals and a count.
const indexBytes = 34

// indexRequests are the requests for the range indexes of the filter's fields in a stripe; filling them adds to out.
// An index that can't be read is an error, but one of an unknown version only prunes nothing.
func (p *plan) indexRequests(ctx context.Context, stripe int, mem *budget.Account, out *[]indexed) (round []colstream.Request, err error) {
	records := p.q.Stripes[stripe].Records
	if records <= colstream.RangeIndexBlock {
		return nil, nil
	}
	p.q.Needed.Walk(func(_ string, n *schema.Node) bool {
		if !aligned(n) {
			return true
		}
		q, failed := column.IndexRequest(ctx, column.Field{Source: &described{Root: p.q.Root}, Stripe: stripe, Node: n, Records: records}, func(x *colstream.RangeIndex) {
			*out = append(*out, indexed{n, x, new(blockStats)})
		})
		if failed != nil {
			err = failed
		} else if q != nil {
			round = append(round, *q)
			err = mem.Hold(records / colstream.RangeIndexBlock * indexBytes)
		}
		return err == nil
	})
	return round, err
}

// aligned reports whether positions of a node are rows: it is a top-level field. (Members of structs would do, but
// only with the nulls of the structs.)
func aligned(n *schema.Node) bool { return n.Parent == schema.NoParent }

// prune gives those of rows that are in blocks of the range indexes in which the filter may be true.
func (p *plan) prune(rows colstream.Range, indexes []indexed) []colstream.Range {
	if len(indexes) == 0 || !sameBlocks(indexes) {
		return []colstream.Range{rows}
	}
	var out []colstream.Range
	x, block := indexes[0].index, 0
	stats := func(id uint32) *filter.Stats {
		for _, x := range indexes {
			if x.node.ID == id {
				return x.stats.of(x.node, x.index, block)
			}
		}
		return nil
	}
	for i := int(rows.Start / x.BlockSize); i < x.Blocks(); i++ {
		r := x.Range(i)
		r.Start, r.End = max(r.Start, rows.Start), min(r.End, rows.End)
		if r.Start >= r.End {
			break
		}
		if block = i; !p.q.Filter.MayMatch(stats) {
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

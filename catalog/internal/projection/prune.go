package projection

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Prune gives the fields with what was selected of them: the nesting is kept, members that nobody requested
// are left out, a selected node comes whole. Fields come in the order of their first selection. Nodes keep
// their numbers.
func Prune(s *schema.Schema, selected []*schema.Node) []*schema.Node {
	parents := map[uint32]*schema.Node{}
	collectParents(s.Fields, parents)
	var order []uint32
	keep := map[uint32]bool{}  // nodes on the way to a selected one
	whole := map[uint32]bool{} // selected nodes
	for _, n := range selected {
		whole[n.ID] = true
		top := n
		for at := n; at != nil; at = parents[at.ID] {
			keep[at.ID] = true
			// A list or map comes whole: its children are values of one column.
			if at.Basic != schema.Struct {
				whole[at.ID] = true
			}
			top = at
		}
		if !slices.Contains(order, top.ID) {
			order = append(order, top.ID)
		}
	}
	out := make([]*schema.Node, 0, len(order))
	for _, id := range order {
		for _, f := range s.Fields {
			if f.ID == id {
				out = append(out, pruneNode(f, keep, whole))
			}
		}
	}
	return out
}

func collectParents(nodes []*schema.Node, parents map[uint32]*schema.Node) {
	for _, n := range nodes {
		for _, c := range n.Children {
			parents[c.ID] = n
		}
		collectParents(n.Children, parents)
	}
}

func pruneNode(n *schema.Node, keep, whole map[uint32]bool) *schema.Node {
	if whole[n.ID] {
		return n
	}
	out := *n
	out.Children = nil
	for _, c := range n.Children {
		if keep[c.ID] {
			out.Children = append(out.Children, pruneNode(c, keep, whole))
		}
	}
	return &out
}

// Leaves lists the nodes below which nothing was pruned away: what a shard is requested.
func Leaves(full *schema.Schema, pruned []*schema.Node) []*schema.Node {
	byID := map[uint32]*schema.Node{}
	var remember func([]*schema.Node)
	remember = func(nodes []*schema.Node) {
		for _, n := range nodes {
			byID[n.ID] = n
			remember(n.Children)
		}
	}
	remember(full.Fields)
	var out []*schema.Node
	var visit func([]*schema.Node)
	visit = func(nodes []*schema.Node) {
		for _, n := range nodes {
			if n == byID[n.ID] {
				out = append(out, n)
				continue
			}
			visit(n.Children)
		}
	}
	visit(pruned)
	return out
}

// PathTo leads from a top-level field to n, nil if n is not below nodes.
func PathTo(nodes []*schema.Node, n *schema.Node) []*schema.Node {
	for _, f := range nodes {
		if f == n {
			return []*schema.Node{f}
		}
		if below := PathTo(f.Children, n); below != nil {
			return append([]*schema.Node{f}, below...)
		}
	}
	return nil
}

// Member are the arrays on a path of names in a batch: structs, and at last the member.
func Member(b arrow.RecordBatch, path []string) ([]arrow.Array, error) {
	on := []arrow.Array{b.Column(ColumnIndex(b, path[0]))}
	for i, name := range path[1:] {
		parent, ok := on[i].(*array.Struct)
		if !ok {
			return nil, fmt.Errorf("%w: %s is not in a struct but in %s", caterr.ErrInvalid, name, on[i].DataType())
		}
		at, _ := parent.DataType().(*arrow.StructType).FieldIdx(name)
		on = append(on, parent.Field(at))
	}
	return on, nil
}

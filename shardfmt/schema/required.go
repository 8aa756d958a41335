package schema

import (
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Required are the numbers of the nodes that are not nullable, rising: a node has no null but where its parent has one. Nodes below a
// union are never among them, for a variant is null wherever another one is chosen.
func (s *Schema) Required() []uint32 {
	var ids []uint32
	var visit func(nodes []*Node)
	visit = func(nodes []*Node) {
		for _, n := range nodes {
			if !n.Nullable {
				ids = append(ids, n.ID)
			}
			if n.Basic != Union {
				visit(n.Children)
			}
		}
	}
	visit(s.Fields)
	return ids
}

// MarkRequired makes the nodes whose numbers are in ids, rising, not nullable, among nodes and all below them. A number of a node below a
// union is a corrupt.Error.
func MarkRequired(nodes []*Node, ids []uint32) error {
	if len(ids) == 0 {
		return nil
	}
	return MarkRequiredBy(nodes, func(id uint32) (bool, error) {
		_, found := slices.BinarySearch(ids, id)
		return found, nil
	})
}

// MarkRequiredBy is MarkRequired for the numbers of which required reports it; its first error ends it.
func MarkRequiredBy(nodes []*Node, required func(id uint32) (bool, error)) error {
	return markRequired(nodes, required, false)
}

func markRequired(nodes []*Node, required func(uint32) (bool, error), inUnion bool) error {
	for _, n := range nodes {
		is, err := required(n.ID)
		if err != nil {
			return err
		}
		if is {
			if inUnion {
				return corrupt.At(-1, "field %q is in a union and is marked as not nullable", n.Name)
			}
			n.Nullable = false
		}
		if err := markRequired(n.Children, required, inUnion || n.Basic == Union); err != nil {
			return err
		}
	}
	return nil
}

// Demands reports whether n, or a node below it that no union holds, is not nullable.
func (n *Node) Demands() bool {
	if !n.Nullable {
		return true
	}
	if n.Basic == Union {
		return false
	}
	for _, c := range n.Children {
		if c.Demands() {
			return true
		}
	}
	return false
}

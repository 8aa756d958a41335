package schemawire

import (
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// MarkRequired makes the nodes whose numbers are in ids, rising, not nullable, among nodes and all below them. A number of a node below a
// union is a corrupt.Error.
func MarkRequired(nodes []*schema.Node, ids []uint32) error {
	if len(ids) == 0 {
		return nil
	}
	return MarkRequiredBy(nodes, func(id uint32) (bool, error) {
		_, found := slices.BinarySearch(ids, id)
		return found, nil
	})
}

// MarkRequiredBy is MarkRequired for the numbers of which required reports it; its first error ends it.
func MarkRequiredBy(nodes []*schema.Node, required func(id uint32) (bool, error)) error {
	return markRequired(nodes, required, false)
}

func markRequired(nodes []*schema.Node, required func(uint32) (bool, error), inUnion bool) error {
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
		if err := markRequired(n.Children, required, inUnion || n.Basic == schema.Union); err != nil {
			return err
		}
	}
	return nil
}

package schema

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

package schema

// Limits of a schema that is read or written.
const (
	// maxDepth is how many nodes may lie on a path from a field to a leaf.
	maxDepth = 100
	// maxNodes is how many nodes a schema may have: the reference's limit for the children of one node.
	maxNodes = 1_000_000
	// maxName is the longest name, alias, label or kind, in bytes.
	maxName = 1 << 16
)

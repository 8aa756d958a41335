package schema

// Limits of a schema that is read or written.
const (
	// MaxDepth is how many nodes may lie on a path from a field to a leaf.
	MaxDepth = 100
	// MaxNodes is how many nodes a schema may have: the reference's limit for the children of one node.
	MaxNodes = 1_000_000
	// MaxName is the longest name, alias, label or kind, in bytes.
	MaxName = 1 << 16
)

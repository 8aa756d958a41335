package schemafb

// Limits of a schema that is read or written.
const (
	// MaxDepth is how many nodes may lie on a path from a field to a leaf.
	MaxDepth = 100
	// MaxNodes is how many nodes a schema may have: the reference's limit for the children of one node.
	MaxNodes = 1_000_000
	// MaxVariants is how many children a Union may have, at least one: its discriminator is a byte.
	MaxVariants = 256
	// MaxName is the longest name, alias, label or kind, in bytes.
	MaxName = 1 << 16
)

// ChildCount is how many children a node of a type has, -1 for any number.
func ChildCount(t BasicType) int {
	switch t {
	case BasicTypeList, BasicTypeFixedSizeList:
		return 1
	case BasicTypeMap:
		return 2
	case BasicTypeStruct, BasicTypeUnion:
		return -1
	}
	return 0
}

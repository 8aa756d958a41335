package schema

// Slots of the tables of a serialized schema. A scalar that equals its default (0) is left out; the parent of
// a top-level field is therefore always written.
const (
	slotSchemaFields = 0 // [Field]
	slotSchemaCount  = 1 // u32
	slotSchemaLookup = 2 // HashLookup

	slotFieldType     = 0 // DataType
	slotFieldInternal = 1 // InternalFieldAnnotation

	slotTypeBasic    = 0 // u8
	slotTypeID       = 1 // u32
	slotTypeParent   = 2 // u32
	slotTypeName     = 3 // string
	slotTypeAliases  = 4 // [string]
	slotTypeChildren = 5 // [DataType]
	slotTypeSigned   = 6 // bool
	slotTypeSize     = 7 // u64
	slotTypeExt      = 8 // ExtendedTypeAnnotation
	slotTypeLookup   = 9 // HashLookup

	slotExtLabel      = 0 // string
	slotExtProperties = 1 // [ExtendedTypeProperty]

	slotPropertyName  = 0 // string
	slotPropertyValue = 1 // PropertyValue

	slotValueKind = 0 // u8
	slotValueData = 1 // [u8]

	slotInternalKind = 0 // string

	slotLookupBuckets = 0 // [u32]
	slotLookupEntries = 1 // [u32]
)

// Limits of a schema that is read or written.
const (
	// MaxDepth is how many nodes may lie on a path from a field to a leaf.
	MaxDepth = 100
	// MaxNodes is how many nodes a schema may have: the reference's limit for the children of one node.
	MaxNodes = 1_000_000
	// MaxName is the longest name, alias, label or kind, in bytes.
	MaxName = 1 << 16
)

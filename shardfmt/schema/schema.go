// Package schema is the type tree of a shard: what a field is called, which type it has, which number.
//
// A schema is a list of fields, each the root of a tree of nodes. Nodes are numbered from zero in
// depth-first pre-order; the number, not the name, ties a node to its field descriptors.
package schema

// Basic is the basic type of a node, by its number on the wire.
type Basic uint8

// The basic types.
const (
	Unit Basic = iota
	Boolean
	Int8
	Int16
	Int32
	Int64
	Float32
	Float64
	Binary
	FixedSizeBinary
	String
	Guid
	DateTime
	List
	FixedSizeList
	Struct
	Map
	Union
)

// Labels of the extension types that are known here; any other is carried along untouched.
const (
	LabelTimeSpan = "KustoTimeSpan" // Int64 signed, 100 ns ticks
	LabelDecimal  = "KustoDecimal"  // FixedSizeBinary(16), IEEE 754 decimal128 (DPD), little-endian
	LabelDynamic  = "KustoDynamic"  // Binary

	// These report how values are best stored and looked up, and change nothing else: embedding vectors (floats, or what holds them), addresses
	// (any type without children), sketches (Binary).
	LabelEmbedding = "EmbeddingVec"
	LabelIP        = "IP"
	LabelHLL       = "HLL"
	LabelTDigest   = "TDigest"
)

// Kinds of internal fields, recognised by annotation and never by name.
const (
	InternalDeletedRecord      = "Kusto.Amudai.DeletedRecord"
	InternalIngestionTimestamp = "Kusto.Amudai.IngestionTimestamp"
	InternalRecordIdentity     = "Kusto.Amudai.RecordIdentity"
)

// NoParent is the parent number of a top-level field.
const NoParent = 0xFFFFFFFF

// Node is one node of the type tree.
type Node struct {
	Name    string
	Aliases []string
	Basic   Basic
	// Signed holds for the signed integers (and for nothing else).
	Signed bool
	// FixedSize: bytes of a FixedSizeBinary or Guid (16), elements of a FixedSizeList, else 0.
	FixedSize uint64
	// Ext is the extension annotation, or nil.
	Ext *Extension
	// Internal is the kind of an internal top-level field, else "".
	Internal string
	// Nullable is in no message of the schema; a shard states it in a property of its own (meta.PropertyRequired). Doc is not on the
	// wire: "" for a schema read from a shard.
	Nullable bool
	Doc      string
	Children []*Node

	// ID and Parent are set by Schema.Number and by reading.
	ID     uint32
	Parent uint32
}

// Extension is the annotation that gives a basic type a meaning of upper layers.
type Extension struct {
	Label      string
	Properties []ExtensionProperty
}

// PropertyKind reports what the bytes of an extension property are.
type PropertyKind uint8

// The kinds of extension properties, by their number on the wire.
const (
	PropertyNull PropertyKind = iota
	PropertyString
	PropertyJSON
	PropertyAnyValue // a serialized AnyValue message
)

// ExtensionProperty is one named property of an extension annotation.
type ExtensionProperty struct {
	Name string
	Kind PropertyKind
	Data []byte
}

// Schema is the list of a shard's fields.
type Schema struct {
	Fields []*Node
	// Count is the number of nodes, and so the first unused node number.
	Count uint32
}

// Columns are the fields that records have for their users: all but the internal ones.
func (s *Schema) Columns() []*Node {
	out := make([]*Node, 0, len(s.Fields))
	for _, f := range s.Fields {
		if f.Internal == "" {
			out = append(out, f)
		}
	}
	return out
}

// Number gives every node its number (depth-first pre-order) and its parent, and sets Count.
// A schema that is numbered is not written to, so that others may read it meanwhile.
func (s *Schema) Number() {
	next := uint32(0)
	var walk func(n *Node, parent uint32)
	walk = func(n *Node, parent uint32) {
		if n.ID != next || n.Parent != parent {
			n.ID, n.Parent = next, parent
		}
		next++
		for _, c := range n.Children {
			walk(c, n.ID)
		}
	}
	for _, f := range s.Fields {
		walk(f, NoParent)
	}
	if s.Count != next {
		s.Count = next
	}
}

// Label is the extension label of n, or "".
func (n *Node) Label() string {
	if n.Ext == nil {
		return ""
	}
	return n.Ext.Label
}

// IsTimeSpan, IsDecimal and IsDynamic report the extension types that change how values are shown:
// the label counts only on the basic type it belongs to.
func (n *Node) IsTimeSpan() bool { return n.Basic == Int64 && n.Signed && n.Label() == LabelTimeSpan }

// IsDecimal: see IsTimeSpan.
func (n *Node) IsDecimal() bool {
	return n.Basic == FixedSizeBinary && n.FixedSize == 16 && n.Label() == LabelDecimal
}

// IsDynamic: see IsTimeSpan.
func (n *Node) IsDynamic() bool { return n.Basic == Binary && n.Label() == LabelDynamic }

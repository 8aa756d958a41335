package arrowtype

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// MaxDepth is how deep types may nest: as many levels as a list of a list of … may have.
const MaxDepth = 64

// Check reports why a schema can't be held in canonical types, or nil. It refuses, by name, types that nest
// deeper than MaxDepth, unions of more than MaxVariants variants, sizes beyond 2^31−1, fixed-size lists of
// zero elements, and nodes with the wrong number of children.
func Check(s *schema.Schema) error {
	for _, f := range s.Fields {
		if err := checkNode(f, 1); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}

func checkNode(n *schema.Node, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("types nest deeper than %d levels", MaxDepth)
	}
	if err := checkShape(n); err != nil {
		return err
	}
	for _, c := range n.Children {
		if err := checkNode(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkShape(n *schema.Node) error {
	children := len(n.Children)
	switch n.Basic {
	case schema.List, schema.FixedSizeList:
		if children != 1 {
			return fmt.Errorf("a list has one child, not %d", children)
		}
	case schema.Map:
		if children != 2 {
			return fmt.Errorf("a map has two children, key and value, not %d", children)
		}
	case schema.Union:
		if children > MaxVariants {
			return fmt.Errorf("a union of %d variants: at most %d can be held", children, MaxVariants)
		}
	case schema.Struct:
	default:
		if children != 0 {
			return fmt.Errorf("a leaf type with %d children", children)
		}
		if n.Basic > schema.Union {
			return fmt.Errorf("basic type %d is unknown", n.Basic)
		}
	}
	if n.FixedSize > math.MaxInt32 {
		return fmt.Errorf("a fixed size of %d is more than 2^31-1", n.FixedSize)
	}
	if n.Basic == schema.FixedSizeList && n.FixedSize == 0 {
		return fmt.Errorf("a fixed-size list of no elements")
	}
	return nil
}

// Schema gives the canonical Arrow schema of s, field names and nullability kept. The names of list items
// and of map keys and values are Arrow's (item, key, value).
//
// s must satisfy Check; a node that does not is given Arrow's null type.
func Schema(s *schema.Schema) *arrow.Schema {
	fields := make([]arrow.Field, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = Field(f)
	}
	return arrow.NewSchema(fields, nil)
}

// Field gives the canonical Arrow field of a node.
func Field(n *schema.Node) arrow.Field {
	return arrow.Field{Name: n.Name, Type: typeOf(n, 1), Nullable: n.Nullable}
}

// Type gives the canonical Arrow type of a node.
func Type(n *schema.Node) arrow.DataType { return typeOf(n, 1) }

func typeOf(n *schema.Node, depth int) arrow.DataType {
	if depth > MaxDepth || checkShape(n) != nil {
		return arrow.Null
	}
	if len(n.Children) > 0 || n.Basic == schema.Struct || n.Basic == schema.Union {
		return nested(n, depth)
	}
	switch {
	case n.IsTimeSpan():
		return TimeSpan
	case n.IsDecimal():
		return Decimal
	case n.IsDynamic():
		return Dynamic
	}
	return leaf(n)
}

func leaf(n *schema.Node) arrow.DataType {
	switch n.Basic {
	case schema.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64:
		return integer(n.Basic, n.Signed)
	case schema.Float32:
		return arrow.PrimitiveTypes.Float32
	case schema.Float64:
		return arrow.PrimitiveTypes.Float64
	case schema.Binary:
		return arrow.BinaryTypes.LargeBinary
	case schema.FixedSizeBinary:
		return &arrow.FixedSizeBinaryType{ByteWidth: int(n.FixedSize)}
	case schema.String:
		return arrow.BinaryTypes.LargeString
	case schema.Guid:
		return extensions.NewUUIDType()
	case schema.DateTime:
		return DateTime
	}
	return arrow.Null
}

func integer(b schema.Basic, signed bool) arrow.DataType {
	types := [...][2]arrow.DataType{
		{arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int8},
		{arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int16},
		{arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32},
		{arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64},
	}
	if signed {
		return types[b-schema.Int8][1]
	}
	return types[b-schema.Int8][0]
}

func nested(n *schema.Node, depth int) arrow.DataType {
	fields := make([]arrow.Field, len(n.Children))
	for i, c := range n.Children {
		fields[i] = arrow.Field{Name: c.Name, Type: typeOf(c, depth+1), Nullable: c.Nullable}
	}
	switch n.Basic {
	case schema.List, schema.FixedSizeList:
		fields[0].Name = "item"
		if n.Basic == schema.List {
			return arrow.LargeListOfField(fields[0])
		}
		return arrow.FixedSizeListOfField(int32(n.FixedSize), fields[0])
	case schema.Map:
		fields[0].Nullable = false
		return arrow.MapOfFields(fields[0], fields[1])
	case schema.Union:
		return unionOf(fields)
	}
	return arrow.StructOf(fields...)
}

package schema

import (
	"fmt"
	"strings"
)

// names of the basic types.
var basicNames = [...]string{
	"Unit", "Boolean", "Int8", "Int16", "Int32", "Int64", "Float32", "Float64", "Binary", "FixedSizeBinary",
	"String", "Guid", "DateTime", "List", "FixedSizeList", "Struct", "Map", "Union",
}

// String is the name of b; integers are called the same whether signed or not.
func (b Basic) String() string {
	if int(b) < len(basicNames) {
		return basicNames[b]
	}
	return fmt.Sprintf("type %d", uint8(b))
}

// IsInteger reports whether b is one of the integers, which are signed or not.
func (b Basic) IsInteger() bool { return b >= Int8 && b <= Int64 }

// typeOf are the nodes that type names stand for, by the name in lower case: the types of the format, the
// extension types that have a name of their own, and what Kusto calls its types.
var typeOf = map[string]Node{
	"timespan": {Basic: Int64, Signed: true, Ext: &Extension{Label: LabelTimeSpan}},
	"decimal":  {Basic: FixedSizeBinary, FixedSize: 16, Ext: &Extension{Label: LabelDecimal}},
	"dynamic":  {Basic: Binary, Ext: &Extension{Label: LabelDynamic}},
	"bool":     {Basic: Boolean},
	"date":     {Basic: DateTime},
	"uuid":     {Basic: Guid},
	"uniqueid": {Basic: Guid},
	"int":      {Basic: Int32, Signed: true},
	"long":     {Basic: Int64, Signed: true},
	"real":     {Basic: Float64},
	"double":   {Basic: Float64},
	"time":     {Basic: Int64, Signed: true, Ext: &Extension{Label: LabelTimeSpan}},
}

func init() {
	for b := Unit; b <= Union; b++ {
		name := strings.ToLower(b.String())
		typeOf[name] = Node{Basic: b, Signed: b.IsInteger()}
		if b.IsInteger() {
			typeOf["u"+name] = Node{Basic: b}
		}
	}
}

// TypeName is the type of n as the schema grammar writes it, without children: "UInt8",
// "FixedSizeBinary(7)", "TimeSpan".
func (n *Node) TypeName() string {
	if n.plainExtension() {
		switch {
		case n.IsTimeSpan():
			return "TimeSpan"
		case n.IsDecimal():
			return "Decimal"
		case n.IsDynamic():
			return "Dynamic"
		}
	}
	switch {
	case n.Basic.IsInteger() && !n.Signed:
		return "U" + n.Basic.String()
	case n.Basic == FixedSizeBinary || n.Basic == FixedSizeList:
		return fmt.Sprintf("%v(%d)", n.Basic, n.FixedSize)
	}
	return n.Basic.String()
}

// BareType is TypeName without a size, and whatever the properties of an extension: "UInt8", "FixedSizeBinary", "TimeSpan".
func (n *Node) BareType() string {
	switch {
	case n.IsTimeSpan():
		return "TimeSpan"
	case n.IsDecimal():
		return "Decimal"
	case n.IsDynamic():
		return "Dynamic"
	case n.Basic.IsInteger() && !n.Signed:
		return "U" + n.Basic.String()
	}
	return n.Basic.String()
}

// plainExtension reports whether n has an extension that its label reports whole.
func (n *Node) plainExtension() bool { return n.Ext != nil && len(n.Ext.Properties) == 0 }

// named reports whether TypeName reports the extension of n.
func (n *Node) named() bool {
	return n.plainExtension() && (n.IsTimeSpan() || n.IsDecimal() || n.IsDynamic())
}

// newNode is a nullable node of the type called name, with size where the type has one.
func newNode(name string, size uint64, sized bool) (*Node, error) {
	n, ok := typeOf[strings.ToLower(name)]
	if !ok {
		return nil, invalid("unknown type %q%s", name, nearest(name, typeNames()))
	}
	takes := n.Ext == nil && (n.Basic == FixedSizeBinary || n.Basic == FixedSizeList)
	switch {
	case takes && !sized:
		return nil, invalid("%v needs a size, such as %v(16)", n.Basic, n.Basic)
	case !takes && sized:
		return nil, invalid("type %s takes no size", name)
	case takes:
		n.FixedSize = size
	case n.Basic == Guid:
		n.FixedSize = 16
	}
	n.Nullable = true
	if n.Ext != nil {
		ext := *n.Ext
		n.Ext = &ext
	}
	return &n, nil
}

func typeNames() []string {
	names := []string{"UInt8", "UInt16", "UInt32", "UInt64", "TimeSpan", "Decimal", "Dynamic"}
	return append(names, basicNames[:]...)
}

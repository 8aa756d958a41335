package schema

// names of the basic types; a signed integer is called Int32, an unsigned one UInt32.
var basicNames = [...]string{
	"Unit", "Boolean", "Int8", "Int16", "Int32", "Int64", "Float32", "Float64", "Binary", "FixedSizeBinary",
	"String", "Guid", "DateTime", "List", "FixedSizeList", "Struct", "Map", "Union",
}

// String is the name of b.
func (b Basic) String() string {
	if int(b) < len(basicNames) {
		return basicNames[b]
	}
	return "unknown"
}

// IsInteger says that b is one of the integers, which are signed or not.
func (b Basic) IsInteger() bool { return b >= Int8 && b <= Int64 }

package lance

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Keys of field metadata that have a meaning here.
const (
	extensionName     = "ARROW:extension:name"
	extensionMetadata = "ARROW:extension:metadata"
	packedKey         = "lance-encoding:packed"
	packedOldKey      = "packed"
	blobKey           = "lance-encoding:blob"
)

// logicalTypes are the types whose text has no parameters.
var logicalTypes = map[string]arrow.DataType{
	"null": arrow.Null, "bool": arrow.FixedWidthTypes.Boolean,
	"int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16, "int32": arrow.PrimitiveTypes.Int32, "int64": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "uint16": arrow.PrimitiveTypes.Uint16, "uint32": arrow.PrimitiveTypes.Uint32, "uint64": arrow.PrimitiveTypes.Uint64,
	"halffloat": arrow.FixedWidthTypes.Float16, "float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64,
	"string": arrow.BinaryTypes.String, "binary": arrow.BinaryTypes.Binary, "large_string": arrow.BinaryTypes.LargeString, "large_binary": arrow.BinaryTypes.LargeBinary,
	"date32:day": arrow.FixedWidthTypes.Date32, "date64:ms": arrow.FixedWidthTypes.Date64,
	"time32:s": arrow.FixedWidthTypes.Time32s, "time32:ms": arrow.FixedWidthTypes.Time32ms,
	"time64:us": arrow.FixedWidthTypes.Time64us, "time64:ns": arrow.FixedWidthTypes.Time64ns,
	"duration:s": arrow.FixedWidthTypes.Duration_s, "duration:ms": arrow.FixedWidthTypes.Duration_ms,
	"duration:us": arrow.FixedWidthTypes.Duration_us, "duration:ns": arrow.FixedWidthTypes.Duration_ns,
}

// Arrow is the field as Arrow has it. An extension type that is registered takes the place of its storage.
func (n *Node) Arrow() (arrow.Field, error) {
	t, err := n.storage()
	if err != nil {
		return arrow.Field{}, err
	}
	metadata := maps.Clone(n.Metadata)
	if ext := arrow.GetExtensionType(metadata[extensionName]); ext != nil {
		if made, err := ext.Deserialize(t, metadata[extensionMetadata]); err == nil {
			t = made
			delete(metadata, extensionName)
			delete(metadata, extensionMetadata)
		}
	}
	return arrow.Field{Name: n.Name, Type: t, Nullable: n.Nullable, Metadata: metadataOf(metadata)}, nil
}

// storage is the type without its extension.
func (n *Node) storage() (arrow.DataType, error) {
	kind, _, _ := strings.Cut(n.LogicalType, ".")
	switch kind {
	case "struct":
		fields := make([]arrow.Field, len(n.Children))
		for i, c := range n.Children {
			var err error
			if fields[i], err = c.Arrow(); err != nil {
				return nil, err
			}
		}
		return arrow.StructOf(fields...), nil
	case "map":
		return n.mapType()
	case "list", "large_list":
		if len(n.Children) != 1 {
			return nil, corrupt.At(-1, "field %q: a list with %d children", n.Name, len(n.Children))
		}
		item, err := n.Children[0].Arrow()
		if err != nil {
			return nil, err
		}
		if kind == "list" {
			return arrow.ListOfField(item), nil
		}
		return arrow.LargeListOfField(item), nil
	}
	t, err := parseType(n.LogicalType, 0)
	if err != nil {
		return nil, corrupt.Unsupported(-1, "field %q: %v", n.Name, err)
	}
	if len(n.Children) > 0 {
		return nil, corrupt.At(-1, "field %q of type %s has children", n.Name, n.LogicalType)
	}
	return t, nil
}

// mapType is the type of a map: a list of structs of key and value, which are never null.
func (n *Node) mapType() (arrow.DataType, error) {
	if len(n.Children) != 1 || n.Children[0].LogicalType != "struct" || len(n.Children[0].Children) != 2 {
		return nil, corrupt.At(-1, "field %q: a map that is not a list of structs of two fields", n.Name)
	}
	key, err := n.Children[0].Children[0].Arrow()
	if err != nil {
		return nil, err
	}
	value, err := n.Children[0].Children[1].Arrow()
	if err != nil {
		return nil, err
	}
	return arrow.MapOfFields(key, value), nil
}

// parseType reads the text of a type that has no fields below it.
func parseType(text string, depth int) (arrow.DataType, error) {
	if t, ok := logicalTypes[text]; ok {
		return t, nil
	}
	unknown := fmt.Errorf("the type %.80q is not known", text)
	if depth > maxDepth {
		return nil, unknown
	}
	kind, rest, _ := strings.Cut(text, ":")
	switch kind {
	case "timestamp":
		unit, zone, _ := strings.Cut(rest, ":")
		u, ok := units[unit]
		if !ok {
			return nil, unknown
		}
		if zone == "-" {
			zone = ""
		}
		return &arrow.TimestampType{Unit: u, TimeZone: zone}, nil
	case "decimal":
		return parseDecimal(rest, unknown)
	case "fixed_size_binary":
		n, err := strconv.ParseInt(rest, 10, 32)
		if err != nil || n < 1 {
			return nil, unknown
		}
		return &arrow.FixedSizeBinaryType{ByteWidth: int(n)}, nil
	case "fixed_size_list":
		colon := strings.LastIndexByte(rest, ':') // a time zone may have colons of its own
		if colon < 0 {
			return nil, unknown
		}
		n, err := strconv.ParseInt(rest[colon+1:], 10, 32)
		if err != nil || n < 1 {
			return nil, unknown
		}
		item, err := parseType(rest[:colon], depth+1)
		if err != nil {
			return nil, err
		}
		return arrow.FixedSizeListOfField(int32(n), arrow.Field{Name: "item", Type: item, Nullable: true}), nil
	case "dict":
		return parseDictionary(rest, unknown)
	}
	return nil, unknown
}

var units = map[string]arrow.TimeUnit{"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "ns": arrow.Nanosecond}

func parseDecimal(text string, unknown error) (arrow.DataType, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, unknown
	}
	p, err1 := strconv.ParseInt(parts[1], 10, 32)
	s, err2 := strconv.ParseInt(parts[2], 10, 32)
	switch {
	case err1 != nil || err2 != nil || p < 1:
	case parts[0] == "128" && p <= 38:
		return &arrow.Decimal128Type{Precision: int32(p), Scale: int32(s)}, nil
	case parts[0] == "256" && p <= 76:
		return &arrow.Decimal256Type{Precision: int32(p), Scale: int32(s)}, nil
	}
	return nil, unknown
}

// parseDictionary reads VALUE:INDEX:ORDERED, where VALUE may have colons.
func parseDictionary(text string, unknown error) (arrow.DataType, error) {
	ordered := strings.LastIndexByte(text, ':')
	if ordered < 0 {
		return nil, unknown
	}
	index := strings.LastIndexByte(text[:ordered], ':')
	if index < 0 {
		return nil, unknown
	}
	i := logicalTypes[text[index+1:ordered]]
	v, err := parseType(text[:index], maxDepth)
	if err != nil || i == nil || !arrow.IsInteger(i.ID()) || v.ID() == arrow.DICTIONARY {
		return nil, unknown
	}
	return &arrow.DictionaryType{IndexType: i, ValueType: v, Ordered: text[ordered+1:] == "true"}, nil
}

// logicalType is the opposite of parseType, and of storage as far as it goes without the children.
func logicalType(t arrow.DataType) (string, error) {
	for text, known := range logicalTypes {
		if arrow.TypeEqual(t, known) {
			return text, nil
		}
	}
	switch t := t.(type) {
	case *arrow.TimestampType:
		zone := t.TimeZone
		if zone == "" {
			zone = "-"
		}
		return fmt.Sprintf("timestamp:%s:%s", t.Unit, zone), nil
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal:128:%d:%d", t.Precision, t.Scale), nil
	case *arrow.Decimal256Type:
		return fmt.Sprintf("decimal:256:%d:%d", t.Precision, t.Scale), nil
	case *arrow.FixedSizeBinaryType:
		return fmt.Sprintf("fixed_size_binary:%d", t.ByteWidth), nil
	case *arrow.FixedSizeListType:
		item, err := logicalType(t.Elem())
		return fmt.Sprintf("fixed_size_list:%s:%d", item, t.Len()), err
	case *arrow.DictionaryType:
		value, err1 := logicalType(t.ValueType)
		index, err2 := logicalType(t.IndexType)
		if err1 != nil || err2 != nil {
			return "", fmt.Errorf("no type of Lance for %s", t)
		}
		return fmt.Sprintf("dict:%s:%s:false", value, index), nil
	case *arrow.StructType:
		return "struct", nil
	case *arrow.ListType:
		return listType("list", t.Elem()), nil
	case *arrow.LargeListType:
		return listType("large_list", t.Elem()), nil
	}
	return "", fmt.Errorf("no type of Lance for %s", t)
}

func listType(kind string, item arrow.DataType) string {
	if item.ID() == arrow.STRUCT {
		return kind + ".struct"
	}
	return kind
}

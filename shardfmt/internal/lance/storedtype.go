package lance

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// storedType is the type as which values are stored. What that loses is noted.
func (w *Writer) storedType(t arrow.DataType, n *Node, path string) (arrow.DataType, error) {
	note := func(what string, args ...any) { w.report.Add(path, fmt.Sprintf(what, args...), 0) }
	switch t := t.(type) {
	case arrow.ExtensionType:
		n.Metadata = maps.Clone(n.Metadata)
		n.Metadata[extensionName], n.Metadata[extensionMetadata] = t.ExtensionName(), t.Serialize()
		return w.storedType(t.StorageType(), n, path)
	case *arrow.StringViewType:
		note("a string view becomes a string")
		return arrow.BinaryTypes.String, nil
	case *arrow.BinaryViewType:
		note("a binary view becomes binary")
		return arrow.BinaryTypes.Binary, nil
	case *arrow.MapType:
		note("a map becomes a list of structs of key and value")
		entries := arrow.Field{Name: "entries", Type: arrow.StructOf(arrow.Field{Name: "key", Type: t.KeyType()}, arrow.Field{Name: "value", Type: t.ItemType(), Nullable: t.ItemField().Nullable})}
		return arrow.ListOfField(entries), nil
	case *arrow.ListViewType:
		note("a list view becomes a list")
		return arrow.ListOfField(t.ElemField()), nil
	case *arrow.LargeListViewType:
		note("a list view becomes a list")
		return arrow.LargeListOfField(t.ElemField()), nil
	case *arrow.FixedSizeListType:
		if isFixed(t.Elem()) {
			return t, nil
		}
		note("a list of %d items each becomes a list of any number", t.Len())
		return arrow.ListOfField(t.ElemField()), nil
	case *arrow.DictionaryType:
		if t.Ordered {
			note("the order of a dictionary is not kept")
		}
		if isFixedNumber(t.ValueType) || arrow.IsBaseBinary(t.ValueType.ID()) {
			return &arrow.DictionaryType{IndexType: t.IndexType, ValueType: t.ValueType}, nil
		}
		return nil, fmt.Errorf("a dictionary of %s: Lance supports strings, binary values and numbers", t.ValueType)
	}
	return t, nil
}

// isFixed reports whether lists of one length may hold values of a type.
func isFixed(t arrow.DataType) bool {
	if list, ok := t.(*arrow.FixedSizeListType); ok {
		return isFixed(list.Elem())
	}
	_, ok := t.(arrow.FixedWidthDataType)
	return ok && !slices.Contains([]arrow.Type{arrow.DICTIONARY, arrow.EXTENSION, arrow.STRUCT, arrow.DECIMAL32, arrow.DECIMAL64}, t.ID())
}

func isFixedNumber(t arrow.DataType) bool { return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) }

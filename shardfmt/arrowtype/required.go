package arrowtype

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// FindNull finds a null of n, or of a node below it, that is not nullable, in an array of the canonical type of n. A null struct or list
// excuses what is below it; below unions nothing is looked at. It gives the dotted path and the row of the array.
func FindNull(a arrow.Array, n *schema.Node) (path string, row int, found bool) {
	if !n.Demands() {
		return "", 0, false
	}
	if !n.Nullable {
		if i, ok := firstNull(a, 0, a.Len()); ok {
			return schema.JoinPath(n.Name), i, true
		}
	}
	if path, row, found = nullBelow(a, n); found {
		path = schema.JoinPath(n.Name) + path
	}
	return path, row, found
}

// firstNull is the first null of [start, end) of a.
func firstNull(a arrow.Array, start, end int) (int, bool) {
	if a.NullN() == 0 && a.DataType().ID() != arrow.SPARSE_UNION {
		return 0, false
	}
	for i := start; i < end; i++ {
		if IsNull(a, i) {
			return i, true
		}
	}
	return 0, false
}

// nullBelow is FindNull for the children of n.
func nullBelow(a arrow.Array, n *schema.Node) (path string, row int, found bool) {
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	switch a := a.(type) {
	case *array.Struct:
		for i, c := range n.Children {
			if path, row, found = nullInMember(a, a.Field(i), c); found {
				return "." + schema.JoinPath(c.Name) + path, row, true
			}
		}
	case array.ListLike:
		for i, c := range n.Children {
			if path, row, found = nullInItems(a, childItems(a, i), c); found {
				return "." + schema.JoinPath(n.ChildName(i)) + path, row, true
			}
		}
	}
	return "", 0, false
}

// childItems are the values of child i of a list or map.
func childItems(a array.ListLike, i int) arrow.Array {
	m, ok := a.(*array.Map)
	switch {
	case ok && i == 0:
		return KeysOf(m)
	case ok:
		return m.Items()
	}
	return a.ListValues()
}

// KeysOf are the keys of maps, with their nulls, which Arrow gives out as if there were none.
func KeysOf(m *array.Map) arrow.Array {
	d := m.Keys().Data()
	if d.Buffers()[0] == nil {
		return m.Keys()
	}
	return array.MakeFromData(array.NewData(d.DataType(), d.Len(), d.Buffers(), d.Children(), array.UnknownNullCount, d.Offset()))
}

// nullInMember looks at a member of a struct where the struct is not null.
func nullInMember(parent *array.Struct, a arrow.Array, n *schema.Node) (path string, row int, found bool) {
	if !n.Demands() {
		return "", 0, false
	}
	if _, some := firstNull(a, 0, a.Len()); some && !n.Nullable {
		for i := range a.Len() {
			if parent.IsValid(i) && IsNull(a, i) {
				return "", i, true
			}
		}
	}
	return nullBelow(a, n)
}

// nullInItems looks at the items of lists that are not null.
func nullInItems(parent array.ListLike, a arrow.Array, n *schema.Node) (path string, row int, found bool) {
	if !n.Demands() {
		return "", 0, false
	}
	if _, some := firstNull(a, 0, a.Len()); some && !n.Nullable {
		for i := range parent.Len() {
			if parent.IsNull(i) {
				continue
			}
			start, end := parent.ValueOffsets(i)
			if _, is := firstNull(a, int(start), int(end)); is {
				return "", i, true
			}
		}
	}
	path, at, found := nullBelow(a, n)
	return path, rowOfItem(parent, at), found
}

// rowOfItem is the row whose list holds an item, by its index among all items.
func rowOfItem(parent array.ListLike, item int) int {
	for i := range parent.Len() {
		if start, end := parent.ValueOffsets(i); int64(item) >= start && int64(item) < end {
			return i
		}
	}
	return 0
}

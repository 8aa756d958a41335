package arrowtype

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// FindNull finds a null of n, or of a node below it, that is not nullable, in an array of the canonical type of n. A null struct or list
// excuses all that is below it; below unions nothing is looked at. It gives the dotted path and the row of the array.
func FindNull(a arrow.Array, n *schema.Node) (path string, row int, found bool) {
	path, row, found = findNull(a, n, nil)
	return schema.JoinPath(n.Name) + path, row, found
}

// rowSet are rows of an array that count, nil for all.
type rowSet []bool

func (s rowSet) has(i int) bool { return s == nil || s[i] }

// findNull is FindNull among some rows, with the path below n.
func findNull(a arrow.Array, n *schema.Node, among rowSet) (path string, row int, found bool) {
	if !n.Demands() {
		return "", 0, false
	}
	if i, is := firstNull(a, among); is && !n.Nullable {
		return "", i, true
	}
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	switch a := a.(type) {
	case *array.Struct:
		return nullMember(a, n, among)
	case array.ListLike:
		return nullItem(a, n, among)
	}
	return "", 0, false
}

// firstNull is the first null of some rows of a.
func firstNull(a arrow.Array, among rowSet) (int, bool) {
	if a.NullN() == 0 && a.DataType().ID() != arrow.SPARSE_UNION {
		return 0, false
	}
	for i := range a.Len() {
		if among.has(i) && IsNull(a, i) {
			return i, true
		}
	}
	return 0, false
}

// nullMember is findNull for the members of a struct.
func nullMember(a *array.Struct, n *schema.Node, among rowSet) (path string, row int, found bool) {
	if a.NullN() > 0 {
		live := make(rowSet, a.Len())
		for i := range live {
			live[i] = among.has(i) && a.IsValid(i)
		}
		among = live
	}
	for i, c := range n.Children {
		if path, row, found = findNull(a.Field(i), c, among); found {
			return "." + schema.JoinPath(c.Name) + path, row, true
		}
	}
	return "", 0, false
}

// nullItem is findNull for the items of lists and maps.
func nullItem(a array.ListLike, n *schema.Node, among rowSet) (path string, row int, found bool) {
	for i, c := range n.Children {
		items := childItems(a, i)
		if _, _, found = findNull(items, c, nil); !found {
			continue
		}
		// One is there, if not in a list that counts.
		live := make(rowSet, items.Len())
		for row := range a.Len() {
			if start, end := a.ValueOffsets(row); among.has(row) && a.IsValid(row) {
				for k := start; k < end; k++ {
					live[k] = true
				}
			}
		}
		if path, at, found := findNull(items, c, live); found {
			return "." + schema.JoinPath(n.ChildName(i)) + path, rowOfItem(a, at), true
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

// rowOfItem is the row whose list holds an item, by its index among all items.
func rowOfItem(parent array.ListLike, item int) int {
	for i := range parent.Len() {
		if start, end := parent.ValueOffsets(i); int64(item) >= start && int64(item) < end {
			return i
		}
	}
	return 0
}

// Demanding are nodes with which fields of an Arrow schema, and below them, may be null: what FindNull requests.
func Demanding(fields []arrow.Field) []*schema.Node {
	nodes := make([]*schema.Node, len(fields))
	for i, f := range fields {
		nodes[i] = &schema.Node{Name: f.Name, Nullable: f.Nullable}
		t := f.Type
		if e, ok := t.(arrow.ExtensionType); ok {
			t = e.StorageType()
		}
		switch t := t.(type) {
		case *arrow.StructType:
			nodes[i].Basic, nodes[i].Children = schema.Struct, Demanding(t.Fields())
		case *arrow.MapType:
			nodes[i].Basic, nodes[i].Children = schema.Map, Demanding([]arrow.Field{t.KeyField(), t.ItemField()})
		case arrow.ListLikeType:
			nodes[i].Basic, nodes[i].Children = schema.List, Demanding([]arrow.Field{t.ElemField()})
		}
	}
	return nodes
}

// CheckNulls refuses a null of a batch where one of the nodes, or of those below it, is not nullable.
func CheckNulls(b arrow.RecordBatch, nodes []*schema.Node) error {
	for i, n := range nodes {
		if path, row, found := FindNull(b.Column(i), n); found {
			return fmt.Errorf("%w: row %d of the batch, field %q: null, and the field is not nullable", ErrColumn, row, path)
		}
	}
	return nil
}

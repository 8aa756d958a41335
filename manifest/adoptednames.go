package manifest

import (
	"encoding/json"
	"fmt"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// AdoptedNames are names that fields of adopted shards have for columns whose names are others by now: by the field id of the struct they
// are members of (0 for columns) and the name, the field id, 0 for a field that was no column when its shard was adopted.
type AdoptedNames map[int]map[string]int

// Decode reads what Encode wrote: nil for "", of a table that has adopted no shard without field ids.
func (a *AdoptedNames) Decode(text string) error {
	*a = nil
	if text == "" {
		return nil
	}
	*a = AdoptedNames{}
	if err := json.Unmarshal([]byte(text), a); err != nil {
		return fmt.Errorf("names of adopted shards: %w", err)
	}
	return nil
}

// Encode is the text of names, "" for nil.
func (a AdoptedNames) Encode() string {
	if a == nil {
		return ""
	}
	text, err := json.Marshal(a)
	if err != nil {
		return "" // strings and numbers: can't happen
	}
	return string(text)
}

// note remembers a name, unless an earlier meaning of it is known: shards that were adopted since are read by that, too.
func (a AdoptedNames) note(parent int, name string, id int) {
	if _, noted := a[parent][name]; noted || name == "" {
		return
	}
	if a[parent] == nil {
		a[parent] = map[string]int{}
	}
	a[parent][name] = id
}

// NoteChanged remembers the names of fields that they do not have in another schema of the table, and reports whether there are any.
func (a AdoptedNames) NoteChanged(was, next *iceberg.Schema) (changed bool) {
	now := map[string]int{}
	eachField(next.Fields(), 0, func(parent int, f iceberg.NestedField) { now[memberKey(parent, f.Name)] = f.ID })
	eachField(was.Fields(), 0, func(parent int, f iceberg.NestedField) {
		if now[memberKey(parent, f.Name)] != f.ID {
			a.note(parent, f.Name, f.ID)
			changed = true
		}
	})
	return changed
}

func memberKey(parent int, name string) string { return fmt.Sprintf("%d %s", parent, name) }

// eachField visits columns and members of structs at all depths, with the field id of the struct.
func eachField(fields []iceberg.NestedField, parent int, visit func(parent int, f iceberg.NestedField)) {
	for _, f := range fields {
		visit(parent, f)
		eachMember(f.Type, f.ID, visit)
	}
}

func eachMember(t iceberg.Type, id int, visit func(parent int, f iceberg.NestedField)) {
	switch t := t.(type) {
	case *iceberg.StructType:
		eachField(t.FieldList, id, visit)
	case *iceberg.ListType:
		eachMember(t.Element, t.ElementID, visit)
	case *iceberg.MapType:
		eachMember(t.KeyType, t.KeyID, visit)
		eachMember(t.ValueType, t.ValueID, visit)
	}
}

// NoteLacking remembers the fields of a shard that are not columns, so that a column which is added later has none of their values. ids are
// those of MapShard.
func (a AdoptedNames) NoteLacking(s *schema.Schema, ids []int) {
	var visit func(nodes []*schema.Node, parent int)
	var below func(n *schema.Node)
	below = func(n *schema.Node) {
		switch n.Basic {
		case schema.Struct:
			visit(n.Children, ids[n.ID])
		case schema.List, schema.FixedSizeList, schema.Map:
			for _, c := range n.Children {
				below(c)
			}
		}
	}
	visit = func(nodes []*schema.Node, parent int) {
		for _, n := range nodes {
			if ids[n.ID] == 0 {
				a.note(parent, n.Name, 0)
			} else {
				below(n)
			}
		}
	}
	visit(s.Columns(), 0)
}

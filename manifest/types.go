package manifest

import (
	"fmt"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// uint64Type holds every UInt64: Iceberg has no unsigned integers.
var uint64Type = iceberg.DecimalTypeOf(20, 0)

// timeSpanDoc reports readers of the Iceberg schema what the long is.
const timeSpanDoc = "time span in 100 ns ticks"

// ToIceberg maps a shard's schema to an Iceberg schema, and keeps as notes what Iceberg's types do not state. last is the last
// field id of the table to which the fields are added, whose ids follow it; 0 gives the ids of a new table. Internal fields (the
// deleted marker and its like) are left out: they are not columns.
//
// Errors name the field: Unit has no Iceberg type, and names must be non-empty and unique among siblings.
func ToIceberg(s *schema.Schema, last int) (*iceberg.Schema, TypeNotes, error) {
	next := last
	fields, err := toFields(s.Columns(), &next)
	if err != nil {
		return nil, nil, err
	}
	out := iceberg.NewSchema(0, fields...)
	if last == 0 {
		if out, err = iceberg.AssignFreshSchemaIDs(out, nil); err != nil {
			return nil, nil, fmt.Errorf("manifest: schema: %w", err)
		}
	}
	notes, err := NotesFor(s, out)
	return out, notes, err
}

func toFields(nodes []*schema.Node, next *int) ([]iceberg.NestedField, error) {
	out := make([]iceberg.NestedField, 0, len(nodes))
	seen := map[string]bool{}
	for _, n := range nodes {
		if n.Name == "" || seen[n.Name] {
			return nil, fmt.Errorf("manifest: field %q: an Iceberg column needs a name of its own", n.Name)
		}
		seen[n.Name] = true
		*next++
		f := iceberg.NestedField{ID: *next, Name: n.Name, Required: !n.Nullable, Doc: n.Doc}
		t, err := toType(n, next)
		if err != nil {
			return nil, err
		}
		f.Type = t
		if n.IsTimeSpan() && f.Doc == "" {
			f.Doc = timeSpanDoc
		}
		out = append(out, f)
	}
	return out, nil
}

func toType(n *schema.Node, next *int) (iceberg.Type, error) {
	switch n.Basic {
	case schema.List, schema.FixedSizeList:
		return toList(n, next)
	case schema.Map:
		return toMap(n, next)
	case schema.Struct:
		fields, err := toFields(n.Children, next)
		return &iceberg.StructType{FieldList: fields}, err
	case schema.Union:
		return toUnion(n, next)
	}
	t, ok := toPrimitive(n)
	if !ok {
		return nil, fmt.Errorf("manifest: field %q: type %s has no Iceberg counterpart", n.Name, n.Basic)
	}
	return t, nil
}

func toPrimitive(n *schema.Node) (iceberg.Type, bool) {
	switch n.Basic {
	case schema.Boolean:
		return iceberg.PrimitiveTypes.Bool, true
	case schema.Int8, schema.Int16:
		return iceberg.PrimitiveTypes.Int32, true
	case schema.Int32:
		if n.Signed {
			return iceberg.PrimitiveTypes.Int32, true
		}
		return iceberg.PrimitiveTypes.Int64, true
	case schema.Int64:
		if n.Signed {
			return iceberg.PrimitiveTypes.Int64, true
		}
		return uint64Type, true
	case schema.Float32:
		return iceberg.PrimitiveTypes.Float32, true
	case schema.Float64:
		return iceberg.PrimitiveTypes.Float64, true
	case schema.String:
		return iceberg.PrimitiveTypes.String, true
	case schema.Guid:
		return iceberg.PrimitiveTypes.UUID, true
	case schema.DateTime:
		return iceberg.PrimitiveTypes.TimestampTz, true
	case schema.Binary:
		if n.IsDynamic() || n.Label() == labelJSON {
			return iceberg.PrimitiveTypes.String, true
		}
		return iceberg.PrimitiveTypes.Binary, true
	case schema.FixedSizeBinary:
		if n.IsDecimal() {
			return iceberg.PrimitiveTypes.String, true
		}
		return iceberg.FixedTypeOf(int(n.FixedSize)), n.FixedSize < 1<<31
	}
	return nil, false
}

// labelJSON marks JSON text that came from Arrow's json extension type.
const labelJSON = "arrow.json"

func toList(n *schema.Node, next *int) (iceberg.Type, error) {
	if len(n.Children) != 1 {
		return nil, fmt.Errorf("manifest: field %q: a list has one child, not %d", n.Name, len(n.Children))
	}
	*next++
	l := &iceberg.ListType{ElementID: *next, ElementRequired: !n.Children[0].Nullable}
	element, err := toType(n.Children[0], next)
	l.Element = element
	return l, err
}

func toMap(n *schema.Node, next *int) (iceberg.Type, error) {
	if len(n.Children) != 2 {
		return nil, fmt.Errorf("manifest: field %q: a map has two children, not %d", n.Name, len(n.Children))
	}
	*next += 2
	m := &iceberg.MapType{KeyID: *next - 1, ValueID: *next, ValueRequired: !n.Children[1].Nullable}
	var err error
	if m.KeyType, err = toType(n.Children[0], next); err != nil {
		return nil, err
	}
	m.ValueType, err = toType(n.Children[1], next)
	return m, err
}

// toUnion maps a union to a struct of optional variants, of which at most one is set.
func toUnion(n *schema.Node, next *int) (iceberg.Type, error) {
	variants := make([]*schema.Node, len(n.Children))
	for i, c := range n.Children {
		v := *c
		v.Nullable = true
		if v.Name == "" {
			v.Name = fmt.Sprintf("variant%d", i)
		}
		variants[i] = &v
	}
	fields, err := toFields(variants, next)
	return &iceberg.StructType{FieldList: fields}, err
}

package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// every holds one field of every type that a table can have, and the Iceberg type it should become.
func every() ([]*schema.Node, []string) {
	fixed := func(n uint64, label string) *schema.Node {
		node := &schema.Node{Basic: schema.FixedSizeBinary, FixedSize: n}
		if label != "" {
			node.Ext = &schema.Extension{Label: label}
		}
		return node
	}
	labelled := func(b schema.Basic, signed bool, label string) *schema.Node {
		return &schema.Node{Basic: b, Signed: signed, Ext: &schema.Extension{Label: label}}
	}
	integer := func(b schema.Basic, signed bool) *schema.Node { return &schema.Node{Basic: b, Signed: signed} }
	nested := func(b schema.Basic, names string, basic schema.Basic) *schema.Node {
		n := &schema.Node{Basic: b}
		for _, name := range strings.Fields(names) {
			n.Children = append(n.Children, &schema.Node{Name: name, Basic: basic, Nullable: true})
		}
		return n
	}
	list := nested(schema.FixedSizeList, "item", schema.Float32)
	list.FixedSize = 3
	rows := []struct {
		n    *schema.Node
		want string
	}{
		{integer(schema.Int8, true), "int"}, {integer(schema.Int16, true), "int"}, {integer(schema.Int32, true), "int"},
		{integer(schema.Int8, false), "int"}, {integer(schema.Int16, false), "int"},
		{integer(schema.Int32, false), "long"}, {integer(schema.Int64, true), "long"},
		{integer(schema.Int64, false), "decimal(20, 0)"},
		{&schema.Node{Basic: schema.Float32}, "float"}, {&schema.Node{Basic: schema.Float64}, "double"},
		{&schema.Node{Basic: schema.Boolean}, "boolean"}, {&schema.Node{Basic: schema.String}, "string"},
		{&schema.Node{Basic: schema.Binary}, "binary"}, {fixed(7, ""), "fixed[7]"},
		{&schema.Node{Basic: schema.Guid, FixedSize: 16}, "uuid"}, {&schema.Node{Basic: schema.DateTime}, "timestamptz"},
		{labelled(schema.Int64, true, schema.LabelTimeSpan), "long"}, {fixed(16, schema.LabelDecimal), "string"},
		{labelled(schema.Binary, false, schema.LabelDynamic), "string"}, {labelled(schema.Binary, false, "arrow.json"), "string"},
		{labelled(schema.String, false, "GeoPoint"), "string"},
		{nested(schema.List, "item", schema.String), "list<string>"}, {list, "list<float>"},
		{nested(schema.Map, "key value", schema.String), "map<string, string>"},
		{nested(schema.Struct, "x y", schema.Float64), "struct<"}, {nested(schema.Union, "a b", schema.Int64), "struct<"},
	}
	var nodes []*schema.Node
	var wants []string
	for i, r := range rows {
		r.n.Name = "f" + string(rune('a'+i))
		r.n.Nullable = i%2 == 0
		for _, c := range r.n.Children {
			if c.Basic == schema.Int64 {
				c.Signed = true
			}
		}
		if r.n.Basic == schema.Map {
			r.n.Children[0].Nullable = false
		}
		nodes, wants = append(nodes, r.n), append(wants, r.want)
	}
	return nodes, wants
}

func TestSchemaRoundTrip(t *testing.T) {
	nodes, wants := every()
	s := &schema.Schema{Fields: nodes}
	s.Number()
	ice, notes, err := ToIceberg(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range ice.Fields() {
		if !strings.HasPrefix(f.Type.String(), wants[i]) {
			t.Errorf("%s became %s, not %s", nodes[i].Name, f.Type, wants[i])
		}
		if f.Required == nodes[i].Nullable {
			t.Errorf("%s: required %v of nullable %v", f.Name, f.Required, nodes[i].Nullable)
		}
	}
	var parsed TypeNotes
	if err := parsed.Decode(notes.Encode()); err != nil {
		t.Fatal(err)
	}
	back, ids, unsupported := FromIceberg(ice, parsed)
	if len(unsupported) > 0 || len(ids) != int(s.Count) || back.Count != s.Count {
		t.Fatalf("%d ids, %d of %d nodes, %v", len(ids), back.Count, s.Count, unsupported)
	}
	compareNodes(t, s.Fields, back.Fields)
}

func compareNodes(t *testing.T, want, got []*schema.Node) {
	t.Helper()
	for i, w := range want {
		g := got[i]
		if w.Name != g.Name || w.Basic != g.Basic || w.Signed != g.Signed || w.FixedSize != g.FixedSize ||
			w.Label() != g.Label() || w.Nullable != g.Nullable || w.ID != g.ID {
			t.Errorf("%+v came back as %+v", w, g)
		}
		compareNodes(t, w.Children, g.Children)
	}
}

func TestSchemaRefusals(t *testing.T) {
	field := func(n *schema.Node) *schema.Schema { return &schema.Schema{Fields: []*schema.Node{n}} }
	for name, s := range map[string]*schema.Schema{
		"Unit":           field(&schema.Node{Name: "u", Basic: schema.Unit}),
		"no name":        field(&schema.Node{Basic: schema.Int64, Signed: true}),
		"two names":      {Fields: []*schema.Node{{Name: "a", Basic: schema.String}, {Name: "a", Basic: schema.String}}},
		"list":           field(&schema.Node{Name: "l", Basic: schema.List}),
		"below a struct": field(&schema.Node{Name: "s", Basic: schema.Struct, Children: []*schema.Node{{Name: "u", Basic: schema.Unit}}}),
		"below a list":   field(&schema.Node{Name: "l", Basic: schema.List, Children: []*schema.Node{{Name: "item", Basic: schema.Unit}}}),
		"a key":          field(&schema.Node{Name: "m", Basic: schema.Map, Children: []*schema.Node{{Name: "key", Basic: schema.Unit}, {Name: "value", Basic: schema.String}}}),
		"a value":        field(&schema.Node{Name: "m", Basic: schema.Map, Children: []*schema.Node{{Name: "key", Basic: schema.String}, {Name: "value", Basic: schema.Unit}}}),
		"a variant":      field(&schema.Node{Name: "v", Basic: schema.Union, Children: []*schema.Node{{Name: "u", Basic: schema.Unit}}}),
	} {
		s.Number()
		if _, _, err := ToIceberg(s, 0); err == nil {
			t.Errorf("%s was accepted", name)
		}
		if fields, _, err := ToIceberg(s, 7); err == nil || fields != nil {
			t.Errorf("%s was accepted for a table: %v", name, fields)
		}
	}
}

// TestFieldsOfATable: fields that come to a table have ids behind its last, and notes by them; a type that Iceberg's states needs none.
func TestFieldsOfATable(t *testing.T) {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "a", Basic: schema.String}, {Name: "b", Basic: schema.Int64, Signed: true}, {Name: "c", Basic: schema.Float64}, {Name: "d", Basic: schema.DateTime},
		{Name: "e", Basic: schema.Binary}, {Name: "f", Basic: schema.FixedSizeBinary, FixedSize: 7}, {Name: "g", Basic: schema.Guid, FixedSize: 16},
		{Name: "h", Basic: schema.Int8, Signed: true}, {Name: "i", Basic: schema.String, Aliases: []string{"x"}},
	}}
	s.Number()
	more, notes, err := ToIceberg(s, 7)
	if err != nil {
		t.Fatal(err)
	}
	fields := more.Fields()
	for i, f := range fields {
		if f.ID != 8+i || f.Name != s.Fields[i].Name {
			t.Errorf("field %d is %v", i, f)
		}
	}
	if ids := slices.Sorted(maps.Keys(notes)); len(fields) != len(s.Fields) || !slices.Equal(ids, []int{15, 16}) {
		t.Errorf("%d fields, notes of %v", len(fields), ids)
	}
}

// TestUnsupportedColumnsAreLeftOut: a column of a type that shards lack is listed, nested or not, and hides no other.
func TestUnsupportedColumnsAreLeftOut(t *testing.T) {
	times := &iceberg.StructType{FieldList: []iceberg.NestedField{
		{ID: 4, Name: "a", Type: iceberg.PrimitiveTypes.Int32}, {ID: 5, Name: "t", Type: iceberg.PrimitiveTypes.Time}}}
	ts := NewTableSchema(iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "t", Type: iceberg.PrimitiveTypes.Time, Required: true},
		iceberg.NestedField{ID: 2, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 3, Name: "s", Type: times},
		iceberg.NestedField{ID: 6, Name: "x", Type: iceberg.PrimitiveTypes.String}), nil)
	if fmt.Sprint(ts.IDs) != "[2 6]" || ts.Shard.Count != 2 || ts.Node(6).Name != "x" || len(ts.Unsupported) != 2 {
		t.Errorf("ids %v of %d nodes, unsupported %v", ts.IDs, ts.Shard.Count, ts.Unsupported)
	}
	if u := ts.UnsupportedRequired(); u == nil || u.Name != "t" || u.Type != "time" {
		t.Errorf("required: %+v", u)
	}
}

func TestInternalFieldsAreNoColumns(t *testing.T) {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "a", Basic: schema.String}, {Basic: schema.Boolean, Internal: schema.InternalDeletedRecord},
	}}
	s.Number()
	ice, _, err := ToIceberg(s, 0)
	if err != nil || ice.NumFields() != 1 {
		t.Fatalf("%v, %v", ice, err)
	}
}

func TestChangedColumnDropsItsNote(t *testing.T) {
	ice := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "a", Type: iceberg.PrimitiveTypes.Int64})
	s, _, _ := FromIceberg(ice, TypeNotes{1: {Basic: "Int8"}})
	if s.Fields[0].Basic != schema.Int64 {
		t.Fatalf("a promoted column is still %v", s.Fields[0].Basic)
	}
}

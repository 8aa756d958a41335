package manifest

import (
	"encoding/json"
	"fmt"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TypesProperty is the table property that holds the TypeNotes as JSON, keyed by field id.
const TypesProperty = "shardcat.types"

// TypeNotes say, by Iceberg field id, what the shard's type is where Iceberg's type alone would be read back as
// something else. Field ids are never reused, so one set of notes serves all schemas of a table.
type TypeNotes map[int]TypeNote

// TypeNote is the shard-side type of one field, without name and children.
type TypeNote struct {
	Basic      string                     `json:"type"`
	Unsigned   bool                       `json:"unsigned,omitempty"`
	FixedSize  uint64                     `json:"size,omitempty"`
	Label      string                     `json:"label,omitempty"`
	Properties []schema.ExtensionProperty `json:"properties,omitempty"`
	Aliases    []string                   `json:"aliases,omitempty"`
}

// Encode gives the text of TypesProperty, "" for no notes at all.
func (n TypeNotes) Encode() string {
	if len(n) == 0 {
		return ""
	}
	text, err := json.Marshal(n)
	if err != nil {
		panic("manifest: type notes: " + err.Error()) // plain data: can't happen
	}
	return string(text)
}

// Decode reads TypesProperty; "" is no notes.
func (n *TypeNotes) Decode(text string) error {
	*n = nil
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), n); err != nil {
		return fmt.Errorf("manifest: table property %s: %w", TypesProperty, err)
	}
	return nil
}

// NotesFor makes the notes of a shard schema whose columns were mapped to the fields of t, in order.
func NotesFor(s *schema.Schema, t *iceberg.Schema) (TypeNotes, error) {
	notes := TypeNotes{}
	err := pairFields(s.Columns(), t, func(n *schema.Node, id int) {
		f, _ := t.FindFieldByID(id)
		if back := primitiveNode(f.Type); !sameType(n, back) || len(n.Aliases) > 0 {
			notes[id] = noteOf(n)
		}
	})
	return notes, err
}

func noteOf(n *schema.Node) TypeNote {
	note := TypeNote{Basic: n.Basic.String(), FixedSize: n.FixedSize, Aliases: n.Aliases}
	note.Unsigned = n.Basic.IsInteger() && !n.Signed
	if n.Ext != nil {
		note.Label, note.Properties = n.Ext.Label, n.Ext.Properties
	}
	return note
}

// sameType reports whether n would be read back from Iceberg's type without a note.
func sameType(n, back *schema.Node) bool {
	return n.Basic == back.Basic && n.Signed == back.Signed && n.Label() == back.Label() &&
		(n.FixedSize == back.FixedSize || n.Basic == schema.Guid)
}

// apply turns the node read from Iceberg's type into what the note states, if the note still fits that type: a
// column whose type was changed by another engine is what that engine made of it.
func (note TypeNote) apply(n *schema.Node, t iceberg.Type) {
	basic, ok := basicNamed(note.Basic)
	if !ok {
		return
	}
	noted := *n
	noted.Basic, noted.FixedSize, noted.Aliases = basic, note.FixedSize, note.Aliases
	noted.Signed = basic.IsInteger() && !note.Unsigned
	noted.Ext = nil
	if note.Label != "" {
		noted.Ext = &schema.Extension{Label: note.Label, Properties: note.Properties}
	}
	if fits(&noted, t) {
		*n = noted
	}
}

// fits reports whether a node of this type is stored as t.
func fits(n *schema.Node, t iceberg.Type) bool {
	switch t := t.(type) {
	case *iceberg.ListType:
		return n.Basic == schema.List || n.Basic == schema.FixedSizeList
	case *iceberg.StructType:
		return n.Basic == schema.Struct || n.Basic == schema.Union
	case *iceberg.MapType:
		return n.Basic == schema.Map
	default:
		own, ok := toPrimitive(n)
		return ok && own.Equals(t)
	}
}

func basicNamed(name string) (schema.Basic, bool) {
	for b := schema.Unit; b <= schema.Union; b++ {
		if b.String() == name {
			return b, true
		}
	}
	return 0, false
}

// UnsupportedColumn is a column whose type, or that of one of its members, shards don't have: Iceberg's time, say.
type UnsupportedColumn struct {
	ID       int
	Name     string
	Type     string
	Required bool
}

// FromIceberg maps an Iceberg schema back to a shard schema, numbered, and lists the field id of each of its
// nodes by node number. Columns of types that shards don't have are left out and listed.
func FromIceberg(t *iceberg.Schema, notes TypeNotes) (*schema.Schema, []int, []UnsupportedColumn) {
	s := &schema.Schema{}
	m := mapper{notes: notes}
	var unsupported []UnsupportedColumn
	for _, f := range t.Fields() {
		mark := len(m.ids)
		n, err := m.node(f.Name, f.ID, f.Type, f.Required, f.Doc)
		if err != nil {
			m.ids = m.ids[:mark]
			unsupported = append(unsupported, UnsupportedColumn{f.ID, f.Name, f.Type.String(), f.Required})
			continue
		}
		s.Fields = append(s.Fields, n)
	}
	s.Number()
	return s, m.ids, unsupported
}

type mapper struct {
	notes TypeNotes
	ids   []int
}

func (m *mapper) node(name string, id int, t iceberg.Type, required bool, doc string) (*schema.Node, error) {
	n := primitiveNode(t)
	if n == nil {
		return nil, fmt.Errorf("manifest: column %q: no shard type for Iceberg's %s", name, t)
	}
	n.Name, n.Nullable, n.Doc = name, !required, doc
	if n.Doc == timeSpanDoc {
		n.Doc = ""
	}
	if note, ok := m.notes[id]; ok {
		note.apply(n, t)
	}
	m.ids = append(m.ids, id)
	for _, c := range children(t) {
		child, err := m.node(c.Name, c.ID, c.Type, c.Required, c.Doc)
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, child)
	}
	return n, nil
}

// children of a nested type as fields, in the order in which a shard's node has them.
func children(t iceberg.Type) []iceberg.NestedField {
	switch t := t.(type) {
	case *iceberg.StructType:
		return t.FieldList
	case *iceberg.ListType:
		return []iceberg.NestedField{{ID: t.ElementID, Name: "item", Type: t.Element, Required: t.ElementRequired}}
	case *iceberg.MapType:
		return []iceberg.NestedField{
			{ID: t.KeyID, Name: "key", Type: t.KeyType, Required: true},
			{ID: t.ValueID, Name: "value", Type: t.ValueType, Required: t.ValueRequired},
		}
	}
	return nil
}

// primitiveNode is the node that an Iceberg type becomes without a note; nil for types that shards lack.
func primitiveNode(t iceberg.Type) *schema.Node {
	switch t := t.(type) {
	case iceberg.BooleanType:
		return &schema.Node{Basic: schema.Boolean}
	case iceberg.Int32Type:
		return &schema.Node{Basic: schema.Int32, Signed: true}
	case iceberg.Int64Type:
		return &schema.Node{Basic: schema.Int64, Signed: true}
	case iceberg.Float32Type:
		return &schema.Node{Basic: schema.Float32}
	case iceberg.Float64Type:
		return &schema.Node{Basic: schema.Float64}
	case iceberg.StringType:
		return &schema.Node{Basic: schema.String}
	case iceberg.BinaryType:
		return &schema.Node{Basic: schema.Binary}
	case iceberg.FixedType:
		return &schema.Node{Basic: schema.FixedSizeBinary, FixedSize: uint64(t.Len())}
	case iceberg.UUIDType:
		return &schema.Node{Basic: schema.Guid, FixedSize: guidSize}
	case iceberg.TimestampType, iceberg.TimestampTzType, iceberg.DateType:
		return &schema.Node{Basic: schema.DateTime}
	case iceberg.DecimalType:
		return decimalNode(t)
	case *iceberg.StructType:
		return &schema.Node{Basic: schema.Struct}
	case *iceberg.ListType:
		return &schema.Node{Basic: schema.List}
	case *iceberg.MapType:
		return &schema.Node{Basic: schema.Map}
	}
	return nil
}

const guidSize = 16

func decimalNode(t iceberg.DecimalType) *schema.Node {
	if t.Equals(uint64Type) {
		return &schema.Node{Basic: schema.Int64}
	}
	return &schema.Node{
		Basic: schema.FixedSizeBinary, FixedSize: 16,
		Ext: &schema.Extension{Label: schema.LabelDecimal},
	}
}

// pairFields walks nodes and the fields of t side by side, in order, and calls visit with each node and its field id.
// The two must have one shape; an error reports where they part.
func pairFields(nodes []*schema.Node, t *iceberg.Schema, visit func(n *schema.Node, id int)) error {
	return pair(nodes, t.Fields(), visit)
}

func pair(nodes []*schema.Node, fields []iceberg.NestedField, visit func(*schema.Node, int)) error {
	if len(nodes) != len(fields) {
		return fmt.Errorf("manifest: %d fields but %d columns", len(nodes), len(fields))
	}
	for i, n := range nodes {
		visit(n, fields[i].ID)
		if err := pair(n.Children, children(fields[i].Type), visit); err != nil {
			return err
		}
	}
	return nil
}

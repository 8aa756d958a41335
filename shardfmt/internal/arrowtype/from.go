package arrowtype

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Keys of Arrow field metadata.
const (
	metaExtension     = "ARROW:extension:name"
	metaExtensionData = "ARROW:extension:metadata"
	// metaProperties holds the properties of an extension label as a JSON object, on fields that came
	// from a shard.
	metaProperties = "shardcat.extension.properties"
	// metaLogical holds the logical type of a Parquet column where Arrow has none for it (MarkLogical).
	metaLogical = "shardcat.parquet.logical-type"
)

// Names of Arrow's own extension types that have a meaning here.
const (
	arrowUUID  = "arrow.uuid"
	arrowJSON  = "arrow.json"
	arrowBool8 = "arrow.bool8"
)

// labelDateTime marks 64-bit ticks as points in time in Arrow metadata; it is not a label on the wire.
const labelDateTime = "KustoDateTime"

// FromArrow gives the shard schema that holds what an Arrow schema describes (docs/reference/arrow.md has the table).
// The report reports where the type is another one; no type is refused but by name: a field that has no
// name, a name that occurs twice, types that nest too deep.
func FromArrow(s *arrow.Schema) (*schema.Schema, *Report, error) {
	report := &Report{}
	out := &schema.Schema{}
	seen := map[string]bool{}
	for i, f := range s.Fields() {
		if f.Name == "" {
			return nil, nil, fmt.Errorf("field %d has no name", i)
		}
		if seen[f.Name] {
			return nil, nil, fmt.Errorf("two fields are named %q", f.Name)
		}
		seen[f.Name] = true
		n, err := fromField(f, f.Name, fieldAt{f.Name, 1, report})
		if err != nil {
			return nil, nil, err
		}
		out.Fields = append(out.Fields, n)
	}
	out.Number()
	return out, report, Check(out)
}

// extensionOf is the extension of a field, registered with Arrow or not: its name, its metadata and the
// type it is stored as.
func extensionOf(f arrow.Field) (name, data string, storage arrow.DataType) {
	if e, ok := f.Type.(arrow.ExtensionType); ok {
		return e.ExtensionName(), e.Serialize(), e.StorageType()
	}
	name, _ = f.Metadata.GetValue(metaExtension)
	data, _ = f.Metadata.GetValue(metaExtensionData)
	return name, data, f.Type
}

// fieldAt is where a field of an Arrow schema is: its path, and how deep; the report is that of all fields.
type fieldAt struct {
	path   string
	depth  int
	report *Report
}

// add reports what becomes of the field.
func (at fieldAt) add(message string) { at.report.Add(at.path, message, 0) }

// below is a level deeper at the same path: of the values that are encoded or extended.
func (at fieldAt) below() fieldAt {
	at.depth++
	return at
}

// child is a child of the field.
func (at fieldAt) child(name string) fieldAt {
	at.path += "." + name
	return at.below()
}

func fromField(f arrow.Field, name string, at fieldAt) (*schema.Node, error) {
	if at.depth > MaxDepth {
		return nil, fmt.Errorf("field %q: types nest deeper than %d levels", at.path, MaxDepth)
	}
	if _, ok := f.Type.(*extensions.VariantType); ok {
		return &schema.Node{Name: name, Nullable: f.Nullable, Basic: schema.Binary, Ext: &schema.Extension{Label: schema.LabelDynamic}}, nil
	}
	label, data, storage := extensionOf(f)
	n, err := fromType(storage, at)
	if err != nil {
		return nil, err
	}
	n.Name, n.Nullable = name, f.Nullable || n.Basic == schema.Union // a union has no validity of its own: its variants may be null
	applyExtension(n, label, data, f.Metadata, at)
	return n, nil
}

// applyExtension gives a node the meaning of an Arrow extension name.
func applyExtension(n *schema.Node, label, data string, meta arrow.Metadata, at fieldAt) {
	logical, _ := meta.GetValue(metaLogical)
	switch {
	case label == "" && logical == logicalJSON && (n.Basic == schema.String || n.Basic == schema.Binary):
		n.Basic, n.Ext = schema.Binary, &schema.Extension{Label: schema.LabelDynamic}
	case label == "" && logical != "" && logical != logicalJSON:
		at.add(fmt.Sprintf("Parquet's type %s is not kept, its values are", logical))
	case label == "":
	case label == arrowUUID && n.Basic == schema.FixedSizeBinary && n.FixedSize == 16:
		n.Basic = schema.Guid
	case label == arrowJSON && n.Basic == schema.String, label == NameDynamic && n.Basic == schema.Binary:
		n.Basic, n.Ext = schema.Binary, &schema.Extension{Label: schema.LabelDynamic}
	case label == arrowBool8 && n.Basic == schema.Int8 && n.Signed:
		n.Basic, n.Signed = schema.Boolean, false
	case (label == NameDateTime || label == labelDateTime) && n.Basic == schema.Int64:
		n.Basic, n.Signed = schema.DateTime, false
	case label == NameTimeSpan && n.Basic == schema.Int64 && n.Signed:
		n.Ext = &schema.Extension{Label: schema.LabelTimeSpan}
	case label == NameDecimal && n.Basic == schema.FixedSizeBinary && n.FixedSize == 16:
		n.Ext = &schema.Extension{Label: schema.LabelDecimal}
	default:
		n.Ext = &schema.Extension{Label: label, Properties: propertiesOf(data, meta)}
		if !n.IsTimeSpan() && !n.IsDecimal() && !n.IsDynamic() {
			at.add(fmt.Sprintf("extension %s is kept as a label", label))
		}
	}
}

// fromType gives a node without a name.
func fromType(t arrow.DataType, at fieldAt) (*schema.Node, error) {
	if n := fromSimple(t); n != nil {
		return n, nil
	}
	if n := fromTemporal(t, at); n != nil {
		return n, nil
	}
	switch t := t.(type) {
	case *arrow.FixedSizeBinaryType:
		return &schema.Node{Basic: schema.FixedSizeBinary, FixedSize: uint64(t.ByteWidth)}, nil
	case arrow.DecimalType:
		return decimalNode(), nil
	case *arrow.DictionaryType:
		at.add("dictionary encoding is chosen by the shard writer")
		return fromEncoded(t.ValueType, at)
	case *arrow.RunEndEncodedType:
		at.add("run-end encoding is chosen by the shard writer")
		return fromEncoded(t.Encoded(), at)
	case arrow.ExtensionType:
		return fromEncoded(t, at)
	}
	return fromNested(t, at)
}

// fromEncoded is the node of the values of an encoded or extended array.
func fromEncoded(t arrow.DataType, at fieldAt) (*schema.Node, error) {
	return fromField(arrow.Field{Type: t, Nullable: true}, "", at.below())
}

func decimalNode() *schema.Node {
	return &schema.Node{Basic: schema.FixedSizeBinary, FixedSize: 16, Ext: &schema.Extension{Label: schema.LabelDecimal}}
}

func timeSpanNode() *schema.Node {
	return &schema.Node{Basic: schema.Int64, Signed: true, Ext: &schema.Extension{Label: schema.LabelTimeSpan}}
}

// simple maps the types whose values are the same on both sides, and half floats, which a Float32 holds.
var simple = map[arrow.Type]schema.Node{
	arrow.NULL:    {Basic: schema.Unit},
	arrow.BOOL:    {Basic: schema.Boolean},
	arrow.INT8:    {Basic: schema.Int8, Signed: true},
	arrow.INT16:   {Basic: schema.Int16, Signed: true},
	arrow.INT32:   {Basic: schema.Int32, Signed: true},
	arrow.INT64:   {Basic: schema.Int64, Signed: true},
	arrow.UINT8:   {Basic: schema.Int8},
	arrow.UINT16:  {Basic: schema.Int16},
	arrow.UINT32:  {Basic: schema.Int32},
	arrow.UINT64:  {Basic: schema.Int64},
	arrow.FLOAT16: {Basic: schema.Float32},
	arrow.FLOAT32: {Basic: schema.Float32},
	arrow.FLOAT64: {Basic: schema.Float64},

	arrow.STRING:       {Basic: schema.String},
	arrow.LARGE_STRING: {Basic: schema.String},
	arrow.STRING_VIEW:  {Basic: schema.String},
	arrow.BINARY:       {Basic: schema.Binary},
	arrow.LARGE_BINARY: {Basic: schema.Binary},
	arrow.BINARY_VIEW:  {Basic: schema.Binary},
}

func fromSimple(t arrow.DataType) *schema.Node {
	n, ok := simple[t.ID()]
	if !ok {
		return nil
	}
	return &n
}

// fromTemporal covers times, spans and Arrow's calendar intervals.
func fromTemporal(t arrow.DataType, at fieldAt) *schema.Node {
	part := func(name string, b schema.Basic) *schema.Node {
		return &schema.Node{Name: name, Basic: b, Signed: true, Nullable: true}
	}
	switch t := t.(type) {
	case *arrow.Date32Type, *arrow.Date64Type:
		at.add("dates become midnight UTC")
		return &schema.Node{Basic: schema.DateTime}
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			at.add("times without a zone are read as UTC")
		}
		if t.TimeZone != "" && t.TimeZone != "UTC" {
			at.add(fmt.Sprintf("time zone %s is dropped; the points in time are kept", t.TimeZone))
		}
		return &schema.Node{Basic: schema.DateTime}
	case *arrow.DurationType:
		return timeSpanNode()
	case *arrow.Time32Type, *arrow.Time64Type:
		at.add("a time of day becomes the span since midnight")
		return timeSpanNode()
	case *arrow.MonthIntervalType:
		at.add("an interval of months becomes their number")
		return part("", schema.Int32)
	case *arrow.DayTimeIntervalType:
		at.add("an interval of days and milliseconds becomes a struct of both")
		return &schema.Node{Basic: schema.Struct, Children: []*schema.Node{
			part("days", schema.Int32), part("milliseconds", schema.Int32),
		}}
	case *arrow.MonthDayNanoIntervalType:
		at.add("an interval of months, days and nanoseconds becomes a struct of the three")
		return &schema.Node{Basic: schema.Struct, Children: []*schema.Node{
			part("months", schema.Int32), part("days", schema.Int32), part("nanoseconds", schema.Int64),
		}}
	}
	return nil
}

func fromNested(t arrow.DataType, at fieldAt) (*schema.Node, error) {
	switch t := t.(type) {
	case *arrow.MapType:
		return fromChildren(&schema.Node{Basic: schema.Map}, []arrow.Field{t.KeyField(), t.ItemField()}, []string{"key", "value"}, at)
	case *arrow.FixedSizeListType:
		n := &schema.Node{Basic: schema.FixedSizeList, FixedSize: uint64(t.Len())}
		return fromChildren(n, []arrow.Field{t.ElemField()}, []string{"item"}, at)
	case arrow.ListLikeType:
		return fromChildren(&schema.Node{Basic: schema.List}, []arrow.Field{t.ElemField()}, []string{"item"}, at)
	case *arrow.StructType:
		return fromChildren(&schema.Node{Basic: schema.Struct}, t.Fields(), nil, at)
	case arrow.UnionType:
		return fromChildren(&schema.Node{Basic: schema.Union}, t.Fields(), nil, at)
	}
	return nil, fmt.Errorf("field %q: Arrow type %s is not supported in shards", at.path, t)
}

// fromChildren adds the children of a nested node, under other names if names are given.
func fromChildren(n *schema.Node, fields []arrow.Field, names []string, at fieldAt) (*schema.Node, error) {
	seen := map[string]bool{}
	for i, f := range fields {
		name := f.Name
		if names != nil {
			name = names[i]
		}
		if n.Basic == schema.Struct && (name == "" || seen[name]) {
			return nil, fmt.Errorf("field %q: struct fields need unique, non-empty names: %q", at.path, name)
		}
		seen[name] = true
		child, err := fromField(f, name, at.child(name))
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, child)
	}
	return n, nil
}

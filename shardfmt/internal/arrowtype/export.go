package arrowtype

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ExportOptions determine what the types of a shard become. The zero value is the default mapping.
type ExportOptions struct {
	// TimeUnit of timestamps and durations: ns (also if empty), us, ms or s. Values that the unit can't
	// hold are refused with their row; digits below it are cut, and counted in the report.
	TimeUnit string
	// GuidAsString makes text of guids; without it they are arrow.uuid.
	GuidAsString bool
	// Decimal is the type of decimals whose fixed-point type is not known from the original schema; nil makes
	// text of them, which holds them all. No choice depends on the values.
	Decimal *arrow.Decimal128Type
	// Original is the Arrow schema that the records came with (property arrow.schema): fields are given
	// their original types again, as far as they still fit. Dictionaries, runs and views come back plain.
	Original *arrow.Schema
	// Variants makes Parquet's variants of dynamic values instead of JSON text.
	Variants bool
	// Strict refuses, with their row, values that would be changed and counted otherwise.
	Strict bool
	// Parquet leaves out what Parquet has no type for: unions and structs without fields are refused, spans
	// are integers, fixed-size lists are lists.
	Parquet bool
}

// Exporter turns canonical batches of one shard schema into batches of a schema for others. Not for
// concurrent use.
type Exporter struct {
	nodes  []*schema.Node
	schema *arrow.Schema
	out    exporting
}

type exporting struct {
	ExportOptions
	unit   arrow.TimeUnit
	report *Report
}

// NewExporter chooses the types.
func NewExporter(s *schema.Schema, o ExportOptions) (*Exporter, error) {
	unit, err := timeUnit(o.TimeUnit)
	if err != nil {
		return nil, err
	}
	if err := Check(s); err != nil {
		return nil, err
	}
	e := &Exporter{nodes: s.Fields, out: exporting{o, unit, &Report{}}}
	fields := make([]arrow.Field, len(s.Fields))
	for i, n := range s.Fields {
		var err error
		if fields[i], err = e.out.topField(n); err != nil {
			return nil, err
		}
	}
	e.schema = arrow.NewSchema(fields, nil)
	return e, nil
}

// Schema of the exported batches.
func (e *Exporter) Schema() *arrow.Schema { return e.schema }

// Report reports what was changed so far.
func (e *Exporter) Report() *Report { return e.out.report }

// Export converts a batch. A value that the other type can't hold is a *RowError. The result is the
// caller's to release.
func (e *Exporter) Export(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(e.nodes))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, n := range e.nodes {
		var err error
		columns[i], err = e.out.array(batch.Column(i), e.schema.Field(i).Type, place{n: n, path: n.Name, row: sameRow})
		if err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(e.schema, columns, batch.NumRows()), nil
}

// topField gives the field of a top-level node; what is reported is what becomes of the type that it gets.
func (x *exporting) topField(n *schema.Node) (arrow.Field, error) {
	all := x.report
	defer func() { x.report = all }()
	x.report = &Report{}
	byDefault, err := x.field(n, n.Name)
	if err != nil {
		return byDefault, err
	}
	f := x.original(n, byDefault, all)
	if arrow.TypeEqual(f.Type, byDefault.Type) {
		all.Merge(x.report)
	}
	return f, nil
}

// original gives a top-level field the type it came with, where that maps to the node's type; r notes what Parquet lacks of it.
func (x *exporting) original(n *schema.Node, f arrow.Field, r *Report) arrow.Field {
	if x.Original == nil {
		return f
	}
	from, found := x.Original.FieldsByName(n.Name)
	if !found || len(from) != 1 {
		return f
	}
	o := from[0]
	o.Type = plain(o.Type)
	was, err := fromField(o, n.Name, fieldAt{n.Name, 1, &Report{}})
	if err != nil || !alike(was, n) {
		return f
	}
	if x.Parquet {
		o, _ = ParquetField(o, n.Name, r)
	}
	return o
}

// alike reports whether two nodes hold the same values.
func alike(a, b *schema.Node) bool {
	if a.Basic != b.Basic || a.Signed != b.Signed || a.FixedSize != b.FixedSize || a.Label() != b.Label() || len(a.Children) != len(b.Children) {
		return false
	}
	for i, c := range a.Children {
		if a.Basic == schema.Struct && c.Name != b.Children[i].Name || !alike(c, b.Children[i]) {
			return false
		}
	}
	return true
}

// plain takes encodings and list views off a type.
func plain(t arrow.DataType) arrow.DataType {
	field := func(f arrow.Field) arrow.Field { f.Type = plain(f.Type); return f }
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return plain(t.ValueType)
	case *arrow.RunEndEncodedType:
		return plain(t.Encoded())
	case *extensions.VariantType:
		return extensions.NewDefaultVariantType() // how one was shredded is left to its writer
	case *arrow.ListViewType:
		return arrow.ListOfField(field(t.ElemField()))
	case *arrow.LargeListViewType:
		return arrow.LargeListOfField(field(t.ElemField()))
	case *arrow.ListType:
		return arrow.ListOfField(field(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(field(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), field(t.ElemField()))
	case *arrow.StructType:
		var fields []arrow.Field
		for _, f := range t.Fields() {
			fields = append(fields, field(f))
		}
		return arrow.StructOf(fields...)
	}
	return t
}

// field gives the Arrow field of a node, with its label as metadata.
func (x *exporting) field(n *schema.Node, path string) (arrow.Field, error) {
	t, err := x.typeFor(n, path)
	f := arrow.Field{Name: n.Name, Type: t, Nullable: n.Nullable}
	if n.Ext != nil && (!n.IsTimeSpan() || x.Parquet) && !n.IsDecimal() && !n.IsDynamic() {
		f.Metadata = extensionMetadata(n.Ext)
	}
	return f, err
}

// typeFor gives the Arrow type of a node.
func (x *exporting) typeFor(n *schema.Node, path string) (arrow.DataType, error) {
	switch {
	case len(n.Children) > 0 || n.Basic == schema.Struct || n.Basic == schema.Union:
		return x.nestedType(n, path)
	case n.Basic == schema.DateTime:
		return &arrow.TimestampType{Unit: x.unit, TimeZone: "UTC"}, nil
	case n.IsTimeSpan() && x.Parquet:
		x.report.Add(path, "a span becomes an integer of 100 ns ticks, labelled KustoTimeSpan", 0)
		return arrow.PrimitiveTypes.Int64, nil
	case n.IsTimeSpan():
		return &arrow.DurationType{Unit: x.unit}, nil
	case n.IsDecimal():
		if x.Decimal != nil {
			return x.Decimal, nil
		}
		x.report.Add(path, "decimals become text (--decimal-as gives them a scale)", 0)
		return arrow.BinaryTypes.String, nil
	case n.IsDynamic() && x.Variants:
		return extensions.NewDefaultVariantType(), nil
	case n.IsDynamic():
		return extensions.NewJSONType(arrow.BinaryTypes.String)
	case n.Basic == schema.Guid && x.GuidAsString:
		return arrow.BinaryTypes.String, nil
	}
	return leaf(n), nil
}

func (x *exporting) nestedType(n *schema.Node, path string) (arrow.DataType, error) {
	if n.Basic == schema.Union && x.Parquet {
		return nil, fmt.Errorf("field %q: Parquet has no unions", path)
	}
	if len(n.Children) == 0 && n.Basic == schema.Struct && x.Parquet {
		return nil, fmt.Errorf("field %q: Parquet has no structs without fields", path)
	}
	if n.Basic == schema.Union && len(n.Children) > directVariants {
		return nil, fmt.Errorf("field %q: a union of %d variants, Arrow has at most %d: write it as NDJSON, or leave it out", path, len(n.Children), directVariants)
	}
	fields := make([]arrow.Field, len(n.Children))
	for i, c := range n.Children {
		name := (place{n: n, path: path}).child(i, sameRow).path
		f, err := x.field(c, name)
		if err != nil {
			return nil, err
		}
		fields[i] = f
	}
	switch n.Basic {
	case schema.List:
		fields[0].Name = "item"
		return arrow.LargeListOfField(fields[0]), nil
	case schema.FixedSizeList:
		fields[0].Name = "item"
		if x.Parquet {
			x.report.Add(path, "a fixed-size list becomes a list", 0)
			return arrow.LargeListOfField(fields[0]), nil
		}
		return arrow.FixedSizeListOfField(int32(n.FixedSize), fields[0]), nil
	case schema.Map:
		fields[0].Nullable = false
		return arrow.MapOfFields(fields[0], fields[1]), nil
	case schema.Union:
		return sparseUnion(fields), nil
	}
	return arrow.StructOf(fields...), nil
}

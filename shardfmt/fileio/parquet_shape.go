package fileio

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Parquet's types say more than the Arrow types that the library reads them as. What follows gives fields the types that the Parquet schema
// means: text for ENUM, marks of types that Arrow lacks at any depth, and lists and maps where old writers (parquet-avro, Hive, Thrift) left out a level:
//
//	repeated group array (LIST) { repeated int32 array; }     a list, not a struct of one
//	repeated group array (MAP) { repeated group map { … } }   a map

// parquetTypes gives the fields of a file their types by its Parquet schema, in whose order they are.
func parquetTypes(types *arrow.Schema, s *pqschema.Schema) *arrow.Schema {
	fields, metadata := types.Fields(), types.Metadata()
	root := s.Root()
	for i := range fields {
		if i < root.NumFields() {
			fields[i] = parquetField(root.Field(i), fields[i])
		}
	}
	return arrow.NewSchema(fields, &metadata)
}

// parquetField gives a field the type of its node. Where the library has made something else of the node than is expected here, the field
// stays as it is.
func parquetField(n pqschema.Node, f arrow.Field) arrow.Field {
	if n.RepetitionType() == parquet.Repetitions.Repeated { // a list by itself
		if l, ok := f.Type.(arrow.ListLikeType); ok {
			item := l.ElemField()
			item = parquetValue(n, item)
			f.Type = listLike(l, item)
		}
		return f
	}
	return parquetValue(n, f)
}

// parquetValue is parquetField for a node of which the repetition is taken off.
func parquetValue(n pqschema.Node, f arrow.Field) arrow.Field {
	g, ok := n.(*pqschema.GroupNode)
	switch {
	case !ok:
		return parquetLeaf(n, f)
	case isVariant(g):
		f.Type = parquetVariant(f.Type)
	case isList(g) && g.NumFields() == 1:
		if l, ok := f.Type.(arrow.ListLikeType); ok {
			f.Type = listLike(l, parquetItem(g, l.ElemField()))
		}
	case isMap(g) && g.NumFields() == 1:
		f.Type = parquetMap(g, f.Type)
	default:
		if s, ok := f.Type.(*arrow.StructType); ok && s.NumFields() == g.NumFields() {
			fields := s.Fields()
			for i := range fields {
				fields[i] = parquetField(g.Field(i), fields[i])
			}
			f.Type = arrow.StructOf(fields...)
		}
	}
	return f
}

func parquetLeaf(n pqschema.Node, f arrow.Field) arrow.Field {
	if p, ok := n.(*pqschema.PrimitiveNode); ok && p.PhysicalType() == parquet.Types.Int96 && f.Type.ID() == arrow.FIXED_SIZE_BINARY {
		f.Type = arrowtype.Int96
		return f
	}
	if _, enum := n.LogicalType().(pqschema.EnumLogicalType); enum && f.Type.ID() == arrow.BINARY {
		f.Type = arrow.BinaryTypes.String
	}
	if f.Type.ID() != arrow.EXTENSION {
		f.Metadata = arrowtype.MarkLogical(f.Metadata, n.LogicalType())
	}
	return f
}

func isList(n pqschema.Node) bool {
	_, ok := n.LogicalType().(pqschema.ListLogicalType)
	return ok
}

func isMap(n pqschema.Node) bool {
	_, ok := n.LogicalType().(pqschema.MapLogicalType)
	return ok || n.ConvertedType() == pqschema.ConvertedTypes.MapKeyValue
}

func isVariant(n pqschema.Node) bool {
	_, ok := n.LogicalType().(pqschema.VariantLogicalType)
	return ok
}

// readableSchema gives a schema for the library: variants whose metadata may be null, which it refuses, are mere groups, and INT96 below lists,
// maps and structs, of which it would make nanoseconds of 64 bits, are 12 bytes, as they are stored.
func readableSchema(s *pqschema.Schema) (*pqschema.Schema, error) {
	root, err := readableNode(s.Root(), 0)
	if err != nil || root == pqschema.Node(s.Root()) {
		return s, err
	}
	return pqschema.NewSchema(root.(*pqschema.GroupNode)), nil
}

// readableNode is readableSchema for a node, which so many others are above.
func readableNode(n pqschema.Node, depth int) (pqschema.Node, error) {
	g, ok := n.(*pqschema.GroupNode)
	if !ok {
		if n.(*pqschema.PrimitiveNode).PhysicalType() == parquet.Types.Int96 && (depth > 1 || n.RepetitionType() == parquet.Repetitions.Repeated) {
			return pqschema.NewPrimitiveNode(n.Name(), n.RepetitionType(), parquet.Types.FixedLenByteArray, n.FieldID(), int32(parquet.Int96SizeBytes))
		}
		return n, nil
	}
	fields, changed := make(pqschema.FieldList, g.NumFields()), false
	for i := range fields {
		f, err := readableNode(g.Field(i), depth+1)
		if err != nil {
			return nil, err
		}
		fields[i], changed = f, changed || f != g.Field(i)
	}
	at := g.FieldIndexByName("metadata")
	switch {
	case isVariant(g) && at >= 0 && g.Field(at).RepetitionType() == parquet.Repetitions.Optional, g.LogicalType().IsNone() && changed:
		return pqschema.NewGroupNode(g.Name(), g.RepetitionType(), fields, g.FieldID())
	case changed:
		return pqschema.NewGroupNodeLogical(g.Name(), g.RepetitionType(), fields, g.LogicalType(), g.FieldID())
	}
	return n, nil
}

// parquetVariant gives a struct that readableSchema left as such the type of variants.
func parquetVariant(t arrow.DataType) arrow.DataType {
	s, ok := t.(*arrow.StructType)
	if !ok {
		return t
	}
	fields := s.Fields()
	for i := range fields {
		if fields[i].Name == "metadata" {
			fields[i].Nullable = false
		}
	}
	if v, err := extensions.NewVariantType(arrow.StructOf(fields...)); err == nil {
		return v
	}
	return t
}

// listLike is a list of an item, of the kind of another.
func listLike(like arrow.ListLikeType, item arrow.Field) arrow.DataType {
	switch l := like.(type) {
	case *arrow.ListType:
		return arrow.ListOfField(item)
	case *arrow.LargeListType:
		return arrow.LargeListOfField(item)
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(l.Len(), item)
	}
	return like
}

// parquetItem gives the item of a list its type: the repeated node itself, or the only field of a repeated group that is a level alone.
func parquetItem(list *pqschema.GroupNode, item arrow.Field) arrow.Field {
	g, ok := list.Field(0).(*pqschema.GroupNode)
	switch {
	case !ok:
		return parquetLeaf(list.Field(0), item)
	case g.NumFields() == 1 && !namesItem(list, g):
		return parquetField(g.Field(0), item)
	}
	s, ok := item.Type.(*arrow.StructType)
	if !ok || s.NumFields() != g.NumFields() {
		return item
	}
	if inner, ok := s.Field(0).Type.(arrow.ListLikeType); ok && g.NumFields() == 1 && (isList(g) || isMap(g)) {
		if g.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
			return item
		}
		item.Nullable = false
		if isMap(g) {
			item.Type = parquetMap(g, inner)
		} else {
			item.Type = listLike(inner, innerItem(g, inner.ElemField()))
		}
		return item
	}
	return parquetValue(g, item)
}

// innerItem is parquetItem where the library took the list for a group, and so its repeated group for a struct.
func innerItem(list *pqschema.GroupNode, item arrow.Field) arrow.Field {
	g, ok := list.Field(0).(*pqschema.GroupNode)
	s, isStruct := item.Type.(*arrow.StructType)
	if ok && isStruct && g.NumFields() == 1 && s.NumFields() == 1 && !namesItem(list, g) && g.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
		return parquetValue(g.Field(0), s.Field(0))
	}
	return parquetItem(list, item)
}

// namesItem reports whether the repeated group of a list is its item by the names that writers gave to such groups.
func namesItem(list, repeated pqschema.Node) bool {
	return repeated.Name() == "array" || repeated.Name() == list.Name()+"_tuple"
}

// parquetMap gives a map its type, also one that the library took for a list of pairs.
func parquetMap(g *pqschema.GroupNode, t arrow.DataType) arrow.DataType {
	pair, ok := g.Field(0).(*pqschema.GroupNode)
	l, isList := t.(arrow.ListLikeType)
	if !ok || !isList || pair.NumFields() != 2 {
		return t
	}
	s, ok := l.Elem().(*arrow.StructType)
	if !ok || s.NumFields() != 2 || pair.Field(0).RepetitionType() != parquet.Repetitions.Required {
		return t
	}
	if _, large := t.(*arrow.LargeListType); large {
		return t
	}
	return arrow.MapOfFields(parquetField(pair.Field(0), s.Field(0)), parquetField(pair.Field(1), s.Field(1)))
}

// reshape gives an array a type that parquetTypes made of its own, or one of other names.
func reshape(a arrow.Array, to arrow.DataType) (arrow.Array, error) {
	if arrow.TypeEqual(a.DataType(), to, arrow.CheckMetadata()) {
		a.Retain()
		return a, nil
	}
	data, err := reshapeData(a.Data(), a.DataType(), to)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

func reshapeData(data arrow.ArrayData, from, to arrow.DataType) (arrow.ArrayData, error) {
	s, isStruct := from.(*arrow.StructType)
	if v, ok := to.(*extensions.VariantType); ok && isStruct {
		return variantData(data, s, v)
	}
	_, stays := to.(*arrow.StructType)
	if isStruct && !stays && s.NumFields() == 1 { // its only child takes its place
		child := array.NewSliceData(data.Children()[0], int64(data.Offset()), int64(data.Offset()+data.Len()))
		defer child.Release()
		return reshapeData(child, s.Field(0).Type, to)
	}
	var was, is []arrow.Field
	if n, ok := from.(arrow.NestedType); ok {
		was = n.Fields()
	}
	if n, ok := to.(arrow.NestedType); ok {
		is = n.Fields()
	}
	if len(was) != len(is) || len(data.Children()) < len(was) && len(was) > 0 {
		return nil, fmt.Errorf("values of %s, expected %s", from, to)
	}
	if e, ok := to.(arrow.ExtensionType); ok && from.ID() == arrow.EXTENSION {
		to = e
	}
	children := make([]arrow.ArrayData, len(was))
	for i := range was {
		c, err := reshapeData(data.Children()[i], was[i].Type, is[i].Type)
		if err != nil {
			return nil, err
		}
		defer c.Release()
		children[i] = c
	}
	if len(was) == 0 {
		children = data.Children()
	}
	out := array.NewData(to, data.Len(), data.Buffers(), children, data.NullN(), data.Offset())
	if d, ok := data.Dictionary().(*array.Data); ok && d != nil {
		out.SetDictionary(d)
	}
	return out, nil
}

// variantData gives structs the type of variants. Each that is not null has metadata.
func variantData(data arrow.ArrayData, from *arrow.StructType, to *extensions.VariantType) (arrow.ArrayData, error) {
	whole := array.NewStructData(data)
	defer whole.Release()
	if at, ok := from.FieldIdx("metadata"); ok {
		for i, metadata := 0, whole.Field(at); i < whole.Len(); i++ {
			if whole.IsValid(i) && metadata.IsNull(i) {
				return nil, errors.New("a variant without metadata")
			}
		}
	}
	return array.NewData(to, data.Len(), data.Buffers(), data.Children(), data.NullN(), data.Offset()), nil
}

// textForNulls makes Strings of columns, and of what is in them, that hold only nulls: whatever comes later may be
// text, and no table has a column without values.
func textForNulls(s *schema.Schema, r *arrowtype.Report) *schema.Schema {
	var change func(n *schema.Node, path string)
	change = func(n *schema.Node, path string) {
		if n.Basic == schema.Unit {
			n.Basic = schema.String
			r.Add(path, arrowtype.NullsBecomeString, 0)
		}
		for i, c := range n.Children {
			change(c, path+"."+childName(n, i))
		}
	}
	for _, f := range s.Fields {
		change(f, f.Name)
	}
	s.Number()
	return s
}

// checkColumns refuses a file with columns that its row groups lack: the library takes a group without fields for a column.
func checkColumns(p *file.Reader) error {
	s := p.MetaData().Schema
	for g := range p.NumRowGroups() {
		have := p.MetaData().RowGroup(g)
		for i := 0; have.NumColumns() < s.NumColumns(); i++ {
			var path string
			if i < have.NumColumns() {
				if c, err := have.ColumnChunk(i); err == nil {
					path = c.PathInSchema().String()
				}
			}
			if want := s.Column(i).Path(); path != want {
				return corrupt.Unsupported(-1, "column %q has no values in row group %d, as a group without fields has none: leave it out of the file", want, g)
			}
		}
	}
	return nil
}

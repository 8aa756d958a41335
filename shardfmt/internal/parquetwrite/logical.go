package parquetwrite

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// parquetSchema gives the Parquet schema of an Arrow schema, with the logical types that the metadata of its fields name.
func parquetSchema(s *arrow.Schema) (*pqschema.Schema, error) {
	types, err := pqarrow.ToParquet(s, storage, arrowProperties)
	if err != nil {
		return nil, err
	}
	root := types.Root()
	fields := make(pqschema.FieldList, s.NumFields())
	for i, f := range s.Fields() {
		if fields[i], err = logicalNode(root.Field(i), f); err != nil {
			return nil, err
		}
	}
	root, err = pqschema.NewGroupNode(root.Name(), root.RepetitionType(), fields, root.FieldID())
	if err != nil {
		return nil, err
	}
	return pqschema.NewSchema(root), nil
}

// logicalNode gives a node, and those below it, the logical types that a field names. A type that a leaf can't have is left out.
func logicalNode(n pqschema.Node, f arrow.Field) (pqschema.Node, error) {
	leaf, ok := n.(*pqschema.PrimitiveNode)
	if ok {
		t := arrowtype.LogicalType(f.Metadata, leaf.LogicalType())
		if t == nil || !t.IsApplicable(leaf.PhysicalType(), int32(leaf.TypeLength())) {
			return n, nil
		}
		return pqschema.NewPrimitiveNodeLogical(leaf.Name(), leaf.RepetitionType(), t, leaf.PhysicalType(), leaf.TypeLength(), leaf.FieldID())
	}
	group := n.(*pqschema.GroupNode)
	switch t := f.Type.(type) {
	case *arrow.DictionaryType:
		f.Type = t.ValueType
		return logicalNode(n, f)
	case *arrow.StructType:
		return logicalGroup(group, t.Fields())
	case *arrow.MapType:
		return logicalRepeated(group, t.KeyField(), t.ItemField())
	case arrow.ListLikeType:
		return logicalRepeated(group, t.ElemField())
	}
	return n, nil
}

// logicalRepeated is logicalNode for a group around a repeated one, which has the fields.
func logicalRepeated(g *pqschema.GroupNode, fields ...arrow.Field) (pqschema.Node, error) {
	repeated, ok := g.Field(0).(*pqschema.GroupNode)
	if !ok || repeated.NumFields() != len(fields) {
		return g, nil
	}
	inner, err := logicalGroup(repeated, fields)
	if err != nil {
		return nil, err
	}
	return withFields(g, pqschema.FieldList{inner})
}

// logicalGroup is logicalNode for a group of so many fields.
func logicalGroup(g *pqschema.GroupNode, fields []arrow.Field) (pqschema.Node, error) {
	nodes := make(pqschema.FieldList, len(fields))
	for i, f := range fields {
		var err error
		if nodes[i], err = logicalNode(g.Field(i), f); err != nil {
			return nil, err
		}
	}
	return withFields(g, nodes)
}

// withFields is a group with other fields.
func withFields(g *pqschema.GroupNode, fields pqschema.FieldList) (pqschema.Node, error) {
	if g.LogicalType().IsNone() {
		return pqschema.NewGroupNode(g.Name(), g.RepetitionType(), fields, g.FieldID())
	}
	return pqschema.NewGroupNodeLogical(g.Name(), g.RepetitionType(), fields, g.LogicalType(), g.FieldID())
}

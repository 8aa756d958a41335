package fileio

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Group gives the records of a source with some fields gathered in structs: those named become the fields of a new Struct, which
// is never null and takes the place of the first of them. A name that a field has already is left as it is, so a group may also
// name a struct of the source's. The source is closed with what is returned.
//
// Structs of fields that are read together can be written as packed groups, see shardfmt.WriterOptions.Pack.
func Group(src Source, groups map[string][]string) (Source, error) {
	g := &grouped{Source: src}
	fields := src.Schema().Fields
	places := make(map[string][]int)
	taken := make(map[int]string)
	for name, members := range groups {
		if slices.ContainsFunc(fields, func(n *schema.Node) bool { return n.Name == name }) {
			continue
		}
		for _, member := range members {
			i := slices.IndexFunc(fields, func(n *schema.Node) bool { return n.Name == member })
			if i < 0 {
				return nil, fmt.Errorf("group %s: no such field %q", name, member)
			}
			if other, ok := taken[i]; ok {
				return nil, fmt.Errorf("group %s: field %q is in group %s already", name, member, other)
			}
			taken[i] = name
			places[name] = append(places[name], i)
		}
		if len(members) == 0 {
			return nil, fmt.Errorf("group %s: no such struct field; list its fields as GROUP=a,b,c", name)
		}
	}
	if len(places) == 0 {
		return src, nil
	}
	g.schema = &schema.Schema{}
	done := make(map[string]bool)
	for i, n := range fields {
		name, in := taken[i]
		if done[name] {
			continue
		}
		if !in {
			g.from = append(g.from, []int{i})
			g.schema.Fields = append(g.schema.Fields, n)
			continue
		}
		done[name] = true
		group := &schema.Node{Name: name, Basic: schema.Struct, Nullable: true}
		for _, k := range places[name] {
			group.Children = append(group.Children, fields[k])
		}
		g.from = append(g.from, places[name])
		g.schema.Fields = append(g.schema.Fields, group)
	}
	g.schema.Number()
	g.types = arrowtype.Schema(g.schema)
	return g, nil
}

// grouped is a source some of whose fields are gathered in structs.
type grouped struct {
	Source
	schema *schema.Schema
	types  *arrow.Schema
	// from are the columns of the source that a field is made of.
	from [][]int
}

func (g *grouped) Schema() *schema.Schema { return g.schema }

// RowName names a row as the source does.
func (g *grouped) RowName(row int64) string {
	if n, ok := g.Source.(interface{ RowName(row int64) string }); ok {
		return n.RowName(row)
	}
	return ""
}

func (g *grouped) Next(ctx context.Context) (arrow.RecordBatch, error) {
	batch, err := g.Source.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	columns := make([]arrow.Array, len(g.from))
	for i, f := range g.types.Fields() {
		typ, ok := f.Type.(*arrow.StructType)
		if from := g.from[i]; !ok || len(from) == 1 && g.schema.Fields[i].Name == batch.Schema().Field(from[0]).Name {
			columns[i] = batch.Column(from[0])
			continue
		}
		children := make([]arrow.ArrayData, len(g.from[i]))
		for k, from := range g.from[i] {
			children[k] = batch.Column(from).Data()
		}
		columns[i] = array.MakeFromData(array.NewData(typ, int(batch.NumRows()), []*memory.Buffer{nil}, children, 0, 0))
	}
	return array.NewRecordBatch(g.types, columns, batch.NumRows()), nil
}

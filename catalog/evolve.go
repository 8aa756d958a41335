package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// AddColumns adds the fields of s that the table lacks, by name, as nullable columns at its end, and members that its structs lack,
// those in lists and maps among them, at the end of these. Shards written before have nulls there. Fields that a column of the
// same name has no space for, as members of a number, are not added.
func (t *Table) AddColumns(ctx context.Context, s *schema.Schema) error {
	return t.alter(ctx, func(a *alteration) error {
		last := t.ice.Metadata().LastColumnID()
		for _, m := range t.missingFields(s) {
			more, notes, err := manifest.ToIceberg(&schema.Schema{Fields: []*schema.Node{m.field}}, last)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrInvalid, err)
			}
			last = more.HighestFieldID()
			maps.Copy(a.notes, notes)
			if m.parent == 0 {
				a.fields = append(a.fields, more.Fields()...)
				continue
			}
			err = a.field(m.parent, func(f *iceberg.NestedField) error {
				of, ok := f.Type.(*iceberg.StructType)
				if !ok {
					return fmt.Errorf("%w: field %q is of type %s: members are added to structs", ErrInvalid, f.Name, f.Type)
				}
				f.Type = &iceberg.StructType{FieldList: append(slices.Clone(of.FieldList), more.Fields()...)}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// missingField is a field that the table lacks, and the field id of the struct that it is a member of, 0 for a column.
type missingField struct {
	field  *schema.Node
	parent int
}

func (t *Table) missingFields(s *schema.Schema) (out []missingField) {
	ids := t.schema.ByName(s)
	basics := map[int]schema.Basic{}
	t.schema.Shard.Walk(func(_ string, n *schema.Node) bool {
		basics[t.schema.IDs[n.ID]] = n.Basic
		return true
	})
	var visit func(nodes []*schema.Node, parent int)
	visit = func(nodes []*schema.Node, parent int) {
		for _, n := range nodes {
			switch id := ids[n.ID]; {
			case id == 0:
				field := *n
				field.Nullable = true
				out = append(out, missingField{&field, parent})
			case basics[id] == n.Basic && n.Basic != schema.Union:
				visit(n.Children, id)
			}
		}
	}
	visit(s.Columns(), 0)
	return out
}

package catalog

import (
	"context"
	"fmt"
	"maps"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// AddColumns adds the fields of s that the table lacks, by name, as nullable columns at its end. Shards written
// before have nulls there. That there is nothing to add is no error.
func (t *Table) AddColumns(ctx context.Context, s *schema.Schema) error {
	return t.update(ctx, func() (*metaUpdate, error) {
		missing := t.missingFields(s)
		if len(missing) == 0 {
			return nil, nil
		}
		updates, err := t.addColumns(missing)
		if err != nil {
			return nil, err
		}
		return &metaUpdate{
			requirements: []table.Requirement{
				table.AssertCurrentSchemaID(t.ice.Schema().ID), table.AssertLastAssignedFieldID(t.ice.Metadata().LastColumnID()),
			},
			updates: updates,
			done:    func(table.Metadata) bool { return len(t.missingFields(s)) == 0 },
		}, nil
	})
}

func (t *Table) missingFields(s *schema.Schema) []*schema.Node {
	ids := t.schema.ByName(s)
	var out []*schema.Node
	for _, f := range manifest.Columns(s) {
		if ids[f.ID] == 0 {
			field := *f
			field.Nullable = true
			out = append(out, &field)
		}
	}
	return out
}

// addColumns makes the updates of a schema with more fields.
func (t *Table) addColumns(fields []*schema.Node) ([]table.Update, error) {
	more, notes, err := manifest.ToIcebergFrom(&schema.Schema{Fields: fields}, t.ice.Metadata().LastColumnID())
	if err != nil {
		return nil, err
	}
	next := iceberg.NewSchemaWithIdentifiers(t.ice.Schema().ID+1, t.ice.Schema().IdentifierFieldIDs,
		append(t.ice.Schema().Fields(), more...)...)
	if err := manifest.CheckSize(next); err != nil {
		return nil, fmt.Errorf("%w: table %s: %w", ErrInvalid, t.name, err)
	}
	updates := []table.Update{table.NewAddSchemaUpdate(next), table.NewSetCurrentSchemaUpdate(-1)}
	if len(notes) > 0 {
		all, err := manifest.ParseTypeNotes(t.Properties()[manifest.TypesProperty])
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = manifest.TypeNotes{}
		}
		maps.Copy(all, notes)
		updates = append(updates, table.NewSetPropertiesUpdate(iceberg.Properties{manifest.TypesProperty: all.Encode()}))
	}
	return updates, nil
}

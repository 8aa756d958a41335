package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// guardedProperties hold the table together and are not the caller's to change: the settings of tables of shards, and
// what this package keeps for itself.
var guardedProperties = append([]string{manifest.TypesProperty, AdoptedProperty, adoptedNamesProperty, undoneProperty, keyindex.Property, columnsProperty}, protectedSettings...)

// propertyUpdates are the updates that bring one property to a value, the empty one by taking it away; none if it has it.
func propertyUpdates(is iceberg.Properties, name, want string) []table.Update {
	switch want {
	case is[name]:
		return nil
	case "":
		return []table.Update{table.NewRemovePropertiesUpdate([]string{name})}
	}
	return []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{name: want})}
}

// SetProperties sets and removes properties of the table in one commit. That a property has its value already, or is not there to
// be removed, is no error. Properties on which the safety of the table's shards rests are refused: ErrUnsafe.
func (t *Table) SetProperties(ctx context.Context, set map[string]string, remove []string) error {
	for _, key := range slices.Concat(slices.Collect(maps.Keys(set)), remove) {
		if slices.Contains(guardedProperties, key) {
			return fmt.Errorf("%w: property %s protects the table's shards", ErrUnsafe, key)
		}
	}
	if err := checkProperties(set, t.schema.Shard); err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	return t.update(ctx, func() (*metaUpdate, error) {
		columns, named := t.columnsWith(set, remove)
		done := func(meta table.Metadata) bool {
			is := meta.Properties()
			for key, want := range set {
				if v, ok := is[key]; !ok || v != want {
					return false
				}
			}
			return is[columnsProperty] == columns && !slices.ContainsFunc(remove, func(key string) bool { _, ok := is[key]; return ok })
		}
		if done(t.ice.Metadata()) {
			return nil, nil
		}
		u := &metaUpdate{done: done}
		if named { // by the schema as it is
			u.requirements = append(u.requirements, table.AssertCurrentSchemaID(t.ice.Metadata().CurrentSchema().ID))
		}
		u.updates = propertyUpdates(t.ice.Properties(), columnsProperty, columns)
		if len(set) > 0 {
			u.updates = append(u.updates, table.NewSetPropertiesUpdate(iceberg.Properties(set)))
		}
		if len(remove) > 0 {
			u.updates = append(u.updates, table.NewRemovePropertiesUpdate(remove))
		}
		return u, nil
	})
}

// checkProperties refuses values that are not readable of properties that are read later: ErrInvalid. Package compaction checks its own.
func checkProperties(set map[string]string, s *schema.Schema) error {
	_, retention := parseRetention(set[RetentionProperty])
	_, memory := parseJobMemory(set[JobMemoryProperty])
	return cmp.Or(retention, memory, checkCodec(set), checkIndexes(set, s))
}

// columnsWith is columnsProperty as it is after a change of properties; named reports whether those that are set name columns.
func (t *Table) columnsWith(set map[string]string, remove []string) (text string, named bool) {
	all := maps.Clone(t.ice.Properties())
	if all == nil {
		all = iceberg.Properties{}
	}
	noted := columnIDs(all)
	for _, key := range slices.Concat(slices.Collect(maps.Keys(set)), remove) {
		_, names := namings[key]
		_, sets := set[key]
		named = named || names && sets
		delete(noted, key) // its text means the columns as they are called now
		delete(all, key)
	}
	if b, err := json.Marshal(noted); err == nil {
		all[columnsProperty] = string(b)
	}
	maps.Copy(all, set)
	return noteColumns(all, t.schema), named
}

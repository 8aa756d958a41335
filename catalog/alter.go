package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// alteration is a change of a table's columns in the making. Columns are found by path once and changed by field id:
// shards of all ages keep theirs.
type alteration struct {
	table  *Table
	fields []iceberg.NestedField
	notes  manifest.TypeNotes
	// requirements besides the schema's own.
	requirements []table.Requirement
	// unusedSpecs are partition specs that go with the change.
	unusedSpecs []int
}

// alter commits a change of the table's columns. Shards are not touched.
func (t *Table) alter(ctx context.Context, change func(*alteration) error) error {
	return t.update(ctx, func() (*metaUpdate, error) {
		var notes manifest.TypeNotes
		if err := notes.Decode(t.Properties()[manifest.TypesProperty]); err != nil {
			return nil, err
		}
		a := &alteration{table: t, fields: slices.Clone(t.ice.Schema().Fields()), notes: maps.Clone(notes)}
		if a.notes == nil {
			a.notes = manifest.TypeNotes{}
		}
		if err := change(a); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		return a.update()
	})
}

// update is the commit that makes the alteration; nil if it changes nothing.
func (a *alteration) update() (*metaUpdate, error) {
	meta := a.table.ice.Metadata()
	was := meta.CurrentSchema()
	id := 0
	for _, s := range meta.Schemas() {
		id = max(id, s.ID+1)
	}
	next := iceberg.NewSchemaWithIdentifiers(id, was.IdentifierFieldIDs, a.fields...)
	u := &metaUpdate{requirements: append(a.requirements,
		table.AssertCurrentSchemaID(was.ID), table.AssertLastAssignedFieldID(meta.LastColumnID()))}
	if !next.Equals(was) {
		if err := manifest.CheckSize(next); err != nil {
			return nil, fmt.Errorf("%w: table %s: %w", ErrInvalid, a.table.name, err)
		}
		if len(a.unusedSpecs) > 0 {
			u.updates = append(u.updates, table.NewRemoveSpecUpdate(a.unusedSpecs))
		}
		u.updates = append(u.updates, schemaUpdates(meta, next)...)
	}
	text, columns := a.notes.Encode(), noteColumns(a.table.ice.Properties(), a.table.schema)
	if len(u.updates) > 0 { // names that properties and adopted shards have for columns may change their meaning
		u.updates = append(u.updates, propertyUpdates(meta.Properties(), columnsProperty, columns)...)
		names, err := a.adoptedNames(u, was, next)
		if err != nil {
			return nil, err
		}
		u.updates = append(u.updates, propertyUpdates(meta.Properties(), adoptedNamesProperty, names)...)
	}
	u.updates = append(u.updates, propertyUpdates(meta.Properties(), manifest.TypesProperty, text)...)
	u.done = func(meta table.Metadata) bool {
		return next.Equals(meta.CurrentSchema()) && meta.Properties()[manifest.TypesProperty] == text
	}
	if len(u.updates) == 0 {
		return nil, nil
	}
	return u, nil
}

// adoptedNames is adoptedNamesProperty after a change of the schema. Shards that other programs wrote carry no field ids.
func (a *alteration) adoptedNames(u *metaUpdate, was, next *iceberg.Schema) (string, error) {
	properties := a.table.ice.Properties()
	var names manifest.AdoptedNames
	if err := names.Decode(properties[adoptedNamesProperty]); err != nil {
		return "", fmt.Errorf("table %s: property %s: %w", a.table.name, adoptedNamesProperty, err)
	}
	if changed := (manifest.AdoptedNames{}); changed.NoteChanged(was, next) { // a shard may be adopted meanwhile
		var head *int64
		if id := a.table.head(""); id != 0 {
			head = &id
		}
		u.requirements = append(u.requirements, table.AssertRefSnapshotID(table.MainBranch, head))
	}
	if names == nil && properties[AdoptedProperty] != "" { // by an earlier version
		names = manifest.AdoptedNames{}
	}
	if names != nil {
		names.NoteChanged(was, next)
	}
	return names.Encode(), nil
}

// schemaUpdates make a schema the current one; one that the table had before keeps its id.
func schemaUpdates(meta table.Metadata, next *iceberg.Schema) []table.Update {
	for _, s := range meta.Schemas() {
		if next.Equals(s) {
			return []table.Update{table.NewSetCurrentSchemaUpdate(s.ID)}
		}
	}
	return []table.Update{table.NewAddSchemaUpdate(next), table.NewSetCurrentSchemaUpdate(-1)}
}

// column finds a column, or a member of one, by its dotted path. What lies in a union can't be altered.
func (a *alteration) column(path string) (*schema.Node, int, error) {
	n, err := a.table.schema.Shard.Lookup(path)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	above := projection.PathTo(a.table.schema.Shard.Fields, n)
	for _, p := range above[:len(above)-1] {
		if p.Basic == schema.Union {
			return nil, 0, fmt.Errorf("%w: %q is in the union %q, whose variants can't be altered", ErrInvalid, path, p.Name)
		}
	}
	return n, a.table.schema.IDs[n.ID], nil
}

// edit changes the fields among which the one with the given id stands.
func (a *alteration) edit(id int, change func(siblings []iceberg.NestedField, i int) ([]iceberg.NestedField, error)) error {
	fields, found, err := editFields(a.fields, id, change)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: field %d is not a column that can be altered (the key of a map?)", ErrInvalid, id)
	}
	a.fields = fields
	return nil
}

// field changes one field in its place.
func (a *alteration) field(id int, change func(*iceberg.NestedField) error) error {
	return a.edit(id, func(siblings []iceberg.NestedField, i int) ([]iceberg.NestedField, error) {
		out := slices.Clone(siblings)
		return out, change(&out[i])
	})
}

type fieldEdit func([]iceberg.NestedField, int) ([]iceberg.NestedField, error)

func editFields(fields []iceberg.NestedField, id int, change fieldEdit) ([]iceberg.NestedField, bool, error) {
	for i, f := range fields {
		if f.ID == id {
			out, err := change(fields, i)
			return out, true, err
		}
		typ, found, err := editType(f.Type, id, change)
		if found || err != nil {
			out := slices.Clone(fields)
			out[i].Type = typ
			return out, true, err
		}
	}
	return nil, false, nil
}

func editType(t iceberg.Type, id int, change fieldEdit) (iceberg.Type, bool, error) {
	switch t := t.(type) {
	case *iceberg.StructType:
		fields, found, err := editFields(t.FieldList, id, change)
		return &iceberg.StructType{FieldList: fields}, found, err
	case *iceberg.ListType:
		f, found, err := editFields([]iceberg.NestedField{t.ElementField()}, id, change)
		if !found || err != nil || len(f) != 1 {
			return nil, found, onlyOne(f, err)
		}
		return &iceberg.ListType{ElementID: t.ElementID, Element: f[0].Type, ElementRequired: f[0].Required}, true, nil
	case *iceberg.MapType:
		f, found, err := editFields([]iceberg.NestedField{t.ValueField()}, id, change)
		if !found || err != nil || len(f) != 1 {
			return nil, found, onlyOne(f, err)
		}
		return &iceberg.MapType{
			KeyID: t.KeyID, KeyType: t.KeyType, ValueID: t.ValueID, ValueType: f[0].Type, ValueRequired: f[0].Required,
		}, true, nil
	}
	return nil, false, nil
}

// onlyOne refuses to add to, or take from, what lists and maps hold.
func onlyOne(f []iceberg.NestedField, err error) error {
	if err == nil && f != nil {
		return fmt.Errorf("%w: lists and maps hold one type of values", ErrInvalid)
	}
	return err
}

// named is the place of a name among fields, -1 if none has it.
func named(fields []iceberg.NestedField, name string) int {
	return slices.IndexFunc(fields, func(f iceberg.NestedField) bool { return f.Name == name })
}

func checkFreeName(fields []iceberg.NestedField, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: a column needs a name", ErrInvalid)
	case named(fields, name) >= 0:
		return fmt.Errorf("%w: column %q", ErrExists, name)
	}
	return nil
}

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

// Repartition gives the table other partition fields, in the grammar of CreateOptions.Partition; none make it
// unpartitioned. Shards written before keep the partitions that they have, and are found by them.
func (t *Table) Repartition(ctx context.Context, fields []string) error {
	return t.update(ctx, func() (*metaUpdate, error) {
		asked, err := parsePartition(fields, t.schema)
		if err != nil {
			return nil, err
		}
		meta := t.ice.Metadata()
		spec := t.numbered(fieldsOf(asked))
		u := &metaUpdate{requirements: []table.Requirement{table.AssertDefaultSpecID(meta.DefaultPartitionSpec())}}
		if last := meta.LastPartitionSpecID(); last != nil {
			u.requirements = append(u.requirements, table.AssertLastAssignedPartitionID(*last))
		}
		u.done = func(meta table.Metadata) bool {
			is := meta.PartitionSpec()
			return sameFields(&is, &spec)
		}
		if u.done(meta) {
			return nil, nil
		}
		for _, s := range meta.PartitionSpecs() {
			if sameFields(&s, &spec) {
				u.updates = []table.Update{table.NewSetDefaultSpecUpdate(s.ID())}
				return u, nil
			}
		}
		u.updates = []table.Update{table.NewAddPartitionSpecUpdate(&spec, false), table.NewSetDefaultSpecUpdate(-1)}
		return u, nil
	})
}

func fieldsOf(spec *iceberg.PartitionSpec) (out []iceberg.PartitionField) {
	for _, f := range spec.Fields() {
		out = append(out, f)
	}
	return out
}

// numbered makes a spec of fields: one that an earlier spec had keeps its number, the others get new ones.
func (t *Table) numbered(fields []iceberg.PartitionField) iceberg.PartitionSpec {
	meta := t.ice.Metadata()
	next, id := firstPartitionID, 0
	if last := meta.LastPartitionSpecID(); last != nil {
		next = max(next, *last+1)
	}
	for _, s := range meta.PartitionSpecs() {
		id = max(id, s.ID()+1)
	}
	for i := range fields {
		fields[i].FieldID = 0
		for _, s := range meta.PartitionSpecs() {
			for _, f := range s.Fields() {
				if f.SourceID() == fields[i].SourceID() && f.Transform.Equals(fields[i].Transform) {
					fields[i].FieldID = f.FieldID
					if others := slices.Delete(slices.Clone(fields), i, i+1); !nameTaken(t.schema, f, others) {
						fields[i].Name = f.Name // else a column that came later has it
					}
				}
			}
		}
		if fields[i].FieldID == 0 {
			fields[i].FieldID = next
			next++
		}
	}
	return iceberg.NewPartitionSpecID(id, fields...)
}

func sameFields(a, b *iceberg.PartitionSpec) bool {
	return slices.EqualFunc(fieldsOf(a), fieldsOf(b), func(x, y iceberg.PartitionField) bool {
		return x.FieldID == y.FieldID && x.SourceID() == y.SourceID() && x.Transform.Equals(y.Transform)
	})
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// AddColumn adds a column at the end of the table, or of the struct that the path leads through: "s.member",
// "list.item.member". Rows of older shards have null there, so it must be nullable.
func (t *Table) AddColumn(ctx context.Context, path string, column *schema.Node) error {
	return t.alter(ctx, func(a *alteration) error {
		if !column.Nullable && t.head("") != 0 {
			return fmt.Errorf("%w: the new column %q must be nullable, because existing rows have no value for it", ErrInvalid, path)
		}
		if !column.Nullable {
			a.requirements = append(a.requirements, table.AssertRefSnapshotID(table.MainBranch, nil))
		}
		names := schema.SplitPath(path)
		own := *column
		own.Name = names[len(names)-1]
		more, notes, err := manifest.ToIceberg(&schema.Schema{Fields: []*schema.Node{&own}}, t.ice.Metadata().LastColumnID())
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		for id, note := range notes {
			a.notes[id] = note
		}
		if len(names) == 1 {
			a.fields = append(a.fields, more.Fields()...)
			return checkFreeName(a.fields[:len(a.fields)-1], own.Name)
		}
		return a.addTo(schema.JoinPath(names[:len(names)-1]...), more.Field(0))
	})
}

// addTo adds a member to a struct.
func (a *alteration) addTo(parent string, member iceberg.NestedField) error {
	n, id, err := a.column(parent)
	if err != nil {
		return err
	}
	if n.Basic != schema.Struct {
		return fmt.Errorf("%w: %q is of type %s; members are added to structs", ErrInvalid, parent, n.BareType())
	}
	return a.field(id, func(f *iceberg.NestedField) error {
		members := f.Type.(*iceberg.StructType).FieldList
		f.Type = &iceberg.StructType{FieldList: append(slices.Clone(members), member)}
		return checkFreeName(members, member.Name)
	})
}

// DropColumn removes a column. Shards keep its values until they are rewritten, and nobody sees them; a column added
// under its name later is another one.
func (t *Table) DropColumn(ctx context.Context, path string) error {
	return t.alter(ctx, func(a *alteration) error {
		n, id, err := a.column(path)
		if err != nil {
			return err
		}
		if err := a.checkUnpartitioned(ctx, n, "dropped"); err != nil {
			return err
		}
		return a.edit(id, func(siblings []iceberg.NestedField, i int) ([]iceberg.NestedField, error) {
			if len(siblings) == 1 {
				return nil, fmt.Errorf("%w: %q is the only one of its fields", ErrInvalid, path)
			}
			return slices.Delete(slices.Clone(siblings), i, i+1), nil
		})
	})
}

// checkUnpartitioned refuses a change of columns that partitions are made of, now or in older specs that something of a retained snapshot
// has, and to drop one that the sort order or the policy of compaction names. Older specs that nothing has any more are removed with the
// change.
func (a *alteration) checkUnpartitioned(ctx context.Context, n *schema.Node, verb string) error {
	var below []int
	var visit func(*schema.Node)
	visit = func(n *schema.Node) {
		below = append(below, a.table.schema.IDs[n.ID])
		for _, c := range n.Children {
			visit(c)
		}
	}
	visit(n)
	if verb == "dropped" {
		if err := a.table.checkUnnamed(n, below); err != nil {
			return err
		}
	}
	order := a.table.ice.Metadata().SortOrder()
	for _, f := range order.Fields() {
		if verb == "dropped" && slices.Contains(below, f.SourceID()) {
			return fmt.Errorf("%w: column %q can't be dropped: the table is sorted by it; declare another order first", ErrInvalid, n.Name)
		}
	}
	for _, spec := range a.table.ice.Metadata().PartitionSpecs() {
		for _, f := range spec.Fields() {
			if !slices.Contains(below, f.SourceID()) || slices.Contains(a.unusedSpecs, spec.ID()) {
				continue
			}
			if err := a.checkUnusedSpec(ctx, spec.ID()); err != nil {
				return fmt.Errorf("%w: column %q can't be %s: partition field %q is made of it, and %w", ErrInvalid, n.Name, verb, f.Name, err)
			}
			a.unusedSpecs = append(a.unusedSpecs, spec.ID())
		}
	}
	return nil
}

// checkUnusedSpec reports what has a partition spec: the table, a retained snapshot, or shards that wait to be committed.
func (a *alteration) checkUnusedSpec(ctx context.Context, id int) error {
	t := a.table.within(ctx)
	if id == t.ice.Metadata().DefaultPartitionSpec() {
		return errors.New("the table is partitioned by it")
	}
	// Snapshots that are added meanwhile have the default spec, or what their parents have.
	for name, ref := range t.ice.Metadata().Refs() {
		a.requirements = append(a.requirements, table.AssertRefSnapshotID(name, &ref.SnapshotID))
	}
	for _, s := range t.ice.Metadata().Snapshots() {
		manifests, err := s.Manifests(t.fs)
		if err != nil {
			return err
		}
		for _, m := range manifests {
			if int(m.PartitionSpecID()) == id && m.HasAddedFiles() || int(m.PartitionSpecID()) == id && m.HasExistingFiles() {
				return fmt.Errorf("snapshot %d has shards of it; rebuild them (compact --mode rebuild) and expire older snapshots", s.SnapshotID)
			}
		}
	}
	jobs, err := t.jobFolder().States(ctx, "", false)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.Kind == jobWrite {
			return fmt.Errorf("job %s has written shards that may have it; commit or discard them first", j.ID)
		}
	}
	return nil
}

// RenameColumn gives a column another name. path names the column as it is, name is its new last part.
func (t *Table) RenameColumn(ctx context.Context, path, name string) error {
	return t.alter(ctx, func(a *alteration) error {
		_, id, err := a.column(path)
		if err != nil {
			return err
		}
		return a.edit(id, func(siblings []iceberg.NestedField, i int) ([]iceberg.NestedField, error) {
			out := slices.Clone(siblings)
			if out[i].Name == name {
				return out, nil
			}
			out[i].Name = name
			return out, checkFreeName(siblings, name)
		})
	})
}

// WidenColumn gives a column a type that holds all its values: a wider integer, Float64 for Float32. Iceberg's rules
// hold too: its int becomes a long, its float a double.
func (t *Table) WidenColumn(ctx context.Context, path string, to *schema.Node) error {
	return t.alter(ctx, func(a *alteration) error {
		n, id, err := a.column(path)
		if err != nil {
			return err
		}
		wider := *to
		wider.Name, wider.Nullable, wider.Aliases, wider.Doc = n.Name, n.Nullable, n.Aliases, n.Doc
		mapped, _, err := manifest.ToIceberg(&schema.Schema{Fields: []*schema.Node{&wider}}, id-1)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if n.Basic >= schema.List || !n.WidensTo(&wider) {
			return fmt.Errorf("%w: column %q of type %s can't become %s, which does not hold all its values", ErrInvalid, path,
				n.BareType(), wider.BareType())
		}
		return a.field(id, func(f *iceberg.NestedField) error {
			if !f.Type.Equals(mapped.Field(0).Type) {
				if _, err := iceberg.PromoteType(f.Type, mapped.Field(0).Type); err != nil {
					return fmt.Errorf("%w: column %q: Iceberg's %s can't become %s", ErrInvalid, path, f.Type, mapped.Field(0).Type)
				}
				if err := a.checkUnpartitioned(ctx, n, "widened"); err != nil {
					return err
				}
			}
			f.Type = mapped.Field(0).Type
			return a.note(&wider, *f)
		})
	})
}

// note keeps what Iceberg's type does not state about a column.
func (a *alteration) note(n *schema.Node, f iceberg.NestedField) error {
	notes, err := manifest.NotesFor(&schema.Schema{Fields: []*schema.Node{n}}, iceberg.NewSchema(0, f))
	delete(a.notes, f.ID)
	for id, note := range notes {
		a.notes[id] = note
	}
	return err
}

// MoveColumn moves a column behind another one of the same struct, or to the first place if after is empty.
func (t *Table) MoveColumn(ctx context.Context, path, after string) error {
	return t.alter(ctx, func(a *alteration) error {
		_, id, err := a.column(path)
		if err != nil {
			return err
		}
		behind := 0
		if after != "" {
			if _, behind, err = a.column(after); err != nil {
				return err
			}
		}
		return a.edit(id, func(siblings []iceberg.NestedField, i int) ([]iceberg.NestedField, error) {
			out := slices.Delete(slices.Clone(siblings), i, i+1)
			to := 0
			if after != "" {
				to = 1 + slices.IndexFunc(out, func(f iceberg.NestedField) bool { return f.ID == behind })
			}
			if after != "" && to == 0 {
				return nil, fmt.Errorf("%w: %q and %q are not members of the same struct", ErrInvalid, after, path)
			}
			return slices.Insert(out, to, siblings[i]), nil
		})
	})
}

// CommentColumn sets what a column's documentation states, "" for nothing.
func (t *Table) CommentColumn(ctx context.Context, path, text string) error {
	return t.alterField(ctx, path, func(f *iceberg.NestedField) error {
		f.Doc = text
		return nil
	})
}

// OptionalColumn lets a column be null.
func (t *Table) OptionalColumn(ctx context.Context, path string) error {
	return t.alterField(ctx, path, func(f *iceberg.NestedField) error {
		f.Required = false
		return nil
	})
}

func (t *Table) alterField(ctx context.Context, path string, change func(*iceberg.NestedField) error) error {
	return t.alter(ctx, func(a *alteration) error {
		_, id, err := a.column(path)
		if err != nil {
			return err
		}
		return a.field(id, change)
	})
}

// RequireColumn forbids nulls in a column of the table, if no row of any branch has one; a row that has one is named.
func (t *Table) RequireColumn(ctx context.Context, path string) error {
	var checked []string
	err := t.alter(ctx, func(a *alteration) error {
		n, id, err := a.column(path)
		if err != nil {
			return err
		}
		if projection.PathTo(t.schema.Shard.Fields, n)[0] != n {
			return fmt.Errorf("%w: %q is a nested field; only top-level columns can be required", ErrInvalid, path)
		}
		checked = nil
		for _, ref := range t.Refs() {
			if ref.Type != RefBranch {
				continue
			}
			a.requirements = append(a.requirements, table.AssertRefSnapshotID(ref.Name, &ref.SnapshotID))
			if err := t.checkNoNulls(ctx, ref.Name, n); err != nil {
				return err
			}
			checked = append(checked, ref.Name)
		}
		return a.field(id, func(f *iceberg.NestedField) error {
			f.Required = true
			return nil
		})
	})
	if err != nil {
		return err
	}
	return t.checkNewBranches(ctx, path, checked)
}

// checkNewBranches looks at branches that were made between the check of the others and the commit that required a column: there is
// no condition for a commit that none was. Branches that are made after it are checked by who makes them.
func (t *Table) checkNewBranches(ctx context.Context, path string, checked []string) error {
	n, err := t.schema.Shard.Lookup(path)
	if err != nil {
		return err
	}
	for _, ref := range t.Refs() {
		if ref.Type != RefBranch || slices.Contains(checked, ref.Name) {
			continue
		}
		if err := t.checkNoNulls(ctx, ref.Name, n); err != nil {
			return errors.Join(err, t.OptionalColumn(context.WithoutCancel(ctx), path))
		}
	}
	return nil
}

// checkNoNulls looks for a null of a column: in the entries, and in shards whose entries don't tell. It names the first row.
func (t *Table) checkNoNulls(ctx context.Context, branch string, n *schema.Node) error {
	for e, err := range t.Entries(ctx, At{Ref: branch}) {
		if err != nil {
			return err
		}
		if known, nulls := t.nullsOf(e, n); known && nulls == 0 {
			continue
		}
		row, found, err := t.firstNull(ctx, e, n)
		if err != nil {
			return err
		}
		if found {
			return fmt.Errorf("%w: column %q can't be required: row %d of %s is null there (rows count from 0); find them all with --where '%s IS NULL'",
				ErrInvalid, n.Name, row, e.Path, n.Name)
		}
	}
	return nil
}

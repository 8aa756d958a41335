package catalog

import (
	"context"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

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

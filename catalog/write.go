package catalog

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/manifest"
)

// Append commits new entries in one snapshot. Their shards must be complete and lie in the job's outputs; the
// entries carry the table's field ids and partition (see Describe).
func (j *Job) Append(ctx context.Context, entries []*manifest.Entry) (*CommitResult, error) {
	return j.commit(ctx, change{
		Change: manifest.Change{Operation: table.OpAppend, Add: entries},
		validate: func(t *Table) error {
			return j.checkEntries(t, entries)
		},
	})
}

// Replace commits outputs in the place of inputs, in one snapshot that keeps every row. Each input must still be
// live when the commit is made; if one is not, another writer won: ErrConflict, and the table is as it was.
func (j *Job) Replace(ctx context.Context, inputs []string, outputs []*manifest.Entry) (*CommitResult, error) {
	return j.commit(ctx, change{
		Change: manifest.Change{Operation: table.OpReplace, Add: outputs, Remove: inputs},
		validate: func(t *Table) error {
			return j.checkEntries(t, outputs)
		},
	})
}

// checkEntries refuses entries that the job's record does not cover, and partitions of a spec that the table no
// longer knows.
func (j *Job) checkEntries(t *Table, entries []*manifest.Entry) error {
	for _, e := range entries {
		if !jobrecord.Covers(&j.record, e.Path) {
			return fmt.Errorf("%w: %s is not among the outputs of job %s", ErrUnsafe, e.Path, j.record.ID)
		}
		if t.ice.Metadata().PartitionSpecByID(e.SpecID) == nil {
			return fmt.Errorf("%w: the table has no partition spec %d", ErrConflict, e.SpecID)
		}
	}
	return nil
}

package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// No live row of a branch has a null in a required column. RequireColumn looks at all of them, on the condition that no branch
// moves meanwhile; whatever makes other rows live looks at those, on the condition that the schema stays as it is. Both conditions
// are requirements of the commits, that of changes among those that manifest.Stage gives all of them.

// required are the columns that may not be null.
func (t *Table) required() []*schema.Node {
	var out []*schema.Node
	for _, f := range t.schema.Shard.Fields {
		if !f.Nullable {
			out = append(out, f)
		}
	}
	return out
}

// checkRequired refuses entries that a job of some kind is about to make live, if they have nulls in a required column. What
// rewrites live rows is not searched where the entries don't tell: those rows were found without nulls before.
func (t *Table) checkRequired(ctx context.Context, kind string, entries []*manifest.Entry) error {
	switch kind {
	case JobCompact, jobIndex, jobDelete, jobTruncate, jobRetention, jobRepair:
		return nil
	}
	for _, n := range t.required() {
		for _, e := range entries {
			known, nulls := t.nullsOf(e, n)
			switch {
			case known && nulls == 0:
			case known:
				return t.refuseNulls(n, e, fmt.Sprintf("%d of %s are", nulls, plural.Count(e.Records, "row")))
			case kind == jobRegister:
				return fmt.Errorf("%w: table %s: column %q was made required concurrently; register again", ErrConflict, t.name, n.Name)
			case kind == jobUpsert, kind == jobOverwrite: // a shard of which rows were marked as deleted
			default:
				if err := t.searchNulls(ctx, e, n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkRequiredAt refuses to make a snapshot the head of a branch if it has nulls in a required column.
func (t *Table) checkRequiredAt(ctx context.Context, s *table.Snapshot) error {
	columns := t.required()
	for _, ref := range t.ice.Metadata().Refs() {
		if ref.SnapshotRefType == table.BranchRef && ref.SnapshotID == s.SnapshotID {
			return nil // its rows are live
		}
	}
	if len(columns) == 0 {
		return nil
	}
	p := &manifest.Projection{}
	for _, n := range columns {
		p.Columns = append(p.Columns, t.schema.IDs[n.ID])
	}
	for e, err := range t.entriesOf(ctx, s, p, nil) {
		if err != nil {
			return err
		}
		if err := t.checkRequired(ctx, "", []*manifest.Entry{e}); err != nil {
			return fmt.Errorf("snapshot %d: %w", s.SnapshotID, err)
		}
	}
	return nil
}

// nullsOf is how many rows of an entry are null in a column, if it reports.
func (t *Table) nullsOf(e *manifest.Entry, n *schema.Node) (known bool, nulls int64) {
	c, has := e.Columns[t.schema.IDs[n.ID]]
	switch {
	case e.Records == 0:
		return true, 0
	case !has && e.IsShard():
		return true, e.Records
	case !has || c.Nulls == manifest.Unknown:
		return false, 0
	}
	return true, c.Nulls
}

// searchNulls reads a column of a shard and refuses it if it has a null.
func (t *Table) searchNulls(ctx context.Context, e *manifest.Entry, n *schema.Node) error {
	row, found, err := t.firstNull(ctx, e, n)
	if err != nil || !found {
		return err
	}
	return t.refuseNulls(n, e, fmt.Sprintf("row %d (from 0) is", row))
}

func (t *Table) refuseNulls(n *schema.Node, e *manifest.Entry, which string) error {
	return fmt.Errorf("%w: column %q is required, and of %s %s null there: make it optional (table alter %s optional %s), or leave those rows out",
		manifest.ErrSchema, n.Name, e.Path, which, t.name, schema.JoinPath(n.Name))
}

// firstNull is the first row of a live shard that is null in a column.
func (t *Table) firstNull(ctx context.Context, e *manifest.Entry, n *schema.Node) (row int64, found bool, err error) {
	p, err := t.PlanOf([]*manifest.Entry{e}, ScanOptions{Ordered: true, Select: []string{schema.JoinPath(n.Name)}})
	if err != nil {
		return 0, false, err
	}
	for b, err := range p.Run(ctx, nil) {
		if err != nil {
			return 0, false, err
		}
		if i, ok := nullIn(b.Column(0)); ok {
			return row + int64(i), true, nil
		}
		row += b.NumRows()
	}
	return 0, false, nil
}

// nullIn is the first null of a column.
func nullIn(a arrow.Array) (int, bool) {
	if a.NullN() == 0 && a.DataType().ID() != arrow.SPARSE_UNION {
		return 0, false
	}
	for i := range a.Len() {
		if arrowtype.IsNull(a, i) {
			return i, true
		}
	}
	return 0, false
}

// proveRequired searches a shard from elsewhere for nulls in required columns, and in required fields below columns, where neither its
// counts nor its own schema exclude them. What it has searched is noted in the entry.
func (t *Table) proveRequired(ctx context.Context, shard *shardfmt.Shard, ids []int, e *manifest.Entry) error {
	s, err := shard.Schema(ctx)
	if err != nil {
		return err
	}
	if err := t.schema.Check(s, ids); err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	optional := map[int]bool{} // whether the shard's field may be null, for those that it has
	s.Walk(func(_ string, n *schema.Node) bool {
		optional[ids[n.ID]] = n.Nullable
		return true
	})
	for _, n := range t.schema.Shard.Fields {
		if !n.Demands() {
			continue
		}
		known, nulls := t.nullsOf(e, n)
		if !n.Nullable && known && nulls > 0 {
			return t.refuseNulls(n, e, fmt.Sprintf("%d of %s are", nulls, plural.Count(e.Records, "row")))
		}
		if (n.Nullable || known) && !slices.ContainsFunc(t.demanding(n), func(id int) bool {
			may, has := optional[id]
			return may || !has
		}) {
			continue
		}
		if err := t.proveColumn(ctx, shard, e, n); err != nil {
			return err
		}
		if id := t.schema.IDs[n.ID]; !n.Nullable {
			c := e.Columns[id]
			c.Nulls = 0
			e.Columns[id] = c
		}
	}
	return nil
}

// demanding are the ids of the required fields below a column; below unions there are none.
func (t *Table) demanding(n *schema.Node) (ids []int) {
	if n.Basic == schema.Union {
		return nil
	}
	for _, c := range n.Children {
		if !c.Nullable {
			ids = append(ids, t.schema.IDs[c.ID])
		}
		ids = append(ids, t.demanding(c)...)
	}
	return ids
}

// proveColumn reads a column of a shard that is not part of the table yet.
func (t *Table) proveColumn(ctx context.Context, shard *shardfmt.Shard, e *manifest.Entry, n *schema.Node) error {
	p, err := t.PlanOf([]*manifest.Entry{e}, ScanOptions{Select: []string{schema.JoinPath(n.Name)}})
	if err != nil {
		return err
	}
	before := int64(0)
	for b, err := range tablescan.OfShard(ctx, p, shard) {
		if err != nil {
			return err
		}
		if path, row, found := arrowtype.FindNull(b.Column(0), n); found {
			return fmt.Errorf("%w: %s: row %d (from 0) is null in %q, which table %s requires", manifest.ErrSchema, e.Path, before+int64(row), path, t.name)
		}
		before += b.NumRows()
	}
	return nil
}

// everRequired reports whether all schemas that the table has had require a column: then no retained row is null there.
func (t *Table) everRequired(n *schema.Node) bool {
	id := t.schema.IDs[n.ID]
	for _, s := range t.ice.Metadata().Schemas() {
		f, ok := s.FindFieldByID(id)
		if !ok || !f.Required {
			return false
		}
	}
	return true
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

func (a *app) deleteCommand() *cobra.Command {
	var where string
	var o catalog.DeleteOptions
	cmd := &cobra.Command{
		Use:   "delete T --where EXPR",
		Short: "Delete rows that match a filter; only deletion markers are written",
		Long: `Delete the rows for which an expression is true, in one snapshot. Shards whose statistics prove that all
rows match are removed without being opened. The others get a new root with the same data and a marker
field for the deleted records.`,
		Example: `  shardcat delete flights --where "at < '2013-02-01T00:00:00Z'"
  shardcat delete flights --where "name = 'N14228' AND delay IS NULL" --dry-run`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, expr, err := a.tableAndFilter(cmd, args[0], where)
			if err != nil {
				return err
			}
			bar := a.bar("delete", "shards", 0)
			o.Progress = func(done, all int) { bar.At(int64(done), int64(all)) }
			d, err := t.Delete(cmd.Context(), expr, o)
			if err != nil {
				return err
			}
			bar.Finish()
			return a.printDeleted(t, d)
		},
	}
	addDeleteFlags(cmd, &o)
	cmd.Flags().StringVar(&where, "where", "", "filter expression (needed)")
	return cmd
}

func addDeleteFlags(cmd *cobra.Command, o *catalog.DeleteOptions) {
	cmd.Flags().StringVar(&o.JobID, "job-id", "", "idempotency key: a job with the same ID is committed once (default: random)")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would be deleted without changing anything (default: false)")
}

// tableAndFilter loads a table and binds a filter to its schema, which must be given.
func (a *app) tableAndFilter(cmd *cobra.Command, name, where string) (*catalog.Table, filter.Expr, error) {
	if where == "" {
		return nil, nil, usagef("missing --where: a filter of the rows to delete; truncate deletes all rows")
	}
	t, err := a.loadTable(cmd.Context(), name)
	if err != nil {
		return nil, nil, err
	}
	bound, err := bindFilter(where, t.Schema())
	if err != nil {
		return nil, nil, err
	}
	return t, bound, nil
}

func (a *app) printDeleted(t *catalog.Table, d *catalog.DeleteResult) error {
	if a.json {
		return a.printJSON(d)
	}
	switch {
	case d.CommitResult != nil && d.Before:
		a.printf("%s: this job was committed before, in snapshot %d; nothing was deleted\n", t.Name(), d.SnapshotID)
	case d.DryRun:
		a.printf("%s: would delete %s\n", t.Name(), deletedText(d))
	default:
		a.printf("%s: deleted %s; snapshot %d\n", t.Name(), deletedText(d), d.SnapshotID)
	}
	return nil
}

func deletedText(d *catalog.DeleteResult) string {
	return fmt.Sprintf("%s: %s whole, %d in part", plural.Count(d.Rows, "row"), plural.Count(d.ShardsRemoved, "shard"), d.ShardsMarked)
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

func (a *app) changesCommand() *cobra.Command {
	var from, to, format string
	var limit int64
	var values rowFlags
	cmd := &cobra.Command{
		Use:   "changes T --from ID",
		Short: "Print rows added and removed between two snapshots",
		Long: `Print the rows added and removed between two snapshots, in the order of the snapshots: _change_type is INSERT or DELETE,
_commit_snapshot_id is the snapshot, the table's columns follow. Compaction is not a change.`,
		Example: "  shardcat changes flights --from 5213874502837465\n  shardcat changes flights --from 5213874502837465 --to 8812763450912374 --format ndjson",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" {
				return usagef("missing --from: the snapshot to start after; table history lists them")
			}
			first, err := snapshotID(from)
			if err != nil {
				return err
			}
			last, err := snapshotID(to)
			if err != nil {
				return err
			}
			form, err := a.outputFormat(format)
			if err != nil {
				return err
			}
			if err := values.check(cmd, form); err != nil {
				return err
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			changes, err := t.Changes(first, last)
			if err != nil {
				return err
			}
			sink, err := values.options(a)
			if err != nil {
				return err
			}
			_, err = a.printRows(cmd.Context(), &schema.Schema{Fields: changes.Fields()}, changes.Run(cmd.Context()), printing{format: form, limit: limit, sink: sink})
			return err
		},
	}
	values.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "snapshot ID to start after (needed)")
	flags.StringVar(&to, "to", "", "snapshot ID to end with (default: the head of main)")
	flags.Int64Var(&limit, "limit", -1, "maximum number of rows (default: all)")
	flags.StringVar(&format, "format", "", "table, ndjson, csv, arrow or parquet (default: table on a terminal, else ndjson)")
	return cmd
}

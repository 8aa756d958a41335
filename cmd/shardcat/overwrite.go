package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
)

func (a *app) overwriteCommand() *cobra.Command {
	var in sourceFlags
	var out shardFlags
	var where string
	var o catalog.IngestOptions
	cmd := &cobra.Command{
		Use:   "overwrite T --where EXPR FILE...|-",
		Short: "Replace rows that match a filter with the rows of files, in one snapshot",
		Example: `  shardcat overwrite flights --where "at >= '2013-02-01T00:00:00Z'" february.ndjson
  shardcat overwrite prices --where "day = 7" --job-id prices-7 day7.parquet`,
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.ingestOptions(&o); err != nil {
				return err
			}
			t, expr, err := a.tableAndFilter(cmd, args[0], where)
			if err != nil {
				return err
			}
			read, err := in.options(a)
			if err != nil {
				return err
			}
			if in.dryRun {
				return a.dryIngest(cmd.Context(), args[0], args[1:], read, false)
			}
			src, err := a.openFor(cmd.Context(), t, args[1:], read)
			if err != nil {
				return err
			}
			defer src.Close()
			done, err := t.Overwrite(cmd.Context(), expr, src, o)
			if err != nil {
				return err
			}
			return a.printOverwritten(t, done)
		},
	}
	in.add(cmd)
	out.add(cmd)
	cmd.Flags().StringVar(&where, "where", "", "filter expression of the rows to replace (needed)")
	cmd.Flags().Int64Var(&o.ShardRows, "shard-rows", 0, "maximum number of rows per shard (default 4194304)")
	cmd.Flags().StringVar(&o.JobID, "job-id", "", "idempotency key: a job with the same ID is committed once (default: random)")
	return cmd
}

func (a *app) printOverwritten(t *catalog.Table, o *catalog.OverwriteResult) error {
	if a.json {
		return a.printJSON(o)
	}
	if o.Before {
		a.printf("%s: this job was committed before, in snapshot %d; nothing was replaced\n", t.Name(), o.SnapshotID)
		return nil
	}
	a.printf("%s: replaced %s by %s in %s, %s stored%s; snapshot %d\n", t.Name(), deletedText(&o.DeleteResult), plural.Count(o.RowsAdded, "row"), plural.Count(len(o.Shards), "shard"),
		progress.Bytes(o.BytesAdded), indexesText(o.IndexBytes), o.SnapshotID)
	return nil
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) registerCommand() *cobra.Command {
	var o catalog.RegisterOptions
	cmd := &cobra.Command{
		Use:   "register T SHARD...",
		Short: "Adopt existing shards where they lie, without copying them",
		Example: `  shardcat register logs s3://bucket/export/a.amudai.shard
  shardcat register logs ./a.amudai.shard ./b.amudai.shard --job-id export-7`,
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			urls, err := a.mountAll(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			r, err := t.Register(cmd.Context(), urls, o)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			a.printf("%s: %d shards with %d records, snapshot %d\n", t.Name(), len(r.Shards), r.Records, r.SnapshotID)
			return nil
		},
	}
	cmd.Flags().StringVar(&o.JobID, "job-id", "", "name of this delivery: the same one delivered twice is committed once")
	return cmd
}

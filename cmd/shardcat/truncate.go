package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) truncateCommand() *cobra.Command {
	var o catalog.DeleteOptions
	cmd := &cobra.Command{
		Use:   "truncate T",
		Short: "Delete all rows of a table; older snapshots keep them until they expire",
		Example: `  shardcat truncate flights
  shardcat truncate flights --dry-run --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			d, err := t.Truncate(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.printDeleted(t, d)
		},
	}
	addDeleteFlags(cmd, &o)
	return cmd
}

func (a *app) retainCommand() *cobra.Command {
	var o catalog.DeleteOptions
	cmd := &cobra.Command{
		Use:   "retain T",
		Short: "Drop shards older than the table's retention",
		Long: `Drop shards whose records are all older than the table's property shardcat.retention ("30d", "36h"), in one
snapshot and without opening them. A shard with a younger record is kept whole.`,
		Example: `  shardcat table create flights --schema flights.json --property shardcat.retention=30d
  shardcat retain flights --dry-run`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			d, err := t.ApplyRetention(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.printDeleted(t, d)
		},
	}
	addDeleteFlags(cmd, &o)
	return cmd
}

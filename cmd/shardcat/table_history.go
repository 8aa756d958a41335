package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
)

func (a *app) tableHistoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history T",
		Short: "List the snapshots of a table, newest last",
		Example: `  shardcat table history logs
  shardcat table history logs --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.readTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printHistory(t)
		},
	}
}

func (a *app) printHistory(t *catalog.Table) error {
	snapshots := t.History()
	if a.json {
		return a.printJSON(snapshots)
	}
	for i := range snapshots {
		s := &snapshots[i]
		mark := " "
		if s.Current {
			mark = "*"
		}
		a.printf("%s %-20d %s %-9s +%d −%d shards, %s and %s after", mark, s.ID,
			s.Time.UTC().Format(time.RFC3339), s.Operation, s.Number("added-data-files"), s.Number("deleted-data-files"),
			plural.Count(s.Number("total-data-files"), "shard"), plural.Count(s.Number("total-records"), "record"))
		if len(s.Refs) > 0 {
			a.printf(" (%s)", strings.Join(s.Refs, ", "))
		}
		a.printf("\n")
	}
	return nil
}

package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/temporal"
)

func (s *settings) runCommand() *cobra.Command {
	var in temporal.TableInput
	cmd := &cobra.Command{
		Use:   "run T",
		Short: "Compact a table now, and wait",
		Long: "Start the table's workflow, or join the running one, and print the result as one JSON object. Workers do the work; at least " +
			"one must run.",
		Example: "  shardcat-temporal run default.logs\n  shardcat-temporal run default.logs --parallel 16",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := catalog.ParseName(args[0])
			if err != nil {
				return err
			}
			c, _, closeAll, err := s.open(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			in.Table, in.Queue = name.String(), s.queue
			report, err := temporal.Run(cmd.Context(), c, in)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
		},
	}
	cmd.Flags().IntVar(&in.Parallel, "parallel", 4, "maximum number of groups compacted concurrently")
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt/inspect"
)

func (a *app) shardInspectCommand() *cobra.Command {
	var verbosity int
	cmd := &cobra.Command{
		Use:   "inspect SHARD",
		Short: "Describe a shard",
		Long:  "Describe a shard: its schema and properties; with -v the statistics of its fields, with -vv their buffers, with -vvv the encoding of every block.",
		Args:  exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := a.mount(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			detail := inspect.Detail(min(verbosity, int(inspect.Blocks)))
			x, err := inspect.Shard(cmd.Context(), a.client, url, inspect.Options{Detail: detail})
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(x)
			}
			x.Print(a.stdout)
			return nil
		},
	}
	cmd.Flags().CountVarP(&verbosity, "verbose", "v", "more detail; up to three times")
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/urlresolve"
)

func (a *app) indexInspectCommand() *cobra.Command {
	var allow allowFlag
	cmd := &cobra.Command{
		Use:   "inspect INDEX.pb",
		Short: "Describe an index",
		Example: `  shardcat index inspect index.pb
  shardcat index inspect s3://bucket/index.pb --json`,
		Long: "Describe an index: type, fields, properties, and the sizes and record counts of its artifacts. Unknown types are described too.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			prefixes, err := allow.prefixes(ctx, a)
			if err != nil {
				return err
			}
			d, base, err := a.readDescriptor(ctx, args[0])
			if err != nil {
				return err
			}
			x, err := inspect.DescribeIndex(ctx, a.client, base, d, urlresolve.Policy{Allow: prefixes})
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
	allow.add(cmd)
	return cmd
}

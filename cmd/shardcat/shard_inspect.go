package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/urlresolve"
)

func (a *app) shardInspectCommand() *cobra.Command {
	var verbosity int
	var allow allowFlag
	var formats formatFlags
	cmd := &cobra.Command{
		Use:   "inspect SHARD",
		Short: "Describe a shard or a file of another format",
		Example: `  shardcat shard inspect a.amudai.shard
  shardcat shard inspect a.amudai.shard -vv --json`,
		Long: "Describe a shard: schema and properties; with -v field statistics, with -vv buffers, with -vvv the encoding of every block.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := a.mount(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if kind, err := a.kindOf(cmd.Context(), url); err != nil {
				return err
			} else if kind != convert.Amudai {
				if err := allow.unused(kind); err != nil {
					return err
				}
				return a.inspectFile(cmd, url, kind, verbosity, &formats)
			}
			if _, err := formats.of(convert.Amudai); err != nil {
				return err
			}
			prefixes, err := allow.prefixes(cmd.Context(), a)
			if err != nil {
				return err
			}
			detail := inspect.Detail(min(verbosity, int(inspect.Blocks)))
			x, err := inspect.Shard(cmd.Context(), a.client, url, inspect.Options{Detail: detail, Policy: urlresolve.Policy{Allow: prefixes}, MaxMemory: a.maxMemory})
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
	formats.add(cmd, false)
	allow.add(cmd)
	cmd.Flags().CountVarP(&verbosity, "verbose", "v", "more detail; may be repeated up to three times")
	return cmd
}

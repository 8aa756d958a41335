package main

import "github.com/spf13/cobra"

func (a *app) shardCommand() *cobra.Command {
	return group("shard", "Write, read, look at, check and merge single shards",
		a.shardWriteCommand(), a.shardCatCommand(), a.shardInspectCommand(), a.shardVerifyCommand(), a.shardMergeCommand())
}

// exactly, atLeast and atMost are cobra's argument checks with usage errors of our own.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func atLeast(n int) cobra.PositionalArgs { return between(n, 1<<30) }

func between(low, high int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		return usagef("%s: %d arguments given, see: %s", cmd.CommandPath(), len(args), cmd.UseLine())
	}
}

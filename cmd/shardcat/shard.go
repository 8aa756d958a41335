package main

import "github.com/spf13/cobra"

func (a *app) shardCommand() *cobra.Command {
	return group("shard", "Write, read, inspect, verify and merge single shards",
		a.shardWriteCommand(), a.shardCatCommand(), a.shardInspectCommand(), a.shardVerifyCommand(), a.shardMergeCommand())
}

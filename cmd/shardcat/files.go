package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
)

func (a *app) filesCommand() *cobra.Command {
	var at atFlags
	cmd := &cobra.Command{
		Use:   "files T",
		Short: "List the shards of a table with rows, sizes, stripes, creation times and column bounds",
		Long: "List the shards of a table from its metadata: live and deleted rows, bytes, stripes, creation times, partition, and with " +
			"--bounds the minimum and maximum of every column. No shard is opened.",
		Example: `  shardcat files flights
  shardcat files flights --bounds --as-of 2024-01-31T00:00:00Z`,
		Args: exactly(1),
	}
	bounds := cmd.Flags().Bool("bounds", false, "print the bounds of columns too (default: only with --json)")
	at.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		when, err := at.at()
		if err != nil {
			return err
		}
		t, err := a.readTable(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		shards := []*catalog.ShardInfo{}
		for s, err := range t.Shards(cmd.Context(), when) {
			if err != nil {
				return err
			}
			shards = append(shards, s)
		}
		if a.json {
			return a.printJSON(shards)
		}
		for _, s := range shards {
			a.printShard(s, *bounds)
		}
		return nil
	}
	return cmd
}

func (a *app) printShard(s *catalog.ShardInfo, bounds bool) {
	a.printf("%s\n", s.Path)
	a.printf("  rows      %d", s.Records)
	if s.Deleted > 0 {
		a.printf(", and %d deleted", s.Deleted)
	}
	a.printf(" in %s, %s, root %s\n", plural.Count(s.Stripes, "stripe"), progress.Bytes(s.Bytes), progress.Bytes(s.RootBytes))
	if s.CreatedFirst != "" {
		a.printf("  created   %s … %s\n", s.CreatedFirst, s.CreatedLast)
	}
	for _, name := range sortedKeys(s.Partition) {
		value := "null"
		if v := s.Partition[name]; v != nil {
			value = *v
		}
		a.printf("  partition %s = %s\n", name, value)
	}
	if !bounds {
		return
	}
	for _, name := range sortedKeys(s.Bounds) {
		b := s.Bounds[name]
		a.printf("  bounds    %s: %s … %s, %s\n", name, b.Lower, b.Upper, plural.Count(b.Nulls, "null"))
	}
}

// sortedKeys are the names of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

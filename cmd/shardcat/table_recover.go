package main

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableRecoverCommand() *cobra.Command {
	var as string
	var all, takeOver bool
	cmd := &cobra.Command{
		Use:   "recover METADATA.json|--all",
		Short: "Recover a table from its metadata file, or all tables of a warehouse",
		Long: `Recover a table from its metadata file: a dropped table (its vault folder's _dropped.json names the file), or one whose
catalog was lost (the file with the highest number in the table's metadata folder). Snapshots, schema and shards are those of the file.
A table of a SQL catalog whose current metadata file was lost is recovered from another file of that folder.

With --all, recover all tables of the warehouse and the vault in their last state and under their last name, and the recorded
properties of namespaces. Tables that are older in the catalog, as after a restored backup, are moved forward. Dropped tables stay dropped.

A table belongs to one catalog. --take-over moves the tables of a lost or retired catalog to this one: the former catalog can
no longer write to them or collect their files.`,
		Example: `  shardcat table recover file:///data/warehouse/default/flights-1a2b3c4d/metadata/00007-….metadata.json
  shardcat table recover s3://bucket/wh/default/t-0f0f0f0f/metadata/00002-….metadata.json --as restored.t
  shardcat table recover --all
  shardcat table recover --all --take-over`,
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usagef("--all and METADATA.json exclude each other")
			case all && as != "":
				return usagef("--as applies to a single table")
			case all:
				return a.recoverAll(cmd.Context(), takeOver)
			case len(args) == 0:
				return usagef("missing METADATA.json, or --all")
			}
			o := catalog.RecoverOptions{TakeOver: takeOver}
			if as != "" {
				name, err := catalog.ParseName(as)
				if err != nil {
					return err
				}
				o.As = name
			}
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			t, err := tables.Recover(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			return a.printDescription(t)
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "name of the table (default: from its folder)")
	cmd.Flags().BoolVar(&all, "all", false, "recover all tables of the warehouse and the vault")
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "take ownership of tables from another catalog, whose writes are refused from then on")
	return cmd
}

// recoverAll prints a line for each table.
func (a *app) recoverAll(ctx context.Context, takeOver bool) error {
	tables, err := a.openTables(ctx)
	if err != nil {
		return err
	}
	results, err := tables.RecoverAll(ctx, takeOver)
	if results == nil {
		return err
	}
	if a.json {
		return errors.Join(a.printJSON(results), err)
	}
	counts := map[string]int{}
	for _, r := range results {
		counts[r.Outcome]++
		if r.Outcome != catalog.FailedTable {
			a.printf("%-10s %s\n", r.Outcome, r.Table)
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		a.printf("%d %s\n", counts[outcome], outcome)
	}
	return err
}

package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [NS]",
		Short: "List tables",
		Example: `  shardcat table list
  shardcat table list default --json`,
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tables, err := a.openCatalog(cmd.Context(), catalog.ReadOnly)
			if err != nil {
				return err
			}
			found, err := tables.Tables(cmd.Context(), first(args...))
			if err != nil {
				return err
			}
			names := []string{}
			for _, n := range found {
				names = append(names, n.String())
			}
			slices.Sort(names)
			if a.json {
				return a.printJSON(names)
			}
			for _, n := range names {
				a.printf("%s\n", n)
			}
			return nil
		},
	}
}

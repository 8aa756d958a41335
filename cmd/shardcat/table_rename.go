package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rename T NEW",
		Short: "Rename a table without moving files",
		Example: `  shardcat table rename flights flights_2013
  shardcat table rename staging.flights prod.flights`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := catalog.ParseName(args[0])
			if err != nil {
				return err
			}
			to, err := catalog.ParseName(args[1])
			if err != nil {
				return err
			}
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := tables.Rename(cmd.Context(), from, to); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"renamed": from.String(), "table": to.String()})
			}
			a.printf("%s is now %s\n", from, to)
			return nil
		},
	}
}

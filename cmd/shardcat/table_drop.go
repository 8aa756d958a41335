package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableDropCommand() *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use:   "drop T",
		Short: "Drop a table; its shards stay in the vault, marked as dropped",
		Example: `  shardcat table drop logs
  shardcat table drop old.logs --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := catalog.ParseName(args[0])
			if err != nil {
				return usageError{err}
			}
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			drop := tables.Drop
			if purge {
				drop = tables.Purge
			}
			if err := drop(cmd.Context(), name); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"dropped": name.String()})
			}
			a.printf("dropped %s\n", name)
			return nil
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "have a REST catalog delete the table's metadata too; the table can't be recovered then")
	return cmd
}

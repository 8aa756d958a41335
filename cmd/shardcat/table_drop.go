package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableDropCommand() *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use:   "drop T",
		Short: "Drop a table; undrop restores it until gc --all deletes its files",
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
	cmd.Flags().BoolVar(&purge, "purge", false, "also delete the metadata (REST catalogs); the table cannot be recovered")
	return cmd
}

func (a *app) undropCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "undrop T",
		Short: "Restore a dropped table whose files have not been collected",
		Long: `Restore the table last dropped under a name, with its snapshots, policy and properties. gc --all deletes the files of
dropped tables after its --delete-delay; from then on undrop is refused.`,
		Example: `  shardcat undrop logs
  shardcat undrop old.logs --json`,
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
			t, err := tables.Undrop(cmd.Context(), name)
			if err != nil {
				return err
			}
			return a.printDescription(t)
		},
	}
}

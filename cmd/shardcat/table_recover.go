package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableRecoverCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "recover METADATA.json",
		Short: "Bring a table back from its metadata file",
		Long: `Bring a table back from its metadata file: one that was dropped (its vault folder's _dropped.json names the file), or whose
catalog was lost (the file with the highest number in the table's metadata folder). Snapshots, schema and shards are those of the file.`,
		Example: `  shardcat table recover file:///data/warehouse/default/flights-1a2b3c4d/metadata/00007-….metadata.json
  shardcat table recover s3://bucket/wh/default/t-0f0f0f0f/metadata/00002-….metadata.json --as restored.t`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var o catalog.RecoverOptions
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
	cmd.Flags().StringVar(&as, "as", "", "name of the table (default: the one that its folder had)")
	return cmd
}

package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the complete workflow on bundled data",
		Example: `  shardcat demo
  shardcat demo --dir /tmp/try --json`,
		Long: "Run the complete workflow on bundled data, with an embedded catalog and a local folder: land a file as shards of a table, scan with a filter, merge the shards without moving data, scan again, show the history. Nothing is written outside of --dir, unless --catalog, --warehouse or --vault name another place, for instance an object store; the environment variables are ignored.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := io.Writer(a.stdout)
			if a.json {
				out = io.Discard
			}
			o := demo.Options{Dir: dir, Catalog: a.catalogOptions(catalog.ReadWrite), Out: out}
			for name, place := range map[string]*string{"catalog": &o.Catalog.URI, "warehouse": &o.Catalog.Warehouse, "vault": &o.Catalog.Vault} {
				if *place != "" && !slices.Contains(a.given, name) {
					a.warn(environmentName(name) + " is ignored here; --" + name + " names another place")
					*place = ""
				}
			}
			if dir != "" && o.Catalog.URI != "" && o.Catalog.Warehouse != "" {
				a.warn("--dir is unused, because --catalog and --warehouse are set")
			}
			r, err := demo.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder to write to (default: "+demo.DefaultDir+", or a temporary folder if tables can't be created there)")
	return cmd
}

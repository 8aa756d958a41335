package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the main job end to end on shipped data",
		Example: `  shardcat demo
  shardcat demo --dir /tmp/try --json`,
		Long: "Run the main job end to end on shipped data, with an embedded catalog and a local folder: land a file as shards of a table, scan with a filter, merge the shards without moving data, scan again, show the history. Nothing is written outside of --dir, unless --warehouse or --catalog are given on the command line, as to try an object store.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := io.Writer(a.stdout)
			if a.json {
				out = io.Discard
			}
			o := demo.Options{Dir: dir, Client: a.client, Out: out}
			if slices.Contains(a.given, "warehouse") {
				o.Warehouse = a.warehouse
			}
			if slices.Contains(a.given, "catalog") {
				o.Catalog = a.catalogURI
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
	cmd.Flags().StringVar(&dir, "dir", "", "folder to write to (default: "+demo.DefaultDir+", or a temporary folder where no table can lie there)")
	return cmd
}

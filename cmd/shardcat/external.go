package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt"
)

// externalFlags are those of shards over files that stay where they are.
type externalFlags struct {
	parquet, allow bool
	columns        []string
}

func (f *externalFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.parquet, "external-parquet", false,
		"write a root over Parquet files, which stay where they are and are not copied (default: files are copied)")
	flags.StringSliceVar(&f.columns, "external-columns", nil, "columns to include with --external-parquet (default: all)")
	flags.BoolVar(&f.allow, "allow-external", false,
		"allow the root of --external-parquet to refer to files outside its folder; readers then need --allow (default: refused)")
}

// unused refuses the flags that mean nothing without --external-parquet.
func (f *externalFlags) unused() error {
	if f.allow || len(f.columns) > 0 {
		return usagef("--allow-external and --external-columns need --external-parquet")
	}
	return nil
}

// notExternal are the flags for how values are read or stored, which a root over files of others leaves as they are.
var notExternal = []string{"schema", "column", "format", "dry-run", "text-index", "hash-index", "layer-index", "ingestion-time", "record-id", "layout", "opaque-dictionary", "dictionary-entries", "also-encode"}

// writeExternal writes a shard over Parquet files and reports what it wrote.
func (a *app) writeExternal(cmd *cobra.Command, out string, files []string, o shardfmt.WriterOptions, f externalFlags) error {
	if i := slices.IndexFunc(notExternal, cmd.Flags().Changed); i >= 0 {
		return usagef("--%s can't be used with --external-parquet, which does not rewrite the files", notExternal[i])
	}
	urls, err := a.mountAll(cmd.Context(), append([]string{out}, files...))
	if err != nil {
		return err
	}
	started := time.Now()
	written, err := shardfmt.WriteExternalParquet(cmd.Context(), a.client, urls[0], urls[1:], shardfmt.ExternalOptions{
		WriterOptions: o, Columns: f.columns, AllowExternal: f.allow, MaxMemory: a.maxMemory,
	})
	if err != nil {
		return err
	}
	return a.printWritten(written, time.Since(started))
}

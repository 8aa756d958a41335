package main

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func (a *app) tableCreateCommand() *cobra.Command {
	var text, like, order string
	var o catalog.CreateOptions
	var props []string
	var indexes indexFlags
	cmd := &cobra.Command{
		Use:   "create T",
		Short: "Create a table",
		Example: `  shardcat table create logs --schema "t: DateTime, host: String, message: String" --partition "day(t)" --order "host, t"
  shardcat table create logs --schema "t: DateTime, message: String" --text-index message:unicode-log
  shardcat table create logs --like logs.parquet --property shardcat.compaction.target-size=256MiB`,
		Long: "Create a table from a schema (a file, or the text itself) or with the schema of an existing shard or file.",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := catalog.ParseName(args[0])
			if err != nil {
				return usageError{err}
			}
			if o.Properties, err = pairs(props); err != nil {
				return err
			}
			if o.SortOrder, err = sortOrder(order); err != nil {
				return err
			}
			if err := a.takeSchema(cmd.Context(), &o, text, like); err != nil {
				return err
			}
			if err := indexes.defaults(o.Properties, o.Schema); err != nil {
				return err
			}
			if err := compaction.CheckProperties(o.Properties); err != nil {
				return usageError{err}
			}
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			o.CreateNamespace = true
			t, err := tables.Create(cmd.Context(), name, o)
			if err != nil {
				return err
			}
			return a.printDescription(t)
		},
	}
	cmd.Flags().StringVar(&text, "schema", "", "schema: a JSON or YAML file, or inline text")
	cmd.Flags().StringVar(&like, "like", "", "take the schema of this shard or data file")
	cmd.Flags().StringArrayVar(&o.Partition, "partition", nil, "partition field: COL, day(COL), bucket(N, COL), truncate(N, COL) …; a name may stand in double quotes (repeatable)")
	cmd.Flags().StringVar(&order, "order", "", "sort order of rows in shards, such as \"t desc, host\" (default: input order)")
	cmd.Flags().StringVar(&o.Location, "location", "", "URL of the folder for Iceberg metadata (default: a new folder in the warehouse, or chosen by the catalog)")
	indexes.add(cmd.Flags(), "every stripe of new shards")
	cmd.Flags().StringArrayVar(&props, "property", nil, "property of the table: NAME=VALUE (repeatable)")
	return cmd
}

// takeSchema gives a new table the schema of --schema or --like, and the Arrow types that a file or shard came with.
func (a *app) takeSchema(ctx context.Context, o *catalog.CreateOptions, text, like string) (err error) {
	if err := eitherOf(text != "", like != "", "--schema", "--like"); err != nil {
		return err
	}
	if text != "" {
		o.Schema, err = readSchema(text)
		return err
	}
	var types *arrow.Schema
	if _, ok := fileio.FormatOf(like); ok {
		o.Schema, types, err = a.schemaOfFile(ctx, like)
	} else {
		o.Schema, types, err = a.schemaOfShard(ctx, like)
	}
	if err != nil {
		return err
	}
	return o.KeepArrow(types)
}

func (a *app) schemaOfShard(ctx context.Context, name string) (*schema.Schema, *arrow.Schema, error) {
	url, err := a.mount(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	shard, err := shardfmt.Open(ctx, a.client, url, shardfmt.OpenOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer shard.Close()
	s, err := shard.Schema(ctx)
	return s, convert.OriginalSchema(ctx, shard), err
}

// schemaOfFile is the schema that ingesting a file would infer.
func (a *app) schemaOfFile(ctx context.Context, file string) (*schema.Schema, *arrow.Schema, error) {
	src, err := fileio.OpenSource(ctx, a.client, []string{file}, fileio.SourceOptions{MaxMemory: a.maxMemory, Warn: a.warn})
	if err != nil {
		return nil, nil, err
	}
	return src.Schema(), fileio.OriginalSchema(src), src.Close()
}

// pairs reads the --property flags of a table.
func pairs(flags []string) (map[string]string, error) {
	out := map[string]string{}
	for _, flag := range flags {
		name, value, err := cutProperty(flag)
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

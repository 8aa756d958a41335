package main

import (
	"errors"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func (a *app) exportCommand() *cobra.Command {
	var where, selection, format string
	var by []string
	var values rowFlags
	var o catalog.ExportOptions
	cmd := &cobra.Command{
		Use:   "export T OUT",
		Short: "Write rows of a table to a file, or to a partitioned folder",
		Long: `Write rows of a table to one file that must not exist yet, in the format that its name ends with, or with --partition-by
to a folder OUT/COLUMN=VALUE/part-00001.FORMAT. A failed export leaves no file.`,
		Example: `  shardcat export flights january.parquet --where "at < '2013-02-01T00:00:00Z'"
  shardcat export flights s3://lake/out --format ndjson --partition-by carrier`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if o.Format, err = exportFormat(format, args[1]); err != nil {
				return err
			}
			if err := values.check(cmd, o.Format); err != nil {
				return err
			}
			if o.Sink, err = values.options(a); err != nil {
				return err
			}
			if where != "" {
				if o.Where, err = filter.Parse(where); err != nil {
					return usageError{err}
				}
			}
			if o.Sink.Original, err = values.original(cmd, t.OriginalSchema()); err != nil {
				return err
			}
			o.Select, o.PartitionBy = schema.ParsePaths(selection), by
			out, err := a.mount(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			a.collectOften(exportGCPercent)
			total := int64(0)
			if where == "" {
				total = t.Describe().Records
			}
			bar := a.bar("export", "rows", total)
			o.Progress = func(rows int64) { bar.At(rows, total) }
			x, err := t.Export(cmd.Context(), out, o)
			if err != nil {
				return err
			}
			bar.Finish()
			a.warnOfReading(x.EncodingsSkipped, x.Contradictions, "verify")
			if a.json {
				err = a.printJSON(x)
			} else {
				a.printf("%s: %s in %s\n", t.Name(), plural.Count(x.Rows, "row"), plural.Count(len(x.Files), "file"))
			}
			return errors.Join(err, a.reportDamaged(x.Damaged))
		},
	}
	values.addTypes(cmd)
	cmd.Flags().StringVar(&where, "where", "", "filter expression (default: all rows)")
	cmd.Flags().StringVar(&selection, "select", "", "comma-separated columns, nested ones with dots (default: all)")
	cmd.Flags().StringVar(&format, "format", "", "parquet, csv, ndjson, arrow or arrows (default: by file extension)")
	cmd.Flags().BoolVar(&o.SkipDamaged, "skip-damaged", false, skipDamagedUsage)
	cmd.Flags().StringSliceVar(&by, "partition-by", nil, "top-level columns to partition by, one folder per value (default: none)")
	return cmd
}

// exportFormat is the format requested, else the one that the name states.
func exportFormat(name, out string) (fileio.Format, error) {
	if name == "" {
		name = strings.TrimPrefix(path.Ext(out), ".")
	}
	f, ok := outputFormats[name]
	if !ok || f == fileio.Table {
		return "", usagef("unknown file extension of %s; set --format to parquet, csv, ndjson, arrow or arrows", out)
	}
	return f, nil
}

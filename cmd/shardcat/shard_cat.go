package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func (a *app) shardCatCommand() *cobra.Command {
	var selection, where, format string
	var limit, offset int64
	var allow allowFlag
	var values rowFlags
	var formats formatFlags
	var dialect dialectFlags
	cmd := &cobra.Command{
		Use:     "cat SHARD",
		Short:   "Print the rows of a shard or of a file of another format",
		Example: "  shardcat shard cat s3://bucket/a.amudai.shard --where 'id > 7'\n  shardcat shard cat sales.col --select city --format csv",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := a.outputFormat(format)
			if err != nil {
				return err
			}
			if err := checkCounts(cmd, "limit", "offset"); err != nil {
				return err
			}
			if err := values.check(cmd, f); err != nil {
				return err
			}
			sink, err := values.options(a)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			url, err := a.mount(ctx, args[0])
			if err != nil {
				return err
			}
			if kind, err := a.kindOf(ctx, url); err != nil {
				return err
			} else if kind != convert.Amudai {
				if err := allow.unused(kind); err != nil {
					return err
				}
				settings, err := formats.of(kind)
				if err != nil {
					return err
				}
				return a.catFile(ctx, url, fileRows{kind, f, schema.ParsePaths(selection), where, offset, limit, settings, sink, cmd, &values, &dialect})
			}
			if _, err := formats.of(convert.Amudai); err != nil {
				return err
			}
			if err := dialect.unused(convert.Amudai); err != nil {
				return err
			}
			prefixes, err := allow.prefixes(ctx, a)
			if err != nil {
				return err
			}
			shard, err := shardfmt.Open(ctx, a.client, url, shardfmt.OpenOptions{Allow: prefixes})
			if err != nil {
				return err
			}
			defer shard.Close()
			s, err := shard.Schema(ctx)
			if err != nil {
				return err
			}
			var stats shardfmt.ScanStats
			o := shardfmt.ScanOptions{Columns: schema.ParsePaths(selection), MaxMemory: a.maxMemory, Stats: &stats}
			o.ReuseBatches = true // who takes batches keeps nothing of them
			if o.Filter, err = bindFilter(where, s); err != nil {
				return err
			}
			out, err := shard.Project(ctx, o.Columns, false)
			if err != nil {
				return asUsage(err, schema.ErrNoField)
			}
			if o.Filter == nil && shard.Deleted() == 0 {
				o.Start, o.End, offset = slice(shard.Records(), offset, limit)
				if o.Start == o.End {
					limit = 0
				}
			}
			if sink.Original, err = values.original(cmd, convert.OriginalSchema(ctx, shard)); err != nil {
				return err
			}
			_, err = a.printRows(ctx, out, shard.Scan(ctx, o), printing{f, offset, limit, sink})
			if err == nil {
				a.warnOfReading(stats.EncodingsSkipped, stats.Contradictions, "shard verify")
			}
			return err
		},
	}
	values.add(cmd)
	allow.add(cmd)
	formats.add(cmd, false)
	dialect.add(cmd, false)
	cmd.Flags().StringVar(&selection, "select", "", "comma-separated columns, nested ones with dots (default: all)")
	cmd.Flags().StringVar(&where, "where", "", "filter expression (default: all rows)")
	cmd.Flags().Int64Var(&limit, "limit", -1, "maximum number `N` of rows (default: all)")
	cmd.Flags().Int64Var(&offset, "offset", 0, "skip the first `N` rows")
	cmd.Flags().StringVar(&format, "format", "", formatUsage)
	return cmd
}

// slice turns offset and limit into a range of positions where every record counts, so that only it is read.
func slice(records uint64, offset, limit int64) (start, end uint64, rest int64) {
	start = min(uint64(offset), records)
	end = records
	if limit >= 0 {
		end = min(end, start+uint64(limit))
	}
	return start, end, 0
}

// bindFilter parses an expression and ties it to a schema; an empty one is nil.
func bindFilter(where string, s *schema.Schema) (*filter.Bound, error) {
	if where == "" {
		return nil, nil
	}
	e, err := filter.Parse(where)
	if err != nil {
		return nil, usageError{err}
	}
	b, err := filter.Bind(e, s)
	if err != nil {
		return nil, usageError{err}
	}
	return b, nil
}

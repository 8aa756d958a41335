package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// scanFlags are the flags of scan.
type scanFlags struct {
	where, selection, snapshot, asOf, ref, format string
	limit                                         int64
	ordered, count, explain                       bool
	values                                        rowFlags
}

func (a *app) scanCommand() *cobra.Command {
	var f scanFlags
	var task string
	cmd := &cobra.Command{
		Use:   "scan T | --task FILE",
		Short: "Print the rows of a table, count them, or explain what a filter leaves to read",
		Args:  between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(checkCounts(cmd, "limit"), checkTexts(cmd, "where", "select", "snapshot", "as-of", "ref")); err != nil {
				return err
			}
			if (len(args) == 1) == (task != "") {
				return usagef("one table, or a task of plan-scan, is needed")
			}
			if task != "" {
				return a.scanTasks(cmd.Context(), task, &f)
			}
			t, err := a.readTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o, err := f.options()
			if err != nil {
				return err
			}
			o.MaxMemory = a.maxMemory
			if _, err := bindFilter(f.where, t.Schema()); err != nil && o.At == (catalog.At{}) {
				return err
			}
			p, err := t.Plan(cmd.Context(), o)
			if err != nil {
				return asUsage(err, schema.ErrNoField)
			}
			return a.runScan(cmd.Context(), p, &f)
		},
	}
	flags := cmd.Flags()
	f.values.add(cmd)
	flags.StringVar(&f.where, "where", "", "only rows for which this expression is true")
	flags.StringVar(&f.selection, "select", "", "columns, separated by commas; nested ones dotted")
	flags.Int64Var(&f.limit, "limit", -1, "at most this many rows")
	flags.StringVar(&f.snapshot, "snapshot", "", "the table as of this snapshot id")
	flags.StringVar(&f.asOf, "as-of", "", "the table as it was at this time, RFC 3339")
	flags.StringVar(&f.ref, "ref", "", "the table at this branch or tag")
	flags.StringVar(&f.format, "format", "", formatUsage)
	flags.BoolVar(&f.ordered, "ordered", false, "rows in the order in which they were committed")
	flags.BoolVar(&f.count, "count", false, "print the number of rows instead of the rows")
	flags.BoolVar(&f.explain, "explain", false, "print what was pruned and read instead of the rows")
	flags.StringVar(&task, "task", "", "read a task, or all tasks, of plan-scan --json from this file, or from standard input (-)")
	for _, name := range []string{"where", "select", "limit", "snapshot", "as-of", "ref", "count", "explain"} {
		cmd.MarkFlagsMutuallyExclusive("task", name)
	}
	cmd.MarkFlagsMutuallyExclusive("snapshot", "as-of", "ref")
	cmd.MarkFlagsMutuallyExclusive("count", "explain")
	return cmd
}

// options turns the flags into options of a scan.
func (f *scanFlags) options() (catalog.ScanOptions, error) {
	o := catalog.ScanOptions{Select: splitFields(f.selection), Ordered: f.ordered}
	if f.limit >= 0 {
		o.Limit = &f.limit
	}
	o.Ref = f.ref
	var err error
	if f.snapshot != "" {
		if o.SnapshotID, err = strconv.ParseInt(f.snapshot, 10, 64); err != nil || o.SnapshotID <= 0 {
			return o, usagef("%q is no snapshot id", f.snapshot)
		}
	}
	if f.asOf != "" {
		if o.AsOf, err = parseTime(f.asOf); err != nil {
			return o, err
		}
	}
	if f.where != "" {
		if o.Where, err = filter.Parse(f.where); err != nil {
			return o, usageError{err}
		}
	}
	return o, nil
}

// explained is the JSON form of --explain.
type explained struct {
	catalog.ScanStats
	IO *ioStats `json:"io"`
}

func (a *app) runScan(ctx context.Context, p *catalog.Plan, f *scanFlags) error {
	format, err := a.outputFormat(f.format)
	if err != nil {
		return err
	}
	sink, err := f.values.options(a)
	if err != nil {
		return err
	}
	var stats catalog.ScanStats
	if !f.count && !f.explain {
		s := &schema.Schema{Fields: p.Fields()}
		_, err = a.printRows(ctx, format, s, p.Run(ctx, &stats), 0, -1, sink)
		return err
	}
	rows, err := countRows(ctx, p, f, &stats)
	if err != nil {
		return err
	}
	if f.explain {
		return a.printExplained(explained{stats, a.ioStatsNow()})
	}
	if a.json {
		return a.printJSON(map[string]int64{"count": rows})
	}
	a.printf("%d\n", rows)
	return nil
}

// countRows runs a scan for its numbers only. Without a filter the catalog's entries tell how many rows there are,
// deleted ones left out.
func countRows(ctx context.Context, p *catalog.Plan, f *scanFlags, stats *catalog.ScanStats) (rows int64, err error) {
	if f.count && f.where == "" && f.limit < 0 {
		for _, shard := range p.Shards {
			rows += shard.Records
		}
		return rows, nil
	}
	for batch, err := range p.Run(ctx, stats) {
		if err != nil {
			return rows, err
		}
		rows += batch.NumRows()
	}
	return rows, nil
}

func (a *app) printExplained(x explained) error {
	if a.json {
		return a.printJSON(x)
	}
	read := x.ShardsTotal - x.ShardsPrunedPartition - x.ShardsPrunedBounds - x.ShardsPrunedStats
	a.printf("shards      %d of %d read; pruned: %d by partition, %d by bounds, %d by their statistics\n",
		read, x.ShardsTotal, x.ShardsPrunedPartition, x.ShardsPrunedBounds, x.ShardsPrunedStats)
	a.printf("stripes     %d pruned\nblocks      %d read, %d pruned\n", x.StripesPruned, x.BlocksRead, x.BlocksPruned)
	a.printf("rows        %d matched\n", x.RowsMatched)
	a.printf("requests    %d GETs, %d bytes; longest chain %d\n", x.IO.Gets, x.IO.GetBytes, x.IO.Depth)
	return nil
}

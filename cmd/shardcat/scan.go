package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// scanFlags are the flags of scan.
type scanFlags struct {
	where, selection, orderBy, format string
	limit, offset, head, sample       int64
	seed                              uint64
	ordered, count, explain           bool
	noIndexes, skipDamaged            bool
	at                                atFlags
	values                            rowFlags
	// original is the Arrow schema of the table, nil if it has none.
	original *arrow.Schema
}

func (a *app) scanCommand() *cobra.Command {
	var f scanFlags
	var task string
	cmd := &cobra.Command{
		Use:   "scan T | --task FILE",
		Short: "Print or count rows of a table, or explain pruning",
		Example: `  shardcat scan flights --where "origin = 'JFK' AND dep_delay > 60" --order-by "dep_delay desc" --limit 5
  shardcat scan flights --select carrier,dep_delay --format parquet > delays.parquet`,
		Args: func(cmd *cobra.Command, args []string) error {
			i := slices.IndexFunc(args, func(arg string) bool { _, err := strconv.ParseUint(arg, 10, 63); return err == nil })
			if len(args) == 2 && i >= 0 && cmd.Flags().Changed("head") {
				return usagef("--head takes its value after an equals sign: --head=%s", args[i])
			}
			return between(0, 1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCounts(cmd, "limit", "offset", "sample", "head"); err != nil {
				return err
			}
			if cmd.Flags().Changed("seed") && f.sample == 0 {
				return usagef("--seed needs --sample")
			}
			if err := eitherOf(len(args) == 1, task != "", "a table", "--task (a task of plan-scan)"); err != nil {
				return err
			}
			if task != "" {
				return a.scanTasks(cmd, task, &f)
			}
			t, err := a.readTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			format, err := a.outputFormat(f.format)
			if err == nil {
				err = f.values.check(cmd, format)
			}
			if err != nil {
				return err
			}
			o.ReuseBatches = true // who takes batches keeps nothing of them
			o.Runs = true
			if o.Where != nil && o.At == (catalog.At{}) {
				if o.Where, err = filter.Bind(o.Where, t.Schema()); err != nil {
					return usageError{err}
				}
			}
			p, err := t.Plan(cmd.Context(), o)
			if err != nil {
				return asUsage(err, schema.ErrNoField)
			}
			if f.original, err = f.values.original(cmd, t.OriginalSchema()); err != nil {
				return err
			}
			if err := a.runScan(cmd.Context(), p, &f); err != nil {
				return err
			}
			return a.reportDamaged(p.Damaged)
		},
	}
	flags := cmd.Flags()
	f.values.add(cmd)
	flags.StringVar(&f.where, "where", "", "filter expression (default: all rows)")
	flags.StringVar(&f.selection, "select", "", "comma-separated columns, nested ones with dots (default: all)")
	flags.Int64Var(&f.limit, "limit", -1, "maximum number `N` of rows (default: all)")
	flags.Int64Var(&f.offset, "offset", 0, "skip the first `N` rows")
	flags.Int64Var(&f.head, "head", -1, "print the first `N` rows in commit order (10 without a value; default: all)")
	flags.Lookup("head").NoOptDefVal = "10"
	flags.StringVar(&f.orderBy, "order-by", "", "sort by `columns`: a, b.c desc, d nulls first (default nulls last); large results spill to temporary files")
	flags.Int64Var(&f.sample, "sample", 0, "uniform random sample of `N` rows (default: all rows)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed `number` of --sample (default: random)")
	f.at.add(cmd)
	flags.StringVar(&f.format, "format", "", formatUsage)
	flags.BoolVar(&f.ordered, "ordered", true, "print rows in commit order; --ordered=false prints them as read")
	flags.BoolVar(&f.noIndexes, "ignore-indexes", false, "do not use indexes (default: use them)")
	flags.BoolVar(&f.skipDamaged, "skip-damaged", false, skipDamagedUsage)
	flags.BoolVar(&f.count, "count", false, "print the number of rows")
	flags.BoolVar(&f.explain, "explain", false, "print what is pruned and read")
	flags.StringVar(&task, "task", "", "read the tasks of plan-scan --json from this file, - for standard input")
	for _, name := range []string{"where", "select", "limit", "offset", "head", "order-by", "sample", "snapshot", "as-of", "ref", "count", "explain", "seed", "ordered", "ignore-indexes", "skip-damaged"} {
		cmd.MarkFlagsMutuallyExclusive("task", name)
	}
	cmd.MarkFlagsMutuallyExclusive("limit", "head")
	cmd.MarkFlagsMutuallyExclusive("order-by", "sample")
	cmd.MarkFlagsMutuallyExclusive("count", "explain", "format")
	for _, name := range []string{"order-by", "ordered", "all"} {
		cmd.MarkFlagsMutuallyExclusive("count", name)
	}
	return cmd
}

const skipDamagedUsage = "skip unreadable stripes, list them on standard error and exit 3 if there are any; reads everything twice (default: false)"

// reportDamaged lists what a scan left out and sets the exit code of corrupt data.
func (a *app) reportDamaged(damaged []catalog.Damage) error {
	if len(damaged) == 0 {
		return nil
	}
	rows := int64(0)
	for i := range damaged {
		rows += damaged[i].Rows
		a.warn("skipped: " + damaged[i].String())
	}
	return exitError{exitCorrupt, fmt.Errorf("%s of %s left out because of damage; shardcat repair fixes the table", plural.Count(rows, "row"), plural.Count(len(damaged), "shard"))}
}

// options turns the flags into options of a scan.
func (f *scanFlags) options(cmd *cobra.Command) (o catalog.ScanOptions, err error) {
	if f.head >= 0 {
		f.limit = f.head
	}
	o = catalog.ScanOptions{
		Select: schema.ParsePaths(f.selection), Ordered: f.ordered, Offset: f.offset, Sample: f.sample, Seed: f.seed,
		IgnoreIndexes: f.noIndexes, SkipDamaged: f.skipDamaged,
	}
	switch {
	case f.limit == 0:
		o.Limit = catalog.NoRows
	case f.limit > 0:
		o.Limit = f.limit
	}
	if o.At, err = f.at.at(); err != nil {
		return o, err
	}
	if f.orderBy != "" {
		if o.OrderBy, err = catalog.ParseOrder(f.orderBy); err != nil {
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
		sink.Original = f.original
		bar := a.scanBar(p, f)
		_, err = a.printRows(ctx, s, counted(p.Run(ctx, &stats), bar), printing{format: format, limit: f.limit, sink: sink})
		bar.Finish()
		if err == nil {
			a.warnOfReading(stats.EncodingsSkipped, stats.Contradictions, "verify")
		}
		return err
	}
	if f.explain {
		// What was read is the question, so all rows are.
		for _, err := range p.Run(ctx, &stats) {
			if err != nil {
				return err
			}
		}
		return a.printExplained(explained{stats, a.ioStatsNow()})
	}
	rows, err := p.Count(ctx, &stats)
	if err != nil {
		return err
	}
	a.warnOfReading(stats.EncodingsSkipped, stats.Contradictions, "verify")
	if a.json {
		return a.printJSON(map[string]int64{"count": rows})
	}
	a.printf("%d\n", rows)
	return nil
}

// warnOfReading warns of what scans pass over.
func (a *app) warnOfReading(skipped, contradictions int64, verify string) {
	if skipped > 0 {
		a.warn(fmt.Sprintf("damaged or unknown encodings: %d; alternative encodings of the fields were read (%s lists them)", skipped, verify))
	}
	if contradictions > 0 {
		a.warn(fmt.Sprintf("the statistics of %s contradict each other or the stored presence; the stored values were read (%s lists them)", plural.Count(contradictions, "field"), verify))
	}
}

// scanBar is a bar for rows that go to a file or another program; a person who sees the rows needs none.
func (a *app) scanBar(p *catalog.Plan, f *scanFlags) *progress.Bar {
	if a.stdoutIsTerminal() {
		return nil
	}
	total := int64(0)
	if f.where == "" && f.offset == 0 && f.sample == 0 {
		for _, e := range p.Shards {
			total += e.Records
		}
		if f.limit >= 0 {
			total = min(total, f.limit)
		}
	}
	return a.bar("scan", "rows", total)
}

// counted adds each batch to the bar.
func counted(rows iter.Seq2[arrow.RecordBatch, error], bar *progress.Bar) iter.Seq2[arrow.RecordBatch, error] {
	if bar == nil {
		return rows
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows {
			if err == nil {
				bar.Add(batch.NumRows())
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

func (a *app) printExplained(x explained) error {
	if a.json {
		return a.printJSON(x)
	}
	read := x.ShardsTotal - x.ShardsPrunedPartition - x.ShardsPrunedBounds - x.ShardsPrunedTerms - x.ShardsPrunedKeys - x.ShardsPrunedStats
	a.printf("manifests   %d read, %d pruned\n", x.ManifestsRead, x.ManifestsPruned)
	a.printf("shards      %d of %d read; pruned: %d by partition, %d by bounds, %d by term filters, %d by statistics\n",
		read, x.ShardsTotal, x.ShardsPrunedPartition, x.ShardsPrunedBounds, x.ShardsPrunedTerms, x.ShardsPrunedStats)
	if x.ShardsPrunedKeys > 0 {
		a.printf("key index   pruned %s\n", plural.Count(x.ShardsPrunedKeys, "shard"))
	}
	a.printf("stripes     %d pruned\nblocks      %d read, %d pruned\n", x.StripesPruned, x.BlocksRead, x.BlocksPruned)
	if x.StripesPrunedTerms > 0 {
		a.printf("filters     term filters pruned %s\n", plural.Count(x.StripesPrunedTerms, "stripe"))
	}
	if x.StripesIndexed > 0 {
		a.printf("indexes     used for %s: %s, %s\n", plural.Count(x.StripesIndexed, "stripe"), plural.Count(x.IndexGets, "GET"), plural.Count(x.IndexBytes, "byte"))
	}
	if x.StripesUnindexed > 0 {
		a.printf("scanned     %s for HAS or HASPREFIX without a usable text index (table index add)\n", plural.Count(x.StripesUnindexed, "stripe"))
	}
	if x.EncodingsSkipped > 0 {
		a.printf("encodings   %d damaged or unknown; alternative encodings were read (verify lists them)\n", x.EncodingsSkipped)
	}
	if x.Contradictions > 0 {
		a.printf("statistics  of %s are contradictory (verify lists them)\n", plural.Count(x.Contradictions, "field"))
	}
	a.printf("rows        %d matched\n", x.RowsMatched)
	a.printf("requests    %s, %s; longest chain %d\n", plural.Count(x.IO.Gets, "GET"), plural.Count(x.IO.GetBytes, "byte"), x.IO.Depth)
	return nil
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/tracing"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
)

// compacted is what compaction did to a table, or would do; its JSON form is part of the command line's contract.
type compacted struct {
	Table string `json:"table"`
	*compaction.Report
	DryRun bool   `json:"dry_run,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (a *app) compactCommand() *cobra.Command {
	var policy policyFlags
	var all, dryRun, check bool
	cmd := &cobra.Command{
		Use:   "compact T|--all",
		Short: "Merge small shards by metadata alone; rewrite those that cannot be merged",
		Example: `  shardcat compact logs
  shardcat compact --all --dry-run`,
		Long: "Merge small shards: one new root lists their stripes and replaces them in one snapshot; no data is read or written. " +
			"Where 64 or more stripes of 128 KiB to 2 MiB on average come together, their data is copied into one object, undecoded, so that scans read them together. " +
			"Shards with an incompatible schema, many deleted records or many small stripes, alone or together, are rewritten instead, unless the policy forbids it.",
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := eitherOf(len(args) == 1, all, "a table", "--all"); err != nil {
				return err
			}
			tracer, endTraces, err := tracing.FromEnvironment(cmd.Context(), version())
			if err != nil {
				return err
			}
			defer endTraces(context.WithoutCancel(cmd.Context())) // what the collector does not take is lost, and nothing else
			c := &compactRun{app: a, policy: &policy, options: compaction.Options{Check: check, DryRun: dryRun, Tracer: tracer}}
			c.options.Progress = c.step
			if all {
				return c.all(cmd.Context())
			}
			return c.one(cmd.Context(), args[0])
		},
	}
	policy.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all tables of the catalog")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan without executing it")
	cmd.Flags().BoolVar(&check, "check", false, "compare the rows of inputs and output before the commit")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "check")
	return cmd
}

// compactRun is one run of the command: how it compacts, and the bar of the table it is at.
type compactRun struct {
	*app
	policy  *policyFlags
	options compaction.Options
	bar     *progress.Bar
}

// policyFor is called for each table before it is compacted, which starts its bar.
func (c *compactRun) policyFor(ctx context.Context, t *catalog.Table) (compaction.Policy, error) {
	c.bar = c.app.bar("compact", "records", 0)
	return c.policy.policy(ctx, t)
}

func (c *compactRun) step(p compaction.Progress) { c.bar.At(p.RecordsDone, p.Records) }

// one compacts one table and prints what was done.
func (c *compactRun) one(ctx context.Context, name string) error {
	t, err := c.loadTable(ctx, name)
	if err != nil {
		return err
	}
	policy, err := c.policyFor(ctx, t)
	if err != nil {
		return err
	}
	report, err := compaction.Compact(ctx, t, policy, c.options)
	if err != nil {
		return fmt.Errorf("compact %s: %w", t.Name(), err)
	}
	c.bar.Finish()
	done := &compacted{Table: t.Name().String(), Report: report, DryRun: c.options.DryRun}
	if c.json {
		return c.printJSON(done)
	}
	c.printCompacted(done)
	return nil
}

// all compacts every table, also after a failure, prints one result per table and exits 1 if any failed.
func (c *compactRun) all(ctx context.Context) error {
	tables, err := c.openTables(ctx)
	if err != nil {
		return err
	}
	results, failed := []*compacted{}, false
	for table, err := range compaction.CompactAll(ctx, tables, c.policyFor, c.options) {
		if err != nil {
			return err
		}
		done := &compacted{Table: table.Table.String(), Report: table.Report, DryRun: c.options.DryRun}
		if table.Err != nil {
			done = &compacted{Table: done.Table, Error: oneLine(fmt.Errorf("compact %s: %w", done.Table, table.Err))}
			failed = true
		} else {
			c.bar.Finish()
		}
		results = append(results, done)
	}
	if c.json {
		if err := c.printJSON(results); err != nil {
			return err
		}
	} else {
		for _, r := range results {
			c.printCompacted(r)
		}
	}
	if failed {
		return silently(exitFailed)
	}
	return nil
}

func (a *app) printCompacted(c *compacted) {
	switch {
	case c.Error != "":
		a.printf("%s: failed: %s\n", c.Table, c.Error)
	case len(c.Plan.Groups) == 0:
		a.printf("%s: nothing to do, %s\n", c.Table, plural.Count(c.ShardsBefore, "shard"))
	case c.DryRun:
		a.printf("%s: would merge\n", c.Table)
		a.printGroups(c.Plan)
	default:
		a.printf("%s: %s → %d, %s of data moved\n", c.Table, plural.Count(c.ShardsBefore, "shard"), c.ShardsAfter, plural.Count(c.BytesMoved, "byte"))
		a.printLeft(c.Plan)
		if n := c.droppedIndexes(); n > 0 {
			a.printf("%s: %s dropped (table index build rebuilds them)\n", c.Table, plural.Count(n, "shard-scoped index"))
		}
	}
}

// printLeft reports what a run leaves behind that a list of shards does not show.
func (a *app) printLeft(p *compaction.Plan) {
	var held int64
	for _, g := range p.Groups {
		held += g.HeldBytes
	}
	if held > 0 {
		a.printf("retained    %s of input data still referenced by merged roots\n", progress.Bytes(held))
	}
	if o := p.Overlap; o != nil {
		a.printf("overlap     up to %d of %s held the same value of %s\n", o.Depth, plural.Count(o.Shards, "shard"), o.Column)
	}
}

// droppedIndexes counts the indexes that merging left out.
func (c *compacted) droppedIndexes() (n int) {
	for i := range c.Results {
		n += c.Results[i].DroppedIndexes
	}
	return n
}

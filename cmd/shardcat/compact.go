package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
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
		Short: "Merge small shards without moving data, and rebuild what can't be merged",
		Example: `  shardcat compact logs
  shardcat compact --all --dry-run`,
		Long: "Merge small shards by listing their stripes in one new root, and replace them by it in one snapshot: no data is read or written. " +
			"Shards of a schema that can't be concatenated with the table's, with many deleted records or with many small stripes are " +
			"written anew instead, unless the policy forbids it.",
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == all {
				return usagef("one table or --all is needed")
			}
			if !all {
				t, err := a.loadTable(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.compactOne(cmd.Context(), t, &policy, dryRun, check)
			}
			return a.compactAll(cmd.Context(), &policy, dryRun, check)
		},
	}
	policy.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every table of the catalog")
	cmd.Flags().Bool("once", true, "one round, and end, as compact always does; serve goes on")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan only")
	cmd.Flags().BoolVar(&check, "check", false, "read the rows of inputs and output, and commit only if they are equal")
	return cmd
}

// compactOne compacts one table and prints what was done.
func (a *app) compactOne(ctx context.Context, t *catalog.Table, f *policyFlags, dryRun, check bool) error {
	done, err := a.compactTable(ctx, t, f, dryRun, check)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(done)
	}
	a.printCompacted(done)
	return nil
}

// compactAll goes on after a failure, prints one result per table and exits 1 if any failed.
func (a *app) compactAll(ctx context.Context, f *policyFlags, dryRun, check bool) error {
	tables, err := a.openTables(ctx)
	if err != nil {
		return err
	}
	names, err := tables.Tables(ctx, "")
	if err != nil {
		return err
	}
	results, failed := []*compacted{}, false
	for _, name := range names {
		done, err := a.compactNamed(ctx, tables, name, f, dryRun, check)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			done, failed = &compacted{Table: name.String(), Error: oneLine(err)}, true
		}
		results = append(results, done)
	}
	if a.json {
		if err := a.printJSON(results); err != nil {
			return err
		}
	} else {
		for _, r := range results {
			a.printCompacted(r)
		}
	}
	if failed {
		return silently(exitFailed)
	}
	return nil
}

func (a *app) compactNamed(ctx context.Context, tables *catalog.Catalog, name catalog.Name, f *policyFlags, dryRun, check bool) (*compacted, error) {
	t, err := tables.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	return a.compactTable(ctx, t, f, dryRun, check)
}

func (a *app) compactTable(ctx context.Context, t *catalog.Table, f *policyFlags, dryRun, check bool) (*compacted, error) {
	p, err := f.policy(a.config, t)
	if err != nil {
		return nil, err
	}
	done := &compacted{Table: t.Name().String(), DryRun: dryRun}
	if dryRun {
		plan, err := compaction.NewPlan(ctx, t, p)
		if err != nil {
			return nil, err
		}
		done.Report = &compaction.Report{Plan: plan, Results: []compaction.Result{}, ShardsBefore: plan.Shards, ShardsAfter: plan.Shards}
		return done, nil
	}
	bar, before := a.bar("compact", "groups", 0), 0
	done.Report, err = compaction.Compact(ctx, t, p, compaction.Options{Check: check, Progress: func(groups, _ int) {
		bar.Add(int64(groups - before))
		before = groups
	}})
	if err != nil {
		return nil, fmt.Errorf("compact %s: %w", t.Name(), err)
	}
	bar.Finish()
	return done, nil
}

func (a *app) printCompacted(c *compacted) {
	switch {
	case c.Error != "":
		a.printf("%s: failed: %s\n", c.Table, c.Error)
	case len(c.Plan.Groups) == 0:
		a.printf("%s: nothing to do, %d shards\n", c.Table, c.ShardsBefore)
	case c.DryRun:
		a.printf("%s: would merge\n", c.Table)
		a.printGroups(c.Plan)
	default:
		a.printf("%s: %d shards → %d, %d bytes of data moved\n", c.Table, c.ShardsBefore, c.ShardsAfter, c.BytesMoved)
		if n := c.droppedIndexes(); n > 0 {
			a.printf("%s: %d indexes left out, whose positions count over a whole shard (table index add builds them anew)\n", c.Table, n)
		}
	}
}

// droppedIndexes counts the indexes that merging left out.
func (c *compacted) droppedIndexes() (n int) {
	for i := range c.Results {
		n += c.Results[i].DroppedIndexes
	}
	return n
}

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
)

func (a *app) verifyCommand() *cobra.Command {
	var subset string
	cmd := &cobra.Command{
		Use:   "verify T",
		Short: "Verify a table from its metadata to every byte of its shards",
		Long: `Check every retained snapshot, the counts of its manifests, every entry against its shard, and the existence of
each referenced range, and read every byte of the shards or of a subset. The exit code is 3 if there is a fault.`,
		Example: `  shardcat verify flights
  shardcat verify flights --read-data-subset 1/10 --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var data catalog.Subset
			err := data.Set(subset)
			if err != nil {
				return err
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			bar := a.bar("verify", "B", 0)
			r, err := t.Verify(cmd.Context(), catalog.VerifyOptions{Data: data, Progress: bar.Add, Expect: bar.Expect})
			bar.Finish()
			if err != nil {
				return err
			}
			return a.printTableVerified(r)
		},
	}
	cmd.Flags().StringVar(&subset, "read-data-subset", "", "verify the data of a subset of shards: 1/10 for the first of ten groups, 5% for a random share (default: all)")
	return cmd
}

func (a *app) printTableVerified(r *catalog.VerifyResult) error {
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		for _, f := range r.Errors {
			a.printFault(&f)
		}
		for _, w := range r.Warnings {
			a.printf("note: %s\n", w)
		}
		verdict := "whole"
		if !r.OK {
			verdict = "damaged; see shardcat repair"
		}
		a.printf("%s: %s; %s, %s, %s, %d of them read with %s\n",
			r.Table, verdict, plural.Count(r.Snapshots, "snapshot"), plural.Count(r.Manifests, "manifest"), plural.Count(r.Shards, "shard"), r.ShardsRead, plural.Count(r.Bytes, "byte"))
	}
	if !r.OK {
		return silently(exitCorrupt)
	}
	return nil
}

func (a *app) printFault(f *catalog.TableFault) {
	if f.Offset < 0 {
		a.printf("%s: %s: %s\n", f.Kind, f.Object, f.What)
	} else {
		a.printf("%s: %s at offset %d: %s\n", f.Kind, f.Object, f.Offset, f.What)
	}
}

func (a *app) repairCommand() *cobra.Command {
	var subset string
	var o catalog.RepairOptions
	cmd := &cobra.Command{
		Use:   "repair T",
		Short: "Repair faults found by verify: entries, statistics and, with --accept-loss, lost rows",
		Long: `Verify a table and repair its current state, each shard in its own snapshot: entries that differ from their shards are
recreated; shards with readable values but damaged statistics or other bytes are rewritten; unreadable stripes are
removed with --accept-loss only, and the shard with them if it has no others. The exit code is 3 if faults remain.`,
		Example: `  shardcat repair flights --dry-run
  shardcat repair flights --accept-loss`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var data catalog.Subset
			err := data.Set(subset)
			if err != nil {
				return err
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o.Verify.Data = data
			r, err := t.Repair(cmd.Context(), o)
			if err != nil {
				return err
			}
			return a.printRepaired(r)
		},
	}
	cmd.Flags().StringVar(&subset, "read-data-subset", "", "verify the data of a subset of shards, as in verify (default: all)")
	cmd.Flags().BoolVar(&o.AcceptLoss, "accept-loss", false, "drop unreadable stripes and shards (default: false)")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would be done without changing anything (default: false)")
	return cmd
}

func (a *app) printRepaired(r *catalog.RepairResult) error {
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		for _, x := range r.Repairs {
			for _, f := range x.Faults {
				a.printf("%s\n", f)
			}
			a.printf("  %s: %s (%s) %s\n", x.Action, x.Shard, plural.Count(x.Rows, "row"), x.Why)
		}
		for _, f := range r.Left {
			a.printf("left: ")
			a.printFault(&f)
		}
		for _, m := range r.Remains {
			a.printf("remains: %s, in %s: verify reports it, and gc stops if its root is lost, until %s\n", m.Shard, plural.Count(len(m.Snapshots), "snapshot"), untilText(&m, r.Table))
		}
		left := len(r.Left)
		for _, x := range r.Repairs {
			if x.Action == catalog.RepairNone {
				left += len(x.Faults)
			}
		}
		lost := "lost"
		if r.DryRun {
			lost = "would be lost"
		}
		a.printf("%s: %s, %s left, %s %s\n", r.Table, plural.Count(len(r.Repairs), "damaged shard"), plural.Count(left, "fault"), plural.Count(r.RowsLost, "row"), lost)
	}
	if !r.OK {
		return silently(exitCorrupt)
	}
	return nil
}

// untilText reports when a lost shard leaves the last snapshot, and by which command sooner.
func untilText(m *catalog.Remain, table string) string {
	if len(m.Refs) > 0 {
		return "the refs " + strings.Join(m.Refs, ", ") + " are dropped or moved, and the snapshots have expired"
	}
	return fmt.Sprintf("they expire: at %s, or now with shardcat expire %s --older-than 0s", m.Until.Format(time.RFC3339), table)
}

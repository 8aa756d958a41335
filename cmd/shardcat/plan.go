package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
)

// policyFlags override the policy that a table has.
type policyFlags struct {
	mode  string
	flags map[string]*string
}

func (f *policyFlags) add(cmd *cobra.Command) {
	f.flags = map[string]*string{}
	for _, s := range compaction.Settings {
		f.flags[s.Name] = settingFlag(cmd, s.Name, s.Meaning+"; for this run (default: the table's policy)", s.Bool)
	}
	cmd.Flags().StringVar(&f.mode, "mode", "auto", "auto, concat, pack or rebuild: auto chooses the cheapest, pack copies data without decoding it, rebuild rewrites shards")
}

// levels returns all settings of a table, the flags of this run as the strongest. Those of the configuration file are left out:
// they override what serve does, and no single run.
func (f *policyFlags) levels(ctx context.Context, t *catalog.Table) ([]compaction.Level, error) {
	levels, err := compaction.Overrides(nil).Levels(ctx, t)
	if err != nil {
		return nil, err
	}
	given := map[string]string{}
	for name, text := range f.flags {
		if *text != "" {
			given[name] = *text
		}
	}
	flags := compaction.Level{Source: "flag", Settings: given}
	return append(levels, flags), asUsage(flags.Check(), compaction.ErrPolicy)
}

// policy is what the levels come to, by the mode that was requested.
func (f *policyFlags) policy(ctx context.Context, t *catalog.Table) (compaction.Policy, error) {
	levels, err := f.levels(ctx, t)
	if err != nil {
		return compaction.Policy{}, err
	}
	in, err := compaction.Resolve(levels)
	if err != nil {
		return compaction.Policy{}, asUsage(err, compaction.ErrPolicy)
	}
	p := in.Policy
	switch compaction.Mode(f.mode) {
	case "auto":
	case compaction.Concat:
		p.NoRebuild, p.NoPack = true, true
	case compaction.Pack:
		p.NoRebuild, p.PackAll = true, true
	case compaction.Rebuild:
		p.RebuildAll = true
	default:
		return p, usagef("invalid argument %q for --mode: auto, concat, pack or rebuild", f.mode)
	}
	return p, nil
}

func (a *app) planCommand() *cobra.Command {
	var policy policyFlags
	cmd := &cobra.Command{
		Use:   "plan T",
		Short: "Show what compaction would merge and its cost",
		Example: `  shardcat plan logs
  shardcat plan logs --target-size 256MiB --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.readTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p, err := policy.policy(cmd.Context(), t)
			if err != nil {
				return err
			}
			plan, err := compaction.NewPlan(cmd.Context(), t, p)
			if err != nil {
				return asUsage(err, compaction.ErrPolicy)
			}
			return a.printPlan(plan)
		},
	}
	policy.add(cmd)
	return cmd
}

func (a *app) printPlan(p *compaction.Plan) error {
	if a.json {
		return a.printJSON(p.Groups)
	}
	if len(p.Groups) == 0 {
		a.printf("nothing to do: %s\n", plural.Count(p.Shards, "shard"))
	}
	a.printGroups(p)
	a.printf("manifests   %d read, %d pruned\n", p.Manifests, p.ManifestsPruned)
	return nil
}

func (a *app) printGroups(p *compaction.Plan) {
	for _, why := range p.Unmet {
		a.printf("not achievable: %s\n", why)
	}
	if o := p.Overlap; o != nil {
		a.printf("overlap     up to %d of %s hold the same value of %s\n", o.Depth, plural.Count(o.Shards, "shard"), o.Column)
	}
	for i, g := range p.Groups {
		a.printf("group %d     %s: %s → %d, %s, %s\n", i+1, g.Mode, plural.Count(g.Inputs.Len(), "shard"), g.Outputs, plural.Count(g.Records, "record"), progress.Bytes(g.Bytes))
		a.printf("  cost      %s of data moved, %d of metadata; %s, %s, about %s\n", plural.Count(g.BytesMoved, "byte"), g.MetadataBytes, plural.Count(g.Gets, "GET"), plural.Count(g.Puts, "PUT"), plural.Count(g.Steps, "step"))
		if g.HeldBytes > 0 {
			a.printf("  retained  %s of input data still referenced by the merged root\n", progress.Bytes(g.HeldBytes))
		}
		if c := g.Scan; c != nil {
			a.printf("  scan      %s → %d, %s → %d, %s → %s\n", plural.Count(c.GetsBefore, "GET"), c.GetsAfter, plural.Count(c.StepsBefore, "step"), c.StepsAfter, progress.Bytes(c.BytesBefore), progress.Bytes(c.BytesAfter))
		}
		a.printf("  reason    %s\n", g.Reason)
		if g.Loss != nil {
			a.printf("  pruning   %s\n", lossText(g.Loss))
		}
		for _, in := range g.Inputs.Paths() {
			a.printf("  input     %s\n", in[strings.LastIndexByte(in, '/')+1:])
		}
	}
}

// lossText reports what a merge costs later scans.
func lossText(l *compaction.PruningLoss) string {
	return fmt.Sprintf("the range of %s in the merged shard is %.1f times as wide as in the inputs; stripes still prune", l.Column, l.Factor)
}

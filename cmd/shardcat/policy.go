package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/compaction"
)

func (a *app) policyCommand() *cobra.Command {
	return group("policy", "Show, change and explain when a table is compacted",
		a.policyShowCommand(), a.policySetCommand(), a.policyExplainCommand())
}

func (a *app) policyShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show T",
		Short:   "Show the compaction policy of a table and where each setting comes from",
		Example: "  shardcat policy show logs\n  shardcat policy show web.requests --json",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			values, err := compaction.Values(t.Properties())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(values)
			}
			for _, v := range values {
				a.printf("%-22s %-14s %s\n", v.Name, v.Value, v.Source)
			}
			return nil
		},
	}
}

func (a *app) policySetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set T SETTING=VALUE...",
		Short: "Change settings of a table's compaction policy",
		Long: "Change settings of a table's compaction policy. The policy that results is checked before anything is written; an empty value goes " +
			"back to the default. Settings are kept as table properties " + compaction.PropertyPrefix + "SETTING.",
		Example: "  shardcat policy set logs target-size=512MiB max-creation-range=24h\n  shardcat policy set logs target-size=",
		Args:    atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings := map[string]string{}
			for _, pair := range args[1:] {
				name, value, ok := strings.Cut(pair, "=")
				if !ok {
					return usagef("%q: SETTING=VALUE was expected", pair)
				}
				settings[name] = value
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return asUsage(compaction.SetPolicy(cmd.Context(), t, settings), compaction.ErrPolicy)
		},
	}
}

// policyReason is why a table is compacted as it is.
type policyReason struct {
	Table    string                    `json:"table"`
	Settings []compaction.SettingValue `json:"settings"`
	Shards   int                       `json:"shards"`
	Groups   []compaction.Group        `json:"groups"`
	// Left are the shards that no group takes, by the reason why.
	Left map[string]int `json:"left"`
}

func (a *app) policyExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain T",
		Short:   "Say what the policy would do now, and why shards are left alone",
		Example: "  shardcat policy explain logs\n  shardcat policy explain logs --json",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			e := policyReason{Table: t.Name().String()}
			if e.Settings, err = compaction.Values(t.Properties()); err != nil {
				return err
			}
			policy, err := compaction.PolicyOf(t.Properties())
			if err != nil {
				return err
			}
			plan, err := compaction.NewPlan(cmd.Context(), t, policy)
			if err != nil {
				return err
			}
			e.Shards, e.Groups, e.Left = plan.Shards, plan.Groups, plan.Left
			if a.json {
				e.Groups = slices.Concat([]compaction.Group{}, e.Groups)
				return a.printJSON(e)
			}
			a.printf("%s: %d shards, %d groups to compact\n", e.Table, e.Shards, len(e.Groups))
			a.printGroups(plan)
			for _, why := range slices.Sorted(maps.Keys(e.Left)) {
				a.printf("left alone  %d: %s\n", e.Left[why], why)
			}
			return nil
		},
	}
}

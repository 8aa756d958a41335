package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/plural"
)

func (a *app) policyCommand() *cobra.Command {
	return group("policy", "Show, change and explain compaction policies",
		a.policyShowCommand(), a.policySetCommand(), a.policyExplainCommand())
}

func (a *app) policyShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show T|NAMESPACE.*",
		Short:   "Show the compaction policy of a table or namespace with the source of each setting",
		Example: "  shardcat policy show logs\n  shardcat policy show 'web.*' --json",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			levels, err := a.policyLevels(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			in, err := compaction.Resolve(levels)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(in.Values)
			}
			for _, v := range in.Values {
				a.printf("%-22s %-14s %s\n", v.Name, v.Value, v.Source)
			}
			return nil
		},
	}
}

// policyLevels are the places where settings of a table, or of "NAMESPACE.*", stand.
func (a *app) policyLevels(ctx context.Context, name string) ([]compaction.Level, error) {
	if namespace, ok := strings.CutSuffix(name, ".*"); ok {
		tables, err := a.openCatalog(ctx, catalog.ReadOnly)
		if err != nil {
			return nil, err
		}
		return a.config.tables.NamespaceLevels(ctx, tables, namespace)
	}
	t, err := a.readTable(ctx, name)
	if err != nil {
		return nil, err
	}
	return a.config.tables.Levels(ctx, t)
}

func (a *app) policySetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set T|NAMESPACE.* SETTING=VALUE...",
		Short: "Change the compaction policy of a table or namespace",
		Long: "Change the compaction policy of a table or namespace. The resulting policy is validated before it is written; an empty value " +
			"restores the inherited one. Settings are stored as properties " + compaction.PropertyPrefix + "SETTING. Settings of the whole catalog " +
			"are in the file given by --config, below tables: \"*\".",
		Example: "  shardcat policy set logs target-size=512MiB max-creation-range=24h\n  shardcat policy set 'web.*' target-size=",
		Args:    atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings := map[string]string{}
			for _, pair := range args[1:] {
				name, value, ok := strings.Cut(pair, "=")
				if !ok {
					return usagef("%q: expected SETTING=VALUE", pair)
				}
				settings[name] = value
			}
			return asUsage(a.setPolicy(cmd.Context(), args[0], settings), compaction.ErrPolicy)
		},
	}
}

func (a *app) setPolicy(ctx context.Context, name string, settings map[string]string) error {
	if name == "*" {
		return usagef("settings for all tables of a catalog are in the file given by --config, below tables: \"*\"")
	}
	if namespace, ok := strings.CutSuffix(name, ".*"); ok {
		tables, err := a.openTables(ctx)
		if err != nil {
			return err
		}
		return compaction.SetNamespacePolicy(ctx, tables, namespace, settings)
	}
	t, err := a.loadTable(ctx, name)
	if err != nil {
		return err
	}
	return compaction.SetPolicy(ctx, t, settings)
}

// policyReason is why a table is compacted as it is.
type policyReason struct {
	Table    string                    `json:"table"`
	Settings []compaction.SettingValue `json:"settings"`
	Shards   int                       `json:"shards"`
	Groups   []compaction.Group        `json:"groups"`
	// Left are the shards that no group takes, by the reason why.
	Left map[string]int `json:"left"`
	// Unmet is what the policy requires and the table can't have.
	Unmet []string `json:"unmet,omitempty"`
}

func (a *app) policyExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain T",
		Short:   "Explain what the policy would do now and why shards are skipped",
		Example: "  shardcat policy explain logs\n  shardcat policy explain logs --json",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.readTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			e := policyReason{Table: t.Name().String()}
			in, err := a.config.tables.Effective(cmd.Context(), t)
			if err != nil {
				return err
			}
			plan, err := compaction.NewPlan(cmd.Context(), t, in.Policy)
			if err != nil {
				return err
			}
			e.Settings, e.Shards, e.Groups, e.Left, e.Unmet = in.Values, plan.Shards, plan.Groups, plan.Left, plan.Unmet
			if a.json {
				e.Groups = slices.Concat([]compaction.Group{}, e.Groups)
				return a.printJSON(e)
			}
			a.printf("%s: %s, %s to compact\n", e.Table, plural.Count(e.Shards, "shard"), plural.Count(len(e.Groups), "group"))
			a.printGroups(plan)
			for _, why := range slices.Sorted(maps.Keys(e.Left)) {
				a.printf("skipped     %d: %s\n", e.Left[why], why)
			}
			return nil
		},
	}
}

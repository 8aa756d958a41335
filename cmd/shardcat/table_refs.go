package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
)

func (a *app) tableRefsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "refs T",
		Short:   "List branches and tags of a table",
		Example: "  shardcat table refs flights\n  shardcat table refs flights --json",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(t.Refs())
			}
			for _, r := range t.Refs() {
				a.printf("%-6s %-20d %s\n", r.Type, r.SnapshotID, r.Name)
			}
			return nil
		},
	}
}

func (a *app) tableTagCommand() *cobra.Command {
	return a.createRefCommand("tag", "Create a tag, which keeps a snapshot from expiring",
		"  shardcat table tag flights end-of-2013\n  shardcat table tag flights audited --snapshot 5213874502837465",
		(*catalog.Table).CreateTag)
}

func (a *app) tableBranchCommand() *cobra.Command {
	return a.createRefCommand("branch", "Create a branch for ingest --ref; readers of main do not see it",
		"  shardcat table branch flights audit\n  shardcat table branch flights retry --snapshot 5213874502837465",
		(*catalog.Table).CreateBranch)
}

// createRefCommand makes a ref of one kind.
func (a *app) createRefCommand(kind, short, example string, create func(*catalog.Table, context.Context, string, int64) (*catalog.Ref, error)) *cobra.Command {
	var snapshot string
	cmd := &cobra.Command{
		Use:     kind + " T NAME",
		Short:   short,
		Example: example,
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := snapshotID(snapshot)
			if err != nil {
				return err
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			ref, err := create(t, cmd.Context(), args[1], id)
			if err != nil {
				return err
			}
			return a.printRef(ref)
		},
	}
	cmd.Flags().StringVar(&snapshot, "snapshot", "", "snapshot ID (default: the head of main)")
	return cmd
}

// snapshotID reads a snapshot's id; "" is 0.
func snapshotID(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return 0, usagef("%q is not a snapshot ID; table history lists them", text)
	}
	return id, nil
}

func (a *app) printRef(r *catalog.Ref) error {
	if a.json {
		return a.printJSON(r)
	}
	a.printf("%s %s is at snapshot %d\n", r.Type, r.Name, r.SnapshotID)
	return nil
}

func (a *app) tableRollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rollback T ID",
		Short: "Roll main back to an earlier snapshot",
		Long: `Roll main back to an earlier snapshot. The later ones stay until they expire; fast-forward restores them.
Their jobs can be repeated with the same job IDs.`,
		Example: "  shardcat table rollback flights 5213874502837465\n  shardcat table rollback flights 5213874502837465 --json",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := snapshotID(args[1])
			if err != nil {
				return err
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := t.Rollback(cmd.Context(), id); err != nil {
				return err
			}
			return a.printRef(&catalog.Ref{Name: "main", Type: catalog.RefBranch, SnapshotID: id})
		},
	}
}

func (a *app) tableFastForwardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fast-forward T NAME TO",
		Short: "Move a branch forward to a branch, tag or snapshot ID",
		Long: `Move branch NAME forward to the branch, tag or snapshot ID TO. Only the ref is written, so that data ingested and checked on a branch is
published in one step. A branch that has diverged is a conflict.`,
		Example: "  shardcat table fast-forward flights main audit\n  shardcat table fast-forward flights audit 5213874502837465",
		Args:    exactly(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			to := catalog.At{Ref: args[2]}
			if id, err := snapshotID(args[2]); err == nil {
				to = catalog.At{SnapshotID: id}
			}
			ref, err := t.FastForward(cmd.Context(), args[1], to)
			if err != nil {
				return err
			}
			return a.printRef(ref)
		},
	}
}

func (a *app) tableCherryPickCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cherry-pick T ID",
		Short: "Apply the append of a snapshot of another branch to main",
		Long: `Apply the append of a snapshot of another branch to main. Shards are shared, not copied. Only appends can be picked; picking one twice has
no effect.`,
		Example: "  shardcat table cherry-pick flights 5213874502837465\n  shardcat table cherry-pick flights 5213874502837465 --json",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := snapshotID(args[1])
			if err != nil {
				return err
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			done, err := t.CherryPick(cmd.Context(), id)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(done)
			}
			a.printf("main is at snapshot %d\n", done.SnapshotID)
			return nil
		},
	}
}

func (a *app) tableDropRefCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "drop-ref T NAME",
		Short:   "Remove a branch or tag",
		Example: "  shardcat table drop-ref flights audit\n  shardcat table drop-ref flights end-of-2013",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := t.DropRef(cmd.Context(), args[1]); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"dropped": args[1]})
			}
			a.printf("dropped %s\n", args[1])
			return nil
		},
	}
}

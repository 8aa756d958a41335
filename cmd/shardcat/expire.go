package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
)

// expired is the JSON form of an expiry.
type expired struct {
	Table string `json:"table"`
	*catalog.ExpirePlan
	DryRun bool `json:"dry_run"`
}

func (a *app) expireCommand() *cobra.Command {
	var olderThan string
	var o catalog.ExpireOptions
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "expire T",
		Short: "Remove old snapshots from a table's metadata; objects stay until gc",
		Long: `Remove snapshots older than an age from the table's metadata. The head and the last snapshots of each branch, and
tagged snapshots, are kept. No object is deleted: gc does that.`,
		Example: `  shardcat expire flights --older-than 5d --dry-run
  shardcat expire flights --older-than 12h --retain-last 10`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			age, err := literal.ParseAge(olderThan)
			if err != nil {
				return usagef("--older-than: %v", err)
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if o.Age = age; age == 0 {
				o.OlderThan = time.Now()
			}
			p, err := t.PlanExpire(o)
			if err != nil {
				return err
			}
			if !dryRun {
				if err := p.Execute(cmd.Context()); err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(expired{t.Name().String(), p, dryRun})
			}
			verb := "expired"
			if dryRun {
				verb = "would expire"
			}
			a.printf("%s: %s %s, %d retained\n", t.Name(), verb, plural.Count(len(p.Snapshots), "snapshot"), p.Retained)
			return nil
		},
	}
	cmd.Flags().StringVar(&olderThan, "older-than", "5d", "age of the snapshots to remove: days (5d) or hours and minutes (12h30m)")
	cmd.Flags().IntVar(&o.RetainLast, "retain-last", 1, "minimum number of snapshots to keep per branch")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be deleted without changing anything (default: false)")
	return cmd
}

func (a *app) jobsCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "jobs T",
		Short: "List the open jobs of a table",
		Long: `List the open jobs of a table; gc keeps their objects. A killed job stays open until a collection finds it
older than --min-age and abandons it.`,
		Example: `  shardcat jobs flights
  shardcat jobs flights --all --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			jobs, err := t.Jobs(cmd.Context(), all)
			if err != nil {
				return err
			}
			if a.json {
				if jobs == nil {
					jobs = []*catalog.JobState{}
				}
				return a.printJSON(jobs)
			}
			for _, j := range jobs {
				state := "open"
				if j.End != nil {
					state = fmt.Sprintf("%s, snapshot %d", j.End.Outcome, j.End.Snapshot)
				}
				a.printf("%s  %-10s begun %s  %s\n", j.ID, j.Kind, j.Started.Format("2006-01-02T15:04:05Z"), state)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include finished jobs (default: false)")
	return cmd
}

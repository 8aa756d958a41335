package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
)

// collectFlags are the flags for the age of garbage.
type collectFlags struct {
	minAge, deleteDelay string
	unsafe              bool
}

func (f *collectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.minAge, "min-age", "7d", "minimum age of objects to delete, by the store's clock")
	cmd.Flags().StringVar(&f.deleteDelay, "delete-delay", "48h", "delay between marking and deleting an object")
	cmd.Flags().BoolVar(&f.unsafe, "unsafe-min-age", false, "allow --min-age below 24h; only safe without concurrent writers (default: false)")
}

func (f *collectFlags) options() (o catalog.CollectOptions, err error) {
	if o.MinAge, err = literal.ParseAge(f.minAge); err != nil {
		return o, usagef("--min-age: %v", err)
	}
	if o.DeleteDelay, err = literal.ParseAge(f.deleteDelay); err != nil {
		return o, usagef("--delete-delay: %v", err)
	}
	if o.DeleteDelay == 0 {
		o.DeleteDelay = -1 // none, not the default
	}
	if o.MinAge == 0 {
		o.MinAge = 1
	}
	o.UnsafeMinAge = f.unsafe
	return o, nil
}

// collected is the JSON form of a collection.
type collected struct {
	*catalog.CollectResult
	Error string `json:"error,omitempty"`
}

func (a *app) gcCommand() *cobra.Command {
	var f collectFlags
	var all, execute bool
	var ratio float64
	cmd := &cobra.Command{
		Use:   "gc T|--all",
		Short: "Delete unreachable objects in two phases: mark, then delete",
		Long: `Delete unreachable objects. Without --execute only the plan is printed.
With --execute, unreachable objects older than --min-age are marked by a record in the vault folder; a run at least
--delete-delay later deletes those which are still unreachable and unchanged. Only the table's own vault folder and
Iceberg files are swept. If anything cannot be read, nothing is deleted.
With --all the files of tables dropped more than --delete-delay ago are deleted too; until then undrop restores them.`,
		Example: `  shardcat gc flights
  shardcat gc --all --execute --min-age 3d`,
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := eitherOf(len(args) == 1, all, "a table", "--all"); err != nil {
				return err
			}
			o, err := f.options()
			if err != nil {
				return err
			}
			o.Execute, o.MaxDeleteRatio = execute, ratio
			if all {
				return a.gcAll(cmd.Context(), o)
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			c, err := t.Collect(cmd.Context(), o)
			if c == nil {
				return err
			}
			if printErr := a.printCollected(&collected{CollectResult: c}); printErr != nil {
				return printErr
			}
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all tables of the catalog, one after another (default: false)")
	cmd.Flags().BoolVar(&execute, "execute", false, "mark and delete objects (default: print the plan)")
	cmd.Flags().Float64Var(&ratio, "max-delete-ratio", catalog.DefaultMaxDeleteRatio, "maximum share of a table's objects to mark or delete")
	return cmd
}

// gcAll goes on after a failure, prints one result per table and exits 1 if any failed.
func (a *app) gcAll(ctx context.Context, o catalog.CollectOptions) error {
	tables, err := a.openTables(ctx)
	if err != nil {
		return err
	}
	names, err := tables.Tables(ctx, "")
	if err != nil {
		return err
	}
	results, failed := []*collected{}, false
	for _, name := range names {
		r := &collected{}
		t, err := tables.Load(ctx, name)
		if err == nil {
			r.CollectResult, err = t.Collect(ctx, o)
		}
		if ctx.Err() != nil {
			return err
		}
		if r.CollectResult == nil {
			r.CollectResult = &catalog.CollectResult{Table: name.String(), DryRun: !o.Execute}
		}
		if err != nil {
			r.Error, failed = oneLine(err), true
		}
		results = append(results, r)
		if !a.json {
			if err := a.printCollected(r); err != nil {
				return err
			}
		}
	}
	dropped, err := tables.CollectDropped(ctx, o)
	for _, c := range dropped {
		results = append(results, &collected{CollectResult: c})
		if !a.json {
			if err := a.printCollected(results[len(results)-1]); err != nil {
				return err
			}
		}
	}
	if err != nil {
		failed = true
		a.warn(err.Error())
	}
	if a.json {
		if err := a.printJSON(results); err != nil {
			return err
		}
	}
	if failed {
		return silently(exitFailed)
	}
	return nil
}

func (a *app) printCollected(c *collected) error {
	if a.json {
		return a.printJSON(c)
	}
	if c.Error != "" {
		a.printf("%s: failed: %s\n", c.Table, c.Error)
	}
	mark, remove := "marked", "deleted"
	if c.DryRun {
		mark, remove = "would mark", "would delete"
	}
	if c.Dropped {
		a.printf("%s (dropped): %s with %s\n", c.Table, plural.Count(c.Objects, "object"), progress.Bytes(c.Bytes))
	} else {
		a.printf("%s: %s with %s, %d live with %s\n", c.Table, plural.Count(c.Objects, "object"), progress.Bytes(c.Bytes), c.Live, progress.Bytes(c.LiveBytes))
		a.printGarbage(mark, c.Mark, c.MarkBytes)
	}
	a.printGarbage(remove, c.Delete, c.DeleteBytes)
	for _, why := range slices.Sorted(maps.Keys(c.Kept)) {
		a.printf("  kept %s with %s: %s\n", plural.Count(c.Kept[why].Objects, "object"), progress.Bytes(c.Kept[why].Bytes), why)
	}
	for _, url := range c.Unknown {
		a.printf("  unknown kind: %s\n", url)
	}
	if c.ForgottenJobs > 0 {
		a.printf("  %s of jobs that ended before the retention of job records (%s)\n", plural.Count(c.ForgottenJobs, "record"), catalog.JobMemoryProperty)
	}
	if len(c.ClosedJobs) > 0 {
		a.printf("  abandoned jobs that were open too long: %s\n", strings.Join(c.ClosedJobs, ", "))
	}
	return nil
}

// fewLines is how many objects are listed by name where nobody requested JSON.
const fewLines = 20

func (a *app) printGarbage(verb string, objects []catalog.Garbage, bytes int64) {
	a.printf("  %s %s with %s\n", verb, plural.Count(len(objects), "object"), progress.Bytes(bytes))
	for i, g := range objects {
		if i == fewLines {
			a.printf("    … and %d more; --json lists all\n", len(objects)-i)
			break
		}
		a.printf("    %s\n", fmt.Sprintf("%s  %s: %s", g.URL, progress.Bytes(g.Size), g.Reason))
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/temporal"
)

func (s *settings) scheduleCommand() *cobra.Command {
	var all, remove bool
	var in temporal.TableInput
	cmd := &cobra.Command{
		Use:   "schedule T...|--all",
		Short: "Create, update or remove the schedules of tables",
		Long: "Give each table a schedule by its settings schedule, jitter and pause (shardcat policy set). Overlapping runs are skipped, and a failure pauses the schedule until " +
			"it is unpaused. Prints one JSON object for each table. Run it again after settings have changed.",
		Example: "  shardcat-temporal schedule --all\n  shardcat-temporal schedule default.logs --remove",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) > 0) == all {
				return errors.New("missing argument: tables, or --all")
			}
			c, tables, closeAll, err := s.open(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			in.Queue = s.queue
			names, err := namesOf(cmd.Context(), tables, args)
			if err != nil {
				return err
			}
			out := json.NewEncoder(cmd.OutOrStdout())
			for _, name := range names {
				change := schedule
				if remove {
					change = unschedule
				}
				done, err := change(cmd.Context(), c, tables, name, in)
				if err == nil {
					err = out.Encode(done)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every table of the catalog")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the schedules")
	cmd.Flags().IntVar(&in.Parallel, "parallel", 4, "maximum number of groups of a table compacted concurrently")
	return cmd
}

// removed is what is printed of a schedule that was removed.
type removed struct {
	Table   string `json:"table"`
	Removed bool   `json:"removed"`
}

func unschedule(ctx context.Context, c client.Client, _ *catalog.Catalog, name catalog.Name, _ temporal.TableInput) (any, error) {
	return removed{name.String(), true}, temporal.Unschedule(ctx, c, name.String())
}

func schedule(ctx context.Context, c client.Client, tables *catalog.Catalog, name catalog.Name, in temporal.TableInput) (any, error) {
	t, err := tables.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	return temporal.Schedule(ctx, c, t, nil, in)
}

// namesOf are the tables of the arguments, all of the catalog if there are none.
func namesOf(ctx context.Context, tables *catalog.Catalog, args []string) (names []catalog.Name, err error) {
	if len(args) == 0 {
		return tables.Tables(ctx, "")
	}
	for _, arg := range args {
		name, err := catalog.ParseName(arg)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

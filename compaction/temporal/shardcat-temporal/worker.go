package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/compaction/internal/savedplan"
	"github.com/shardcat/shardcat/compaction/temporal"
)

func (s *settings) workerCommand() *cobra.Command {
	var o temporal.WorkerOptions
	var classes []string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker for compactions until SIGTERM",
		Long: "Plan tables, and write, read back and commit their groups. Any number of workers share the work; the step of a crashed worker is retried by another one after the " +
			"heartbeat timeout. With --classes a machine takes only groups of its size: small moves up to 64 MiB, medium up to 1 GiB, large more.",
		Example: "  shardcat-temporal worker --address temporal:7233\n  shardcat-temporal worker --classes large --slots 1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Classes, err = parseClasses(classes); err != nil {
				return err
			}
			c, tables, closeAll, err := s.open(cmd.Context())
			if err != nil {
				return err
			}
			defer closeAll()
			o.Queue, o.Log = s.queue, s.log
			w := temporal.NewWorker(c, tables, o)
			if err := w.Start(); err != nil {
				return err
			}
			defer w.Stop()
			<-cmd.Context().Done()
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&classes, "classes", nil, "size classes of groups to work on: small, medium, large (default all)")
	cmd.Flags().IntVar(&o.Slots, "slots", 2, "maximum number of concurrent steps per class; each needs the memory of a compaction")
	cmd.Flags().BoolVar(&o.Check, "check", false, "compare the rows of inputs and outputs before the commit")
	return cmd
}

func parseClasses(names []string) (out []savedplan.SizeClass, err error) {
	for _, name := range names {
		class := savedplan.Small
		for ; class < savedplan.SizeClasses && class.String() != name; class++ {
		}
		if class == savedplan.SizeClasses {
			return nil, fmt.Errorf("--classes: %q is not small, medium or large", name)
		}
		out = append(out, class)
	}
	return out, nil
}

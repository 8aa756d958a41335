package main

import (
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/doctor"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Prove that the warehouse's store can be trusted with tables",
		Example: `  shardcat doctor
  shardcat doctor --warehouse "s3://bucket/tables?region=eu-west-1"`,
		Long: "Prove that the store of --warehouse (and --vault) can be read, written, listed and deleted from, that ranges are exact, that creating an object is " +
			"conditional, and that clocks agree. Each line says what was found and, where something is wrong, what to do. It writes below _doctor/ and deletes what it wrote.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			examine := func(what, url string) *doctor.Report {
				return doctor.Examine(cmd.Context(), a.client, url, doctor.Options{Accept: func(at string) error { return catalog.CheckLocation(what, at) }})
			}
			reports := []*doctor.Report{examine("warehouse", first(a.warehouse, catalog.DefaultWarehouse))}
			if a.vault != "" {
				reports = append(reports, examine("vault", a.vault))
			}
			if a.json {
				if err := a.printJSON(reports); err != nil {
					return err
				}
			}
			worst := exitDone
			for _, r := range reports {
				if !a.json {
					for _, f := range r.Findings {
						a.printf("%s\n", f)
					}
				}
				worst = max(worst, doctorCode(r, a.unsafeWrites))
			}
			if worst != exitDone {
				return silently(worst)
			}
			return nil
		},
	}
	return cmd
}

// doctorCode is the exit code for a report: a store without conditional writes is unsafe, any other failure a failure.
func doctorCode(r *doctor.Report, tolerate bool) int {
	code := exitDone
	for _, f := range r.Findings {
		switch {
		case f.Status != doctor.Failed:
		case !f.Unsafe:
			code = max(code, exitFailed)
		case !tolerate:
			code = exitUnsafe
		}
	}
	return code
}

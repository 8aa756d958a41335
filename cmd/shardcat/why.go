package main

import (
	"time"

	"github.com/spf13/cobra"
)

func (a *app) whyCommand() *cobra.Command {
	var f collectFlags
	cmd := &cobra.Command{
		Use:   "why OBJECT",
		Short: "Explain why an object is live, retained or due for deletion",
		Long:  "Show which snapshot, ref or open job needs an object and by which root, or when gc would mark or delete it.",
		Example: `  shardcat why warehouse/vault/0b6f…/3f2a….amudai.shard
  shardcat why s3://lake/vault/0b6f…/data/3f2a…/s-0.amudai.stripe --json`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			tables, err := a.openTables(cmd.Context())
			if err != nil {
				return err
			}
			urls, err := a.mountAll(cmd.Context(), args)
			if err != nil {
				return err
			}
			t, err := tables.TableOf(cmd.Context(), urls[0])
			if err != nil {
				return err
			}
			w, err := t.Why(cmd.Context(), urls[0], o)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(w)
			}
			a.printf("%s\n  table  %s\n  state  %s\n  why    %s\n", w.URL, w.Table, w.State, w.Reason)
			if w.Due != nil {
				a.printf("  due    %s\n", w.Due.Format(time.RFC3339))
			}
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

func (a *app) jobCommand() *cobra.Command {
	return group("job", "Commit or discard runs of ingest --uncommitted", a.jobCommitCommand(), a.jobDiscardCommand())
}

// maxRunNames bounds the names of runs on standard input.
const maxRunNames = 64 << 20

func (a *app) jobCommitCommand() *cobra.Command {
	var ref string
	var allowEmpty bool
	cmd := &cobra.Command{
		Use:   "commit T JOB RUN...|-",
		Short: "Commit runs of a job in one snapshot",
		Long: `Commit the shards of runs of ingest --uncommitted in one snapshot. A job is committed once, however often this is called. The job's
other runs, such as failed or duplicate ones, end with it and their shards are deleted. With - the run names are read
from standard input, one per line; an input without a name is an error, unless --allow-empty allows a job to have
written nothing.`,
		Example: `  shardcat job commit flights load-7 load-7 load-7.5b0c1b1e-8f5a-4c52-9c0b-8a7f3d1c2e11
  jq -r .run results/*.json | shardcat job commit flights load-7 -`,
		Args: atLeast(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs := args[2:]
			if slices.Equal(runs, []string{"-"}) {
				text, err := io.ReadAll(io.LimitReader(a.stdin, maxRunNames+1))
				switch runs = strings.Fields(string(text)); {
				case err != nil: // to commit some of the runs would end the others
					return fmt.Errorf("standard input: %w", err)
				case len(text) > maxRunNames:
					return usageError{fmt.Errorf("standard input: more than %s of names of runs", progress.Bytes(int64(maxRunNames)))}
				case len(runs) == 0 && !allowEmpty:
					return usageError{errors.New("standard input: no names of runs; job discard discards the runs of a job, and --allow-empty commits a job without rows")}
				}
			}
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			in, err := t.CommitShards(cmd.Context(), ref, args[1], runs)
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(in)
			case in.Before:
				a.printf("%s: this job was committed before, in snapshot %d; nothing was added\n", t.Name(), in.SnapshotID)
			default:
				a.printf("%s: %s in %s, %s stored%s, snapshot %d\n", t.Name(), plural.Count(in.Rows, "row"), plural.Count(len(in.Shards), "shard"), progress.Bytes(in.Bytes), indexesText(in.IndexBytes), in.SnapshotID)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&ref, "ref", "", "branch to commit to (default: main)")
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "commit a job that names no runs on standard input")
	return cmd
}

func (a *app) jobDiscardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "discard T JOB",
		Short: "Delete the uncommitted shards of a job",
		Long: `Delete the uncommitted shards of runs of ingest --uncommitted and end the runs, which can no longer be committed. Later runs
of the job can. gc abandons runs that are never discarded once they are old enough.`,
		Example: `  shardcat job discard flights load-7
  shardcat job discard flights load-7 --json`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.loadTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			n, err := t.DiscardShards(cmd.Context(), args[1])
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(map[string]any{"job_id": args[1], "discarded_runs": n})
			}
			a.printf("%s: %s discarded\n", t.Name(), plural.Count(n, "run"))
			return nil
		},
	}
}

// writeUncommitted ingests for job commit.
func (a *app) writeUncommitted(ctx context.Context, what ingestion, part string) error {
	t, err := a.loadTable(ctx, what.name)
	if err != nil {
		return err
	}
	src, err := a.openFor(ctx, t, what.files, what.source)
	if err != nil {
		return err
	}
	defer src.Close()
	o := what.options
	if src, err = gatherGroups(src, o.Pack); err != nil {
		return err
	}
	if err := convert.KeepSchema(fileio.OriginalSchema(src), &o.Properties); err != nil {
		return err
	}
	w, err := t.WriteShards(ctx, src, part, o)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(w)
	case w.Committed != nil:
		a.printf("%s: this job was committed before, in snapshot %d; nothing was written\n", t.Name(), w.Committed.SnapshotID)
	default:
		a.printf("%s: %s in %s, %s stored%s; they come with: job commit %s %s %s\n", t.Name(), plural.Count(w.Rows, "row"), plural.Count(w.Shards, "shard"), progress.Bytes(w.Bytes), indexesText(w.IndexBytes), what.name, w.JobID, w.Run)
	}
	return nil
}

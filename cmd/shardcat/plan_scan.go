package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func (a *app) planScanCommand() *cobra.Command {
	f := scanFlags{limit: -1, head: -1}
	var splitSize string
	cmd := &cobra.Command{
		Use:   "plan-scan T",
		Short: "Split a scan into tasks for parallel readers",
		Long: "Split a scan of one snapshot into tasks of similar size: a shard, a range of its records, and the residual filter. Any process can " +
			"read a task with `scan --task`, also while the table is compacted.",
		Example: "  shardcat plan-scan logs --where \"ts >= '2024-01-01'\" --split-size 64MiB --json\n" +
			"  shardcat plan-scan logs --json | jq -c '.tasks[]' | xargs -d '\\n' -P8 -I{} sh -c 'echo \"$1\" | shardcat scan --task -' sh {}",
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			size, err := literal.ParseSize(splitSize)
			if err != nil || size <= 0 {
				return usagef("invalid argument %q for --split-size: must be a size above 0, such as 64MiB", splitSize)
			}
			t, err := a.readTable(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			p, err := t.Plan(cmd.Context(), o)
			if err != nil {
				return asUsage(err, schema.ErrNoField)
			}
			tasks, err := p.Tasks(cmd.Context(), size)
			if err != nil {
				return err
			}
			return a.printTasks(tasks)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.where, "where", "", "filter expression (default: all rows)")
	flags.StringVar(&f.selection, "select", "", "comma-separated columns, nested ones with dots (default: all)")
	f.at.add(cmd)
	flags.StringVar(&splitSize, "split-size", "128MiB", "target size of a task in stored bytes")
	return cmd
}

func (a *app) printTasks(p *catalog.TaskPlan) error {
	if a.json {
		return a.printJSON(p)
	}
	a.printf("%s, snapshot %d: %s; %d of %s pruned\n", p.Table, p.SnapshotID, plural.Count(len(p.Tasks), "task"), p.ShardsPruned, plural.Count(p.ShardsTotal, "shard"))
	a.printf("manifests   %d read, %d pruned\n", p.ManifestsRead, p.ManifestsPruned)
	for i, t := range p.Tasks {
		a.printf("task %-5d records %d to %d of %s, %s\n", i, t.Start, t.End, t.Shard, progress.Bytes(t.ExpectedBytes))
	}
	return nil
}

// maxTasks bounds what is read of a file of tasks.
const maxTasks = 64 << 20

// readTasks reads a task, or all tasks of a plan.
func (a *app) readTasks(path string) ([]catalog.Task, error) {
	from := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: %w", catalog.ErrNotFound, err)
			}
			return nil, fmt.Errorf("--task: %w", err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxTasks+1))
	if err != nil {
		return nil, fmt.Errorf("--task %s: %w", path, err)
	}
	if len(text) > maxTasks {
		return nil, usagef("--task %s: more than %d bytes", path, maxTasks)
	}
	var both struct {
		catalog.Task
		Tasks []catalog.Task `json:"tasks"`
	}
	if err := json.Unmarshal(text, &both); err != nil {
		return nil, usagef("--task %s: neither a task nor a plan of plan-scan --json: %w", path, err)
	}
	if both.Tasks != nil {
		return both.Tasks, nil
	}
	return []catalog.Task{both.Task}, nil
}

// scanTasks prints the rows of tasks.
func (a *app) scanTasks(cmd *cobra.Command, path string, f *scanFlags) error {
	ctx := cmd.Context()
	tasks, err := a.readTasks(path)
	if err != nil || len(tasks) == 0 {
		return err
	}
	t, err := a.readTable(ctx, tasks[0].Table)
	if err != nil {
		return err
	}
	first, err := t.PlanTask(&tasks[0])
	if err != nil {
		return err
	}
	format, err := a.outputFormat(f.format)
	if err != nil {
		return err
	}
	if err := f.values.check(cmd, format); err != nil {
		return err
	}
	sink, err := f.values.options(a)
	if err != nil {
		return err
	}
	if sink.Original, err = f.values.original(cmd, t.OriginalSchema()); err != nil {
		return err
	}
	s := &schema.Schema{Fields: first.Fields()}
	_, err = a.printRows(ctx, s, rowsOfTasks(ctx, t, tasks), printing{format: format, limit: -1, sink: sink})
	return err
}

// rowsOfTasks reads tasks one after the other.
func rowsOfTasks(ctx context.Context, t *catalog.Table, tasks []catalog.Task) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for i := range tasks {
			for b, err := range t.ReadTask(ctx, &tasks[i], nil) {
				if !yield(b, err) || err != nil {
					return
				}
			}
		}
	}
}

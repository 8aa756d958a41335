package temporal

import (
	"fmt"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/compaction/internal/savedplan"
)

// WorkerOptions of NewWorker. The zero value is valid.
type WorkerOptions struct {
	// Queue begins the names of the task queues, DefaultQueue if empty.
	Queue string
	// Classes are the size classes that this worker works on; all if empty. Whatever it is, it plans.
	Classes []savedplan.SizeClass
	// Slots is how many steps of each class are worked on at the same time, 2 if 0. Each takes the memory of a compaction.
	Slots int
	// Overrides are settings of a file.
	Overrides compaction.Overrides
	// Check compares the rows of inputs and outputs before each commit.
	Check bool
	// Log gets what happened, slog.Default if nil.
	Log *slog.Logger
	// Tracer, if not nil, gets a span for each step.
	Tracer trace.Tracer
}

const defaultSlots = 2

// Worker works on the task queues of a catalog.
type Worker struct{ workers []worker.Worker }

// NewWorker makes a worker; Start starts it.
func NewWorker(c client.Client, tables *catalog.Catalog, o WorkerOptions) *Worker {
	if o.Queue == "" {
		o.Queue = DefaultQueue
	}
	if len(o.Classes) == 0 {
		o.Classes = []savedplan.SizeClass{savedplan.Small, savedplan.Medium, savedplan.Large}
	}
	if o.Slots <= 0 {
		o.Slots = defaultSlots
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	a := &Activities{tables, o}
	plans := worker.New(c, o.Queue, worker.Options{MaxConcurrentActivityExecutionSize: o.Slots})
	plans.RegisterWorkflowWithOptions(Tick, workflow.RegisterOptions{Name: TickWorkflow})
	plans.RegisterWorkflowWithOptions(CompactTable, workflow.RegisterOptions{Name: CompactWorkflow})
	plans.RegisterActivity(a)
	w := &Worker{[]worker.Worker{plans}}
	for _, class := range slices.Compact(slices.Sorted(slices.Values(o.Classes))) {
		steps := worker.New(c, classQueue(o.Queue, class), worker.Options{MaxConcurrentActivityExecutionSize: o.Slots, DisableWorkflowWorker: true})
		for _, step := range []any{a.Write, a.ReadBack, a.Commit} {
			steps.RegisterActivityWithOptions(step, activity.RegisterOptions{})
		}
		w.workers = append(w.workers, steps)
	}
	return w
}

// Start begins to work, and returns.
func (w *Worker) Start() error {
	for i, one := range w.workers {
		if err := one.Start(); err != nil {
			for _, started := range w.workers[:i] {
				started.Stop()
			}
			return fmt.Errorf("the worker does not start: %w", err)
		}
	}
	return nil
}

// Stop takes no more work, and returns when the steps under way have ended or were given up.
func (w *Worker) Stop() {
	for _, one := range w.workers {
		one.Stop()
	}
}

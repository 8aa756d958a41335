package temporal

import (
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Kinds of errors of activities, which are not tried again.
const (
	conflictError = "conflict"
	haltError     = "halt"
	failedError   = "failed"
)

const (
	// stepTimeout bounds a step, a rebuild of the largest group among them.
	stepTimeout = 24 * time.Hour
	// stepAttempts bounds how often a step is tried before its group goes into quarantine.
	stepAttempts = 5
)

// Tick is what a table's schedule starts: the table's one workflow, or nothing if that is at work.
func Tick(ctx workflow.Context, in TableInput) (report TableReport, err error) {
	in = in.filled()
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: WorkflowID(in.Table), TaskQueue: in.Queue, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	})
	err = workflow.ExecuteChildWorkflow(ctx, CompactWorkflow, in).Get(ctx, &report)
	var busy *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &busy) {
		return TableReport{Busy: true}, nil
	}
	return report, err
}

// CompactTable plans a table and does the groups of the plan, each in steps. A group that fails goes into quarantine, and the others go on; one that
// fails in a way that makes going on harmful fails the workflow when the others are done.
func CompactTable(ctx workflow.Context, in TableInput) (TableReport, error) {
	in = in.filled()
	in.Report.Runs++
	r := &tableRun{in: &in}
	if in.Plan == nil {
		var plan planned
		if err := workflow.ExecuteActivity(r.options(ctx, in.Queue), (*Activities).Plan, in.Table).Get(ctx, &plan); err != nil {
			return in.Report, err
		}
		in.Plan, in.Next = &plan.Plan, 0
		in.Report.Resumed += plan.Resumed
	}
	end := min(in.Next+in.Batch, in.Plan.Groups)
	if err := r.groups(ctx, in.Next, end); err != nil {
		return in.Report, err
	}
	if in.Next = end; end < in.Plan.Groups {
		return in.Report, workflow.NewContinueAsNewError(ctx, CompactWorkflow, in)
	}
	again := (r.conflicts > 0 || in.Plan.Left > 0) && in.Round < maxRounds
	err := workflow.ExecuteActivity(r.options(ctx, in.Queue), (*Activities).Finish, in.Table, *in.Plan).Get(ctx, &in.Report.Shards)
	if err == nil && again {
		in.Plan, in.Round = nil, in.Round+1
		return in.Report, workflow.NewContinueAsNewError(ctx, CompactWorkflow, in)
	}
	return in.Report, err
}

// tableRun is one run of the workflow.
type tableRun struct {
	in        *TableInput
	conflicts int
	halted    error
}

// options are those of an activity on a task queue.
func (r *tableRun) options(ctx workflow.Context, queue string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: stepTimeout, HeartbeatTimeout: time.Duration(r.in.Heartbeat) * time.Second, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 3, MaximumAttempts: stepAttempts,
			NonRetryableErrorTypes: []string{conflictError, haltError, failedError},
		},
	})
}

// groups does some groups of the plan, a few at a time.
func (r *tableRun) groups(ctx workflow.Context, from, to int) error {
	slots, all := workflow.NewSemaphore(ctx, int64(r.in.Parallel)), workflow.NewWaitGroup(ctx)
	var failed error
	for n := from; n < to; n++ {
		if err := slots.Acquire(ctx, 1); err != nil {
			failed = err
			break
		}
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			defer slots.Release(1)
			if err := r.group(ctx, n); err != nil && failed == nil {
				failed = err
			}
		})
	}
	all.Wait(ctx)
	if failed == nil {
		failed = r.halted
	}
	return failed
}

// group does one group. Its error ends the workflow: it was cancelled, or a quarantine can't be written.
func (r *tableRun) group(ctx workflow.Context, n int) error {
	ref := groupRef{Table: r.in.Table, Plan: *r.in.Plan, Group: n}
	onClass := r.options(ctx, classQueue(r.in.Queue, r.in.Plan.Class(n)))
	var done groupDone
	err := workflow.ExecuteActivity(onClass, (*Activities).Write, ref).Get(ctx, &ref)
	if err == nil {
		err = workflow.ExecuteActivity(onClass, (*Activities).ReadBack, ref).Get(ctx, nil)
	}
	if err == nil {
		err = workflow.ExecuteActivity(onClass, (*Activities).Commit, ref).Get(ctx, &done)
	}
	if err == nil {
		r.in.Report.Groups++
		r.in.Report.Inputs += done.Inputs
		r.in.Report.BytesMoved += done.BytesMoved
		return nil
	}
	return r.failed(ctx, ref, err)
}

// failed books a group that could not be done, and deletes what was written for it.
func (r *tableRun) failed(ctx workflow.Context, ref groupRef, err error) error {
	alive, _ := workflow.NewDisconnectedContext(ctx)
	onQueue := r.options(alive, r.in.Queue)
	if ref.Job != "" {
		if err := workflow.ExecuteActivity(onQueue, (*Activities).Discard, ref).Get(alive, nil); err != nil {
			workflow.GetLogger(ctx).Warn("the written objects remain for garbage collection", "table", ref.Table, "job", ref.Job, "error", err)
		}
	}
	if temporal.IsCanceledError(err) || ctx.Err() != nil {
		return err
	}
	var kind *temporal.ApplicationError
	isKind := errors.As(err, &kind)
	if isKind && kind.Type() == conflictError {
		r.conflicts++
		r.in.Report.Conflicts++
		return nil
	}
	f := failedGroup{groupRef: ref, Reason: err.Error(), Halts: isKind && kind.Type() == haltError}
	if f.Halts && r.halted == nil {
		r.halted = err
	}
	r.in.Report.Failed++
	return workflow.ExecuteActivity(onQueue, (*Activities).Quarantine, f).Get(alive, nil)
}

package temporal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/compaction/internal/schedule"
)

// Scheduled is the schedule of a table as it was set.
type Scheduled struct {
	Table    string `json:"table"`
	ID       string `json:"id"`
	Schedule string `json:"schedule"`
	Paused   bool   `json:"paused,omitempty"`
	// New: it was not there.
	New bool `json:"new,omitempty"`
}

// Schedule makes a table's schedule, or brings it to what the table's settings say: schedule, jitter and pause. What overlaps is
// skipped, and a failure pauses the schedule until somebody has looked.
func Schedule(ctx context.Context, c client.Client, t *catalog.Table, overrides compaction.Overrides, in TableInput) (*Scheduled, error) {
	effective, err := overrides.Effective(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &Scheduled{Table: t.Name().String(), ID: ScheduleID(t.Name().String())}
	in = in.filled()
	in.Table = out.Table
	spec, err := specOf(effective, out)
	if err != nil {
		return nil, err
	}
	action := &client.ScheduleWorkflowAction{ID: out.ID + "-tick", Workflow: TickWorkflow, Args: []any{in}, TaskQueue: in.Queue}
	_, err = c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: out.ID, Spec: *spec, Action: action, Paused: out.Paused,
		Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, PauseOnFailure: true, CatchupWindow: catchupWindow,
	})
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		out.New = err == nil
		return out, err
	}
	return out, c.ScheduleClient().GetHandle(ctx, out.ID).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(now client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			s := now.Description.Schedule
			s.Spec, s.Action = spec, action
			s.Policy = &client.SchedulePolicies{Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, PauseOnFailure: true, CatchupWindow: catchupWindow}
			if out.Paused { // a pause because of a failure is not ended by this
				s.State.Paused, s.State.Note = true, "the table's settings have pause=true"
			}
			return &client.ScheduleUpdate{Schedule: &s}, nil
		},
	})
}

// catchupWindow is how late a run may begin after the server was down: one run catches up for all that were missed, for those after it overlap.
const catchupWindow = 24 * time.Hour

// specOf reads the settings of a table.
func specOf(in *compaction.Effective, out *Scheduled) (*client.ScheduleSpec, error) {
	var jitter float64
	for _, v := range in.Values {
		var err error
		switch v.Name {
		case "schedule":
			out.Schedule = v.Value
		case "jitter":
			jitter, err = strconv.ParseFloat(v.Value, 64)
		case "pause":
			out.Paused, err = strconv.ParseBool(v.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", v.Name, err)
		}
	}
	times, err := schedule.Parse(out.Schedule)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	next := times.Next(now)
	distance := times.Next(next).Sub(next)
	spec := &client.ScheduleSpec{Jitter: time.Duration(jitter * float64(distance))}
	if cron := times.Cron(); cron != "" {
		spec.CronExpressions = []string{cron}
	} else {
		spec.Intervals = []client.ScheduleIntervalSpec{{Every: distance}}
	}
	return spec, nil
}

// Unschedule removes a table's schedule. One that is not there is no error.
func Unschedule(ctx context.Context, c client.Client, table string) error {
	err := c.ScheduleClient().GetHandle(ctx, ScheduleID(table)).Delete(ctx)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil
	}
	return err
}

// Run starts a table's workflow now, or finds the one that is at work, and waits for it.
func Run(ctx context.Context, c client.Client, in TableInput) (report TableReport, err error) {
	in = in.filled()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: WorkflowID(in.Table), TaskQueue: in.Queue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, CompactWorkflow, in)
	if err != nil {
		return report, err
	}
	return report, run.Get(ctx, &report)
}

package temporal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/compaction"
)

// A table of 300 shards is compacted by two workers in several runs of one workflow. What is handed over is short and names no shard.
func TestTwoWorkers(t *testing.T) {
	_, c := server(t)
	dir := tableOf(t, 300, map[string]string{"max-inputs": "20"})
	before := contents(t, load(t, dir))
	work(t, c, dir, WorkerOptions{})
	work(t, c, dir, WorkerOptions{})
	report, err := Run(t.Context(), c, TableInput{Table: name.String(), Batch: 4})
	if err != nil || report.Groups != 15 || report.Inputs != 300 || report.Shards != 15 || report.Runs != 4 || report.Conflicts != 0 || report.Failed != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	holds(t, dir, before, 15)
	for info, err := range open(t, dir).Client().List(ctx, load(t, dir).VaultFolder()+"_compaction/") {
		t.Errorf("left behind: %s, %v", info.URL, err)
	}
	events, largest := historyOf(t, c)
	if events < 200 || largest > 1000 {
		t.Errorf("%d events, the largest payload has %d bytes", events, largest)
	}
}

// historyOf walks through all runs of the table's workflow: the number of events, and the size of the largest payload. A payload that
// names a shard is an error.
func historyOf(t *testing.T, c client.Client) (events, largest int) {
	t.Helper()
	run := ""
	for runs := 0; runs < 100; runs++ {
		next := ""
		for it := c.GetWorkflowHistory(ctx, WorkflowID(name.String()), run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			e, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			events++
			eachPayload(e.ProtoReflect(), func(data []byte) {
				largest = max(largest, len(data))
				if strings.Contains(string(data), ".amudai") {
					t.Errorf("%s names a shard: %s", e.GetEventType(), data)
				}
			})
			if started := e.GetWorkflowExecutionStartedEventAttributes(); started != nil {
				next = started.GetContinuedExecutionRunId()
			}
		}
		if run = next; run == "" {
			return events, largest
		}
	}
	t.Fatal("the workflow has no first run")
	return 0, 0
}

// eachPayload finds the payloads in a message.
func eachPayload(m protoreflect.Message, do func([]byte)) {
	if p, ok := m.Interface().(*common.Payload); ok {
		do(p.GetData())
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				eachPayload(v.List().Get(i).Message(), do)
			}
		default:
			eachPayload(v.Message(), do)
		}
		return true
	})
}

// The workflow races with compactions that know nothing of it: every row is there once, and the table comes to rest.
func TestConflicts(t *testing.T) {
	_, c := server(t)
	dir := tableOf(t, 60, map[string]string{"max-inputs": "5"})
	before := contents(t, load(t, dir))
	work(t, c, dir, WorkerOptions{})
	other := load(t, dir)
	done := make(chan error, 1)
	go func() {
		_, err := compaction.Compact(ctx, other, compaction.Policy{MaxInputs: 7}, compaction.Options{})
		done <- err
	}()
	report, err := Run(t.Context(), c, TableInput{Table: name.String()})
	if other := <-done; err != nil || other != nil && !strings.Contains(other.Error(), "conflict") {
		t.Fatalf("%+v, %v, %v", report, err, other)
	}
	t.Logf("%+v", report)
	report, err = Run(t.Context(), c, TableInput{Table: name.String()})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, before, report.Shards)
	plan, err := compaction.NewPlan(ctx, load(t, dir), compaction.Policy{MaxInputs: 5})
	if err != nil || len(plan.Groups) != 0 {
		t.Errorf("%d groups are left, %v", len(plan.Groups), err)
	}
}

// A schedule skips what overlaps, has the table's interval and jitter, runs the table's one workflow, and stops after a failure until somebody looks.
func TestSchedule(t *testing.T) {
	_, c := server(t)
	dir := tableOf(t, 6, map[string]string{"schedule": "1h", "jitter": "0.5"})
	before := contents(t, load(t, dir))
	work(t, c, dir, WorkerOptions{})
	for i := range 2 {
		s, err := Schedule(t.Context(), c, load(t, dir), nil, TableInput{})
		if err != nil || s.New != (i == 0) || s.Schedule != "1h" {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	handle := c.ScheduleClient().GetHandle(ctx, ScheduleID(name.String()))
	d, err := handle.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p, spec := d.Schedule.Policy, d.Schedule.Spec
	if p.Overlap != enums.SCHEDULE_OVERLAP_POLICY_SKIP || !p.PauseOnFailure || spec.Intervals[0].Every != time.Hour || spec.Jitter != 30*time.Minute {
		t.Errorf("%+v, %+v", p, spec)
	}
	if err := handle.Trigger(ctx, client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the table is compacted", func() bool { return load(t, dir).Describe().Shards == 1 })
	holds(t, dir, before, 1)
	// A policy that can't be meant fails the run, which pauses the schedule.
	if err := load(t, dir).SetProperties(ctx, map[string]string{compaction.PropertyPrefix + "min-inputs": "one"}, nil); err != nil {
		t.Fatal(err)
	}
	until(t, "the first run has ended", func() bool {
		d, err := handle.Describe(ctx)
		return err == nil && len(d.Info.RunningWorkflows) == 0
	})
	if err := handle.Trigger(ctx, client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the schedule is paused", func() bool {
		d, err := handle.Describe(ctx)
		return err == nil && d.Schedule.State.Paused
	})
	for range 2 {
		if err := Unschedule(ctx, c, name.String()); err != nil {
			t.Error(err)
		}
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 600 {
		if is() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s: not within a minute", what)
}

// A group that can't be read goes into quarantine and fails the workflow, after the other groups are done; nothing is left of what was begun.
func TestHalt(t *testing.T) {
	_, c := server(t)
	dir := tableOf(t, 8, map[string]string{"max-inputs": "4"})
	tbl := load(t, dir)
	plan, err := compaction.NewPlan(ctx, tbl, compaction.Policy{MaxInputs: 4})
	if err != nil || len(plan.Groups) != 2 {
		t.Fatalf("%+v, %v", plan, err)
	}
	victim, store := plan.Groups[0].Inputs.Paths()[0], tbl.Catalog().Client()
	root, _, err := store.ReadAll(ctx, victim, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	root[len(root)/2] ^= 0x40
	if err := errors.Join(store.Delete(ctx, victim, ""), store.Put(ctx, victim, root)); err != nil {
		t.Fatal(err)
	}
	work(t, c, dir, WorkerOptions{})
	for i := range 2 { // the second time nothing is tried
		if _, err := Run(t.Context(), c, TableInput{Table: name.String()}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(type: %s", haltError)) {
			t.Errorf("run %d: %v", i, err)
		}
	}
	after := load(t, dir)
	if n := after.Describe().Shards; n != 5 {
		t.Errorf("%d shards", n)
	}
	held, err := compaction.LoadQuarantine(ctx, after, nil)
	if err != nil || len(held.Groups()) != 1 || !held.Groups()[0].Halts || held.Groups()[0].Failures != 1 {
		t.Errorf("%+v, %v", held.Groups(), err)
	}
}

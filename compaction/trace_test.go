package compaction

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A run of a service is a trace: plan and groups below it, each group with its steps, which name the job as the log does.
func TestTraces(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 4)
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	var log strings.Builder
	s, runs, stop := serve(t, g.open(nil), ServiceOptions{Tracer: provider.Tracer("test"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	run := await(t, runs, 1)[0]
	statusOf(t, s, name)
	stop()
	parents, jobs := map[string]string{}, map[string]bool{}
	names := map[string]string{}
	all := spans.GetSpans()
	for _, span := range all {
		names[span.SpanContext.SpanID().String()] = span.Name
	}
	for _, span := range all {
		parents[span.Name] = names[span.Parent.SpanID().String()]
		for _, a := range span.Attributes {
			if a.Key == attribute.Key("shardcat.job_id") {
				jobs[a.Value.AsString()] = true
			}
		}
		if span.SpanContext.TraceID() != all[0].SpanContext.TraceID() {
			t.Errorf("%s is of another trace", span.Name)
		}
	}
	for child, parent := range map[string]string{"run": "", "plan": "run", "compact group": "run", "write": "compact group", "read back": "compact group", "commit": "compact group"} {
		if got, ok := parents[child]; !ok || got != parent {
			t.Errorf("%q is a part of %q, want %q", child, got, parent)
		}
	}
	if len(run.Results) != 1 || len(jobs) != 1 || !jobs[run.Results[0].JobID] || !strings.Contains(log.String(), "job="+run.Results[0].JobID) {
		t.Errorf("jobs %v, %+v, log %s", jobs, run.Results, log.String())
	}
}

// Progress counts the records of a run up to all of them, over its groups; a pace follows from it.
func TestProgress(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 6)
	tbl := g.load(nil)
	var told []Progress
	o := Options{Progress: func(p Progress) { told = append(told, p) }}
	if _, err := Compact(ctx, tbl, Policy{MaxInputs: 3, Concurrency: 2}, o); err != nil {
		t.Fatal(err)
	}
	last := told[len(told)-1]
	if last.Groups != 2 || last.GroupsDone != 2 || last.Records != 60 || last.RecordsDone != 60 || last.Step != stepDone || last.JobID == "" {
		t.Errorf("%+v", last)
	}
	if !slices.IsSortedFunc(told, func(a, b Progress) int { return int(a.RecordsDone - b.RecordsDone) }) {
		t.Errorf("it goes back: %+v", told)
	}
	start := g.open(nil).Now()
	pace := paceOf(Progress{Records: 60, RecordsDone: 20}, start, start.Add(10e9))
	if pace.RecordsPerSecond != 2 || pace.SecondsLeft != 20 {
		t.Errorf("%+v", pace)
	}
	if pace := paceOf(Progress{Records: 60}, start, start); pace.RecordsPerSecond != 0 || pace.SecondsLeft != 0 {
		t.Errorf("%+v", pace)
	}
}

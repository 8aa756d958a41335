package compaction

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/internal/schedule"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// serve runs a service until it is stopped; runs are sent to the channel.
func serve(t *testing.T, c *catalog.Catalog, o ServiceOptions) (*Service, <-chan Run, func()) {
	t.Helper()
	runs := make(chan Run, 100)
	o.Finished = func(r Run) { runs <- r }
	s := NewService(c, o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the service ended with %v", err)
		}
	}
	return s, runs, stop
}

func await(t *testing.T, runs <-chan Run, n int) (out []Run) {
	t.Helper()
	for range n {
		select {
		case r := <-runs:
			out = append(out, r)
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d runs within a minute", len(out), n)
		}
	}
	return out
}

// statusOf waits until a table is no longer being worked on.
func statusOf(t *testing.T, s *Service, name catalog.Name) TableStatus {
	t.Helper()
	for range 6000 {
		for _, st := range s.Status() {
			if st.Table == name && st.State != Running {
				return st
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s is running for ever", name)
	return TableStatus{}
}

func TestServiceKeepsEveryTableInShape(t *testing.T) {
	g := newGround(t)
	c := g.open(nil)
	var names []catalog.Name
	for i := range 3 {
		name := catalog.Name{Namespace: "default", Table: fmt.Sprint("t", i)}
		tbl, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, tbl, 4)
		names = append(names, name)
	}
	// One of them has a policy that can't be meant; the others must not suffer.
	bad, err := c.Load(ctx, names[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := bad.SetProperties(ctx, map[string]string{PropertyPrefix + "min-inputs": "one"}, nil); err != nil {
		t.Fatal(err)
	}
	s, runs, stop := serve(t, c, ServiceOptions{Workers: 2})
	defer stop()
	await(t, runs, 3)
	for i, name := range names {
		st := statusOf(t, s, name)
		if i == 1 {
			if st.State != Failing || !strings.Contains(st.Problem, "min-inputs") || st.Remedy == "" || !st.NextRun.After(time.Now()) || st.Succeeded {
				t.Errorf("%s: %+v", name, st)
			}
			continue
		}
		if st.State != Waiting || st.Shards != 1 || st.Records != 40 || st.BacklogShards != 0 || len(st.History) != 1 || st.History[0].Results[0].Inputs != 4 || !st.Succeeded || st.TargetSize != defaultTargetSize {
			t.Errorf("%s: %+v", name, st)
		}
	}
	if s.Halted() {
		t.Error("a bad policy is no reason to halt")
	}
	// Repaired and requested, it runs at once.
	if err := SetPolicy(ctx, bad, map[string]string{"min-inputs": ""}); err != nil {
		t.Fatal(err)
	}
	if err := s.RunNow(names[1]); err != nil {
		t.Fatal(err)
	}
	await(t, runs, 1)
	if st := statusOf(t, s, names[1]); st.State != Waiting || st.Shards != 1 || st.Problem != "" || !st.Succeeded {
		t.Errorf("%+v", st)
	}
}

func TestPauseAndUnknownTables(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	if err := SetPolicy(ctx, tbl, map[string]string{"pause": "true"}); err != nil {
		t.Fatal(err)
	}
	s, runs, stop := serve(t, tbl.Catalog(), ServiceOptions{})
	defer stop()
	await(t, runs, 1)
	if st := statusOf(t, s, name); st.State != Paused || st.Shards != 3 || st.BacklogShards != 3 {
		t.Errorf("%+v", st)
	}
	// A pause by the table's settings ends with them, and one by hand does not.
	if err := SetPolicy(ctx, tbl, map[string]string{"pause": "", "schedule": "1s"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(name); err != nil {
		t.Fatal(err)
	}
	await(t, runs, 1)
	if st := statusOf(t, s, name); st.State != Waiting || st.Shards != 1 {
		t.Errorf("%+v", st)
	}
	if err := SetPolicy(ctx, tbl, map[string]string{"pause": "true"}); err != nil {
		t.Fatal(err)
	}
	await(t, runs, 2)
	if st := statusOf(t, s, name); st.State != Paused {
		t.Errorf("%+v", st)
	}
	if err := SetPolicy(ctx, tbl, map[string]string{"pause": ""}); err != nil {
		t.Fatal(err)
	}
	await(t, runs, 2)
	if st := statusOf(t, s, name); st.State != Waiting {
		t.Errorf("a pause that the settings no longer ask for: %+v", st)
	}
	if err := s.RunNow(catalog.Name{Namespace: "default", Table: "nobody"}); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("a table that is not there: %v", err)
	}
}

// Two services over one catalog: whoever loses a race loses work, never rows.
func TestTwoServices(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 8)
	before := contents(t, tbl)
	one, runsOne, stopOne := serve(t, g.open(nil), ServiceOptions{})
	two, runsTwo, stopTwo := serve(t, g.open(nil), ServiceOptions{})
	await(t, runsOne, 1)
	await(t, runsTwo, 1)
	for _, s := range []*Service{one, two} {
		if st := statusOf(t, s, name); st.State == Halted {
			t.Errorf("halted: %s", st.Problem)
		}
	}
	stopOne()
	stopTwo()
	after := g.load(nil)
	if got := contents(t, after); fmt.Sprint(got) != fmt.Sprint(before) || after.Describe().Shards != 1 {
		t.Errorf("%d rows became %d, in %d shards", len(before), len(got), after.Describe().Shards)
	}
}

// With collection on, what nothing reaches is marked in time, and nothing that is live.
func TestServiceCollects(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	if err := SetPolicy(ctx, tbl, map[string]string{"collect": "1d", "expire": "0s"}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, tbl)
	s, runs, stop := serve(t, tbl.Catalog(), ServiceOptions{})
	defer stop()
	first := await(t, runs, 1)[0]
	if first.Error != "" || first.ObjectsMarked != 0 || first.ObjectsDeleted != 0 {
		t.Errorf("objects that are minutes old were taken for garbage: %+v", first)
	}
	statusOf(t, s, name)
	records := 0
	for info, err := range tbl.Catalog().Client().List(ctx, tbl.VaultFolder()+"_gc/") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info.URL, "lease") {
			records++
		}
	}
	if records == 0 {
		t.Error("no collection took the lease")
	}
	if got := contents(t, g.load(nil)); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("%d rows became %d", len(before), len(got))
	}
}

func TestSchedules(t *testing.T) {
	at := time.Date(2024, 3, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"":                                   "2024-03-30T12:10:00Z",
		"90s":                                "2024-03-30T12:01:30Z",
		"1d":                                 "2024-03-31T12:00:00Z",
		"15 3 * * *":                         "2024-03-31T03:15:00Z",
		"CRON_TZ=Europe/Berlin 15 3 * * *":   "2024-03-31T01:15:00Z", // the clocks have gone forward
		"CRON_TZ=America/New_York 0 9 * * 1": "2024-04-01T13:00:00Z",
	} {
		s, err := parseSchedule(text)
		if err != nil || s.Next(at).UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v; want %s", text, s.Next(at), err, want)
		}
	}
	for _, text := range []string{"10ms", "often", "61 * * * *", "CRON_TZ=Nowhere/Land 0 0 * * *", "-5m"} {
		if _, err := parseSchedule(text); !errors.Is(err, ErrPolicy) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The table that has waited longest comes first, however large another's backlog is, once it has waited long enough.
func TestNoTableStarves(t *testing.T) {
	now := time.Now()
	small := &tableState{status: TableStatus{NextRun: now.Add(-time.Hour)}}
	large := &tableState{status: TableStatus{NextRun: now.Add(-time.Minute), BacklogShards: 1000}}
	if small.urgency(now) <= large.urgency(now) {
		t.Error("an hour's wait must weigh more than a backlog of 1,000 shards that waits for a minute")
	}
	if even := (&tableState{status: TableStatus{NextRun: now.Add(-time.Minute)}}); even.urgency(now) >= large.urgency(now) {
		t.Error("of two that waited alike, the larger backlog comes first")
	}
}

// Tables that are due together are put in line once, not for each of them; one that somebody requests is seen at once all the same.
func TestTablesAreLinedUpOnce(t *testing.T) {
	const tables = 50
	now := time.Now()
	s := NewService(nil, ServiceOptions{Now: func() time.Time { return now }})
	every := schedule.Every(time.Minute, "1m")
	for i := range tables {
		n := catalog.Name{Namespace: "default", Table: fmt.Sprint("t", i)}
		s.tables[n] = &tableState{schedule: every, status: TableStatus{Table: n, State: Waiting, NextRun: now.Add(-time.Duration(i) * time.Second)}}
	}
	for i := range 3 {
		if n, _ := s.due(); n.Table != fmt.Sprint("t", tables-1-i) || len(s.line) != tables-1-i {
			t.Errorf("%s is first, %d are in line", n, len(s.line))
		}
	}
	s.unqueue(catalog.Name{Namespace: "default", Table: fmt.Sprint("t", tables-3)}) // no worker was free
	if n := len(s.line); n != tables-2 {
		t.Errorf("%d are in line after no worker was free for the first", n)
	}
	if n, _ := s.due(); n.Table != fmt.Sprint("t", tables-3) || len(s.line) != tables-3 {
		t.Errorf("%s is first after no worker was free for it, %d are in line", n, len(s.line))
	}
	asked := catalog.Name{Namespace: "default", Table: "t20"}
	s.tables[asked].status.NextRun = now.Add(time.Hour)
	for range tables - 4 {
		if n, _ := s.due(); n == asked || n == (catalog.Name{}) {
			t.Errorf("%q, which is not due", n)
		}
	}
	if err := s.RunNow(asked); err != nil {
		t.Fatal(err)
	}
	if n, _ := s.due(); n != asked {
		t.Errorf("%q comes before the one that was asked for", n)
	}
	if n, wait := s.due(); n != (catalog.Name{}) || wait == 0 {
		t.Errorf("%q is due", n)
	}
}

// What a table's property requires is built once for the shards that are there.
func TestServiceBuildsIndexes(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	if err := tbl.SetProperties(ctx, map[string]string{catalog.IndexesProperty: "text:name"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := SetPolicy(ctx, tbl, map[string]string{"schedule": "1s"}); err != nil {
		t.Fatal(err)
	}
	_, runs, stop := serve(t, tbl.Catalog(), ServiceOptions{})
	got := await(t, runs, 2)
	stop()
	if got[0].Error != "" || got[0].IndexesBuilt != 3 || got[1].IndexesBuilt != 0 {
		t.Errorf("%+v", got)
	}
	states, err := g.load(nil).IndexStates(ctx)
	if err != nil || len(states) != 1 || states[0].Stripes != 3 || states[0].StripesTotal != 3 || states[0].Bytes == 0 {
		t.Errorf("%+v, %v", states, err)
	}
}

// A property that another client has set to what can't be read fails the table's run, and not the service.
func TestServiceOutlivesUnreadableIndexes(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 2)
	var other icecatalog.Catalog
	o := catalog.Options{URI: "sqlite:" + filepath.Join(g.dir, "catalog.db"), Warehouse: "mem://" + g.bucket + "/wh", Client: blobio.NewClient(blobio.ClientOptions{})}
	icebergaccess.Wrap(&o, func(c icecatalog.Catalog) icecatalog.Catalog { other = c; return c })
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	unreadable := iceberg.Properties{catalog.IndexesProperty: "phonebook:name"}
	if _, _, err := other.CommitTable(ctx, []string{name.Namespace, name.Table}, nil, []table.Update{table.NewSetPropertiesUpdate(unreadable)}); err != nil {
		t.Fatal(err)
	}
	told := make(chan TableStatus, 10)
	s, runs, stop := serve(t, g.open(nil), ServiceOptions{Failed: func(st TableStatus) { told <- st }})
	if run := await(t, runs, 1)[0]; !strings.Contains(run.Error, catalog.IndexesProperty) || run.IndexesBuilt != 0 {
		t.Errorf("%+v", run)
	}
	if st := statusOf(t, s, name); st.State != Failing || st.Shards != 1 {
		t.Errorf("%+v", st)
	}
	// Somebody is given when it begins, and not of every run after that.
	if err := s.RunNow(name); err != nil {
		t.Fatal(err)
	}
	await(t, runs, 1)
	stop()
	if st := <-told; len(told) != 0 || st.Table != name || st.State != Failing || st.Problem == "" || st.Remedy == "" {
		t.Errorf("%+v, and %d more", st, len(told))
	}
}

// TestQueuedTablesCanBePaused: a table that waits for a worker is not running, can be paused, and is not started then.
func TestQueuedTablesCanBePaused(t *testing.T) {
	name := catalog.Name{Namespace: "default", Table: "t"}
	s := NewService(nil, ServiceOptions{})
	s.tables[name] = &tableState{status: TableStatus{Table: name, State: Waiting, NextRun: s.o.Now()}}
	if due, _ := s.due(); due != name {
		t.Fatalf("due: %v", due)
	}
	if state := s.tables[name].status.State; state != Waiting {
		t.Errorf("a table without a worker is %s", state)
	}
	if err := s.Pause(name); err != nil {
		t.Error(err)
	}
	if s.start(name) {
		t.Error("a paused table is started")
	}
	if err := s.Resume(name); err != nil {
		t.Error(err)
	}
	if due, _ := s.due(); due != name || !s.start(name) || s.tables[name].status.State != Running {
		t.Errorf("after the pause: %v, %s", due, s.tables[name].status.State)
	}
	if err := s.Pause(name); !errors.Is(err, ErrBusy) {
		t.Errorf("a running table: %v", err)
	}
}

package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/internal/schedule"
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/internal/parallel"
)

// ServiceOptions of NewService. The zero value is valid.
type ServiceOptions struct {
	// Workers is how many tables are worked on at the same time, 1 if 0.
	Workers int
	// Discover is how often the catalog is sent a request for its tables, a minute if 0.
	Discover time.Duration
	// Overrides are settings of a file; Reload changes them.
	Overrides Overrides
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Log gets what happened, slog.Default if nil.
	Log *slog.Logger
	// Finished, if not nil, is called for every run.
	Finished func(Run)
	// Failed, if not nil, is called when a table begins to fail, when it halts, and when groups go into quarantine that were not there; not
	// again for each run that fails after that.
	Failed func(TableStatus)
	// Collect are the delays and the ratio of collections of tables whose settings leave them open; Execute is set. A ratio of 0 is 0.95.
	Collect catalog.CollectOptions
	// Tracer, if not nil, gets a span for each run over a table, each group and each step.
	Tracer trace.Tracer
}

// Service keeps the tables of a catalog in shape: it looks at each by its own schedule, drops what its retention states, compacts
// by its policy and expires its snapshots. Any number of services may run over one catalog: a race costs the loser work and
// nothing else, see Execute.
type Service struct {
	cat *catalog.Catalog
	o   ServiceOptions

	mu     sync.Mutex
	tables map[catalog.Name]*tableState
	// line are the tables that were due at the time lined, the most urgent one last.
	line  []*tableState
	lined time.Time
	// wake is written to when a worker may have something to do.
	wake chan struct{}
	// namespaces are the settings around the tables.
	namespaces map[string]namespaceSettings
	// catalogAway means that the catalog could not be listed the last time.
	catalogAway bool
	// discovered is when the catalog was last requested its tables.
	discovered time.Time
	// storeAway: runs failed because the store does not respond. probed is the time of the last probe since.
	storeAway bool
	probed    time.Time
	// changes are the records of changed settings that were seen, nil before the first look.
	changes map[string]bool
	// look is written to when the catalog may be due to be listed; undiscovered counts failures in a row, and the next try is at retryAt.
	look         chan struct{}
	undiscovered int
	retryAt      time.Time
	// sweep is written to when dropped tables may be due to be collected; swept is when they last were.
	sweep chan struct{}
	swept time.Time
}

// tableState is a table as the service knows it.
type tableState struct {
	status   TableStatus
	schedule schedule.Schedule
	// failures in a row: the delay grows with them. damages are those that halt the table once there are nocache.Reads of them: what they read may be a damaged
	// copy. They are read past all caches from the second one on.
	failures, damages int
	seen              bool
	// held: paused by hand. A pause that the table's settings require is looked at again by the schedule, for it may end.
	held bool
	// queued: it waits for a worker.
	queued bool
	// resumed: this process has looked for runs that others left.
	resumed bool
	// done is when each chore was last done.
	done map[chore]time.Time
	// indexed is the property whose indexes the table's shards have.
	indexed string
	// again: its settings were changed while it was worked on.
	again bool
	// retry: somebody requested the next run, which is not kept back by a quarantine.
	retry bool
	// rest is what a run that found nothing to do knows of the table, nil if the next one must look.
	rest *rest
	// began is when the run under way did, progress how far it is, nil before it reports.
	began    time.Time
	progress *Progress
}

// NewService makes a service; Run starts it.
func NewService(c *catalog.Catalog, o ServiceOptions) *Service {
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.Discover <= 0 {
		o.Discover = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Service{cat: c, o: o, tables: map[catalog.Name]*tableState{}, namespaces: map[string]namespaceSettings{}, wake: make(chan struct{}, 1), look: make(chan struct{}, 1), sweep: make(chan struct{}, 1)}
}

// Run works until ctx is done, and returns when every table that was being worked on is left in order: a run under way is
// cancelled, which leaves the table as before or as after it.
func (s *Service) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	jobs := make(chan catalog.Name)
	for range s.o.Workers {
		workers.Go(func() {
			for name := range jobs {
				if s.start(name) {
					s.maintain(ctx, name)
				}
				s.poke()
			}
		})
	}
	defer workers.Wait()
	defer close(jobs)
	// Beside the workers, so that a catalog or a store that is slow keeps no known table waiting.
	workers.Go(func() { each(ctx, s.look, s.watch) })
	workers.Go(func() { each(ctx, s.sweep, s.collectDropped) })
	for next := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-time.After(next):
		}
		notify(s.look)
		notify(s.sweep)
		next = s.dispatch(ctx, jobs)
	}
}

// each calls work for each value of a channel until ctx is done.
func each(ctx context.Context, c <-chan struct{}, work func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c:
			work(ctx)
		}
	}
}

// watch lists the catalog if it is time to, and looks for the end of outages. Between failures it backs off.
func (s *Service) watch(ctx context.Context) {
	if s.undiscovered == 0 || !s.o.Now().Before(s.retryAt) {
		s.reportDiscovery(ctx, s.discover(ctx))
	}
	s.reportStore(ctx)
}

// collectDropped deletes the files of dropped tables whose delay is over, as often as the settings for all tables say. A failure is logged and
// waits for the next time.
func (s *Service) collectDropped(ctx context.Context) {
	e, err := Resolve(appendOverride(nil, s.overrides(), "*", "catalog (file)"))
	now := s.o.Now()
	if err != nil || e.upkeep.collect == nil || !s.swept.IsZero() && !e.upkeep.collect.Passed(s.swept, now) {
		return
	}
	s.swept = now
	err = parallel.Guarded(func() error { // what lies there must not end the service
		done, err := s.cat.CollectDropped(ctx, s.collectOptions(e.upkeep))
		for _, c := range done {
			if c.Deleted > 0 {
				s.o.Log.Info("deleted files of a dropped table", "table", c.Table, "objects", c.Deleted)
			}
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.o.Log.Warn("files of dropped tables could not be deleted; retrying later", "error", err)
	}
}

// reportDiscovery reports an outage of the catalog once, and its end. Tables that fail are due at once then.
func (s *Service) reportDiscovery(ctx context.Context, err error) {
	s.mu.Lock()
	was := s.catalogAway
	switch {
	case err == nil:
		s.catalogAway = false
	case ctx.Err() == nil:
		s.catalogAway = true
	}
	is := s.catalogAway
	if was && !is {
		s.failingAreDue()
	}
	s.mu.Unlock()
	switch {
	case is && !was:
		s.o.Log.Warn("the catalog is unreachable; maintenance of known tables continues", "error", err)
	case was && !is:
		s.o.Log.Info("the catalog is reachable again")
	}
}

// Once does one round over all tables, each with everything that is due, and returns when the last one is done. The error joins those of tables
// that failed.
func (s *Service) Once(ctx context.Context) error {
	if err := s.discover(ctx); err != nil {
		return err
	}
	var workers sync.WaitGroup
	jobs := make(chan catalog.Name)
	for range s.o.Workers {
		workers.Go(func() {
			for name := range jobs {
				if s.start(name) {
					s.maintain(ctx, name)
				}
			}
		})
	}
	for _, st := range s.Status() {
		select {
		case jobs <- st.Table:
		case <-ctx.Done():
		}
	}
	close(jobs)
	workers.Wait()
	s.collectDropped(ctx)
	failed := ctx.Err()
	for _, st := range s.Status() {
		if st.State == Failing || st.State == Halted {
			failed = errors.Join(failed, fmt.Errorf("table %s is %s: %s", st.Table, st.State, st.Problem))
		}
	}
	return failed
}

// Reload puts other overrides in force, and makes every table due whose work is not held up.
func (s *Service) Reload(o Overrides) {
	s.mu.Lock()
	s.o.Overrides = o
	s.line = nil
	clear(s.namespaces)
	for _, t := range s.tables {
		if t.status.State == Waiting || t.status.State == Failing {
			t.status.NextRun = s.o.Now()
		}
	}
	s.mu.Unlock()
	s.poke()
}

func (s *Service) overrides() Overrides {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.o.Overrides
}

// Effective are the settings that are in force for a table.
func (s *Service) Effective(ctx context.Context, t *catalog.Table) (*Effective, error) {
	return s.overrides().Effective(ctx, t)
}

func (s *Service) poke() { notify(s.wake) }

// notify writes to a channel that holds one value, unless it does.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// idle bounds how long nobody looks at the clock, which may have been set.
const idle = 5 * time.Second

// dispatch hands out every table that is due, the one with the longest wait first, and reports how long nothing will be.
func (s *Service) dispatch(ctx context.Context, jobs chan<- catalog.Name) time.Duration {
	for {
		name, wait := s.due()
		if wait > 0 {
			return min(wait, idle)
		}
		select {
		case <-ctx.Done():
			return idle
		case <-s.wake: // somebody paused a table, or a worker is free
			s.unqueue(name)
			return 0
		case <-time.After(idle): // all workers are busy; new tables are looked for meanwhile
			s.unqueue(name)
			return 0
		case jobs <- name:
		}
	}
}

// unqueue gives back a table that no worker was free for: it keeps its place at the head of the line, unless the line is to be made again.
func (s *Service) unqueue(name catalog.Name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tables[name]; t != nil {
		t.queued = false
		if s.line != nil {
			s.line = append(s.line, t)
		}
	}
}

// start marks a table as running when a worker begins with it, unless it was paused, or begun by another one, meanwhile.
func (s *Service) start(name catalog.Name) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, now := s.tables[name], s.o.Now()
	if t == nil {
		return false
	}
	t.queued = false
	if !t.rests() || t.status.NextRun.After(now) {
		return false
	}
	t.status.State, t.began, t.progress = Running, now, nil
	return true
}

// due takes the most urgent table that is due and marks it as queued, until a worker starts; without one, it reports when the next will be. Urgency is
// the time that a table has waited, and grows with its backlog: a table that waits long enough comes first whatever the others have.
func (s *Service) due() (catalog.Name, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wait := s.o.Now(), idle
	if age := now.Sub(s.lined); age < 0 || age >= lineTime || len(s.line) == 0 {
		wait = s.lineUp(now)
	}
	for len(s.line) > 0 {
		first := s.line[len(s.line)-1]
		s.line = s.line[:len(s.line)-1]
		if name := first.status.Table; s.tables[name] == first && first.rests() && !first.status.NextRun.After(now) {
			first.queued = true
			return name, 0
		}
	}
	return catalog.Name{}, max(wait, time.Millisecond)
}

// lineTime is how long the order of the tables that are due may be old: to look at all of them for each would cost more than the tables.
const lineTime = time.Second

// lineUp puts the tables that are due in line, and reports when the next one will be.
func (s *Service) lineUp(now time.Time) (wait time.Duration) {
	s.line, s.lined, wait = s.line[:0], now, idle
	for _, t := range s.tables {
		if !t.rests() {
			continue
		}
		if latest := t.latest(now); t.status.NextRun.After(latest) { // the clock was set back
			t.status.NextRun = latest
		}
		if left := t.status.NextRun.Sub(now); left > 0 {
			wait = min(wait, left)
		} else {
			s.line = append(s.line, t)
		}
	}
	slices.SortFunc(s.line, func(a, b *tableState) int { return cmp.Compare(a.urgency(now), b.urgency(now)) })
	return wait
}

// rests reports whether nobody works on the table and nothing keeps it from being worked on but the time.
func (t *tableState) rests() bool {
	return t.status.State != Running && !t.queued && !t.held && t.status.State != Halted
}

// latest is the time by which a table will be looked at in any case.
func (t *tableState) latest(now time.Time) time.Time {
	if t.status.State == Failing {
		return now.Add(maxBackoff)
	}
	return now.Add(2 * t.schedule.Next(now).Sub(now))
}

// urgency is the wait in seconds, times one more than the number of shards in the backlog in hundreds.
func (t *tableState) urgency(now time.Time) float64 {
	return (now.Sub(t.status.NextRun).Seconds() + 1) * (1 + float64(t.status.BacklogShards)/100)
}

// discover calls the catalog for its tables, if it is time to. A new table is due at once.
func (s *Service) discover(ctx context.Context) error {
	s.mu.Lock()
	now := s.o.Now()
	fresh := !s.discovered.IsZero() && now.Sub(s.discovered) < s.o.Discover && !now.Before(s.discovered)
	s.mu.Unlock()
	if fresh {
		return nil
	}
	names, err := s.cat.Tables(ctx, "")
	if err != nil {
		s.undiscovered++
		s.retryAt = s.o.Now().Add(min(time.Second<<min(s.undiscovered, 10), s.o.Discover))
		return err
	}
	s.undiscovered = 0
	defer s.poke()
	changed, err := s.changedSettings(ctx)
	if err != nil {
		s.o.Log.Debug("changed settings are not listed; they apply when the tables are due", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discovered = now
	s.dueAfter(changed)
	for _, t := range s.tables {
		t.seen = false
	}
	for _, name := range names {
		t := s.tables[name]
		if t == nil {
			t = &tableState{status: TableStatus{Table: name, State: Waiting, NextRun: now, LastSuccess: now}}
			s.tables[name] = t
		}
		t.seen = true
	}
	for name, t := range s.tables {
		if !t.seen && t.status.State != Running {
			delete(s.tables, name)
		}
	}
	return nil
}

// maxBackoff bounds the delay after failures; minBackoff is the first one.
const minBackoff, maxBackoff = time.Minute, time.Hour

// maintain runs over one table and plans its next run.
func (s *Service) maintain(ctx context.Context, name catalog.Name) {
	run := Run{Table: name, Started: s.o.Now()}
	var look measurement
	ctx, end := (&Options{Tracer: s.o.Tracer}).span(ctx, "run", attribute.String("shardcat.table", name.String()))
	s.mu.Lock()
	if t := s.tables[name]; t != nil && t.damages > 0 {
		ctx = nocache.With(ctx)
	}
	s.mu.Unlock()
	err := parallel.Guarded(func() (err error) { // one table's data must not end the service for all
		look, err = s.work(ctx, name, &run)
		return err
	})
	end(err)
	ended := ctx.Err() == nil                                  // by itself: what failed then is reported, although the service may be ending by now
	run.Seconds = max(0, s.o.Now().Sub(run.Started).Seconds()) // the clock may have been set back
	if err != nil {
		run.Error = err.Error()
	}
	if ended && s.o.Finished != nil {
		s.o.Finished(run)
	}
	s.mu.Lock()
	t := s.tables[name]
	if t == nil {
		s.mu.Unlock()
		return
	}
	was := t.failures
	t.finish(look, run, err, s.o.Now())
	now := t.status
	s.mu.Unlock()
	begins := err != nil && (was == 0 || now.State == Halted) || err == nil && run.quarantines()
	away, first := false, false
	if err != nil && ended {
		away, first = s.outage(ctx, err)
		begins = begins && (!away || first)
	}
	if s.o.Failed != nil && ended && begins {
		now.History = nil
		s.o.Failed(now)
	}
	switch {
	case !ended:
	case first:
		s.o.Log.Warn("the store is unreachable; tables are retried", "table", name, "error", err)
	case away:
		s.o.Log.Debug("compaction failed in an outage", "table", name, "error", err)
	case err != nil:
		s.o.Log.Error("compaction failed", "table", name, "state", now.State, "error", err, "next", now.NextRun)
	case len(run.Results) > 0 || run.RowsExpired > 0 || run.SnapshotsExpired > 0:
		s.o.Log.Info("compacted", "table", name, "groups", len(run.Results), "bytes_moved", run.BytesMoved,
			"shards", look.shards, "snapshots_expired", run.SnapshotsExpired, "seconds", run.Seconds)
	}
}

// finish books a run.
func (t *tableState) finish(look measurement, run Run, err error, now time.Time) {
	st := &t.status
	st.Rounds++
	if look.measured { // else the last known values stay
		st.Shards, st.Records, st.Bytes, st.Measured = look.shards, look.records, look.bytes, true
		st.Quarantined, st.QuarantinedShards = look.quarantined, look.quarantinedShards
		st.BacklogShards, st.BacklogBytes, st.Groups = look.backlogShards, look.backlogBytes, look.groups
		st.TargetSize = look.targetSize
	}
	if look.settled || t.schedule == (schedule.Schedule{}) {
		t.schedule, st.Schedule = look.schedule, look.schedule.String()
		st.Interval = t.schedule.Next(t.schedule.Next(now)).Sub(t.schedule.Next(now))
	}
	if n := len(st.History); n > 0 && run.idle() && st.History[n-1].idle() {
		st.History[n-1] = run // of a table at rest the latest look is enough
	} else {
		st.History = append(st.History, run)
	}
	if n := len(st.History) - keptRuns; n > 0 {
		st.History = append([]Run(nil), st.History[n:]...)
	}
	st.Problem, st.Remedy = "", ""
	if err == nil {
		t.failures, t.damages, st.FailingSince, st.LastSuccess, st.Succeeded = 0, 0, time.Time{}, now, true
		st.State = Waiting
		if st.Problem = look.problem; st.Problem != "" {
			st.Remedy = "shardcat verify " + st.Table.String()
			if strings.HasPrefix(st.Problem, "collection: ") {
				st.Remedy = "shardcat gc " + st.Table.String()
			}
		}
		if st.NextRun = jittered(t.schedule.Next(now), now, look.jitter); t.again {
			st.NextRun, t.again = now, false
		}
		if look.paused {
			st.State = Paused
		}
		return
	}
	if t.failures++; t.failures == 1 {
		st.FailingSince = now
	}
	st.Problem, st.Remedy = err.Error(), remedyOf(st.Table, err)
	st.State, st.NextRun = Failing, now.Add(min(minBackoff<<min(t.failures-1, 10), maxBackoff))
	if !Halts(err) {
		return
	}
	if st.State = Halted; isDamage(err) && !errors.Is(err, ErrGroups) { // those of groups have been read again
		if t.damages++; t.damages < nocache.Reads {
			st.State = Failing
		}
	}
}

// jittered moves a time away from now by up to a share of the distance, so that tables don't all run at once.
func jittered(next, now time.Time, share float64) time.Time {
	return next.Add(time.Duration(rand.Float64() * share * float64(next.Sub(now))))
}

// RunNow makes a table due, whatever its schedule, a pause, a halt or a quarantine say.
func (s *Service) RunNow(name catalog.Name) error {
	return s.change(name, func(t *tableState) {
		t.status.State, t.status.NextRun, t.held, t.retry = Waiting, s.o.Now(), false, true
	})
}

// Pause keeps a table from being worked on until Resume, in this process; the table's setting "pause" does so everywhere.
func (s *Service) Pause(name catalog.Name) error {
	return s.change(name, func(t *tableState) { t.status.State, t.held = Paused, true })
}

// Resume ends a pause or a halt; the table is due at once.
func (s *Service) Resume(name catalog.Name) error { return s.RunNow(name) }

// ErrBusy: the table is being worked on.
var ErrBusy = errors.New("the table is being worked on")

func (s *Service) change(name catalog.Name, do func(*tableState)) error {
	s.mu.Lock()
	t := s.tables[name]
	err := error(nil)
	switch {
	case t == nil:
		err = fmt.Errorf("table %s: %w", name, catalog.ErrNotFound)
	case t.status.State == Running:
		err = fmt.Errorf("table %s: %w", name, ErrBusy)
	default:
		do(t)
		s.line = nil
	}
	s.mu.Unlock()
	s.poke()
	return err
}

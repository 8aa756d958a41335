package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/catalog/internal/commitqueue"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
)

// Group commit (docs/design/group-commit.md): appends of one process that finish their shards while another append to the same branch is
// being committed wait for it, and are then committed together in one snapshot, which records the ids of all of their jobs.

// maxGroup bounds the appends of one snapshot, and so the ids in its summary.
const maxGroup = 64

// commitGroups are the branches to which shared appends are being committed, and the appends that wait for them. The zero value is ready.
type commitGroups struct {
	mu sync.Mutex
	// waiting has an entry for each branch with a commit in progress.
	waiting map[branchKey][]*groupMember
}

type branchKey struct {
	table  uuid.UUID
	branch string
}

// groupMember is an append whose shards and records are written and read back, waiting for its commit.
type groupMember struct {
	ctx     context.Context
	job     *Job
	entries []*manifest.Entry

	// done is closed when result or err, and state, the table after the commit, are set.
	done   chan struct{}
	result *CommitResult
	err    error
	state  *table.Table
	ended  bool
}

// queued is how many appends wait for a commit.
func (g *commitGroups) queued() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, queue := range g.waiting {
		n += len(queue)
	}
	return n
}

// enter begins a commit, or queues m where one is in progress; a nil m is not queued. The caller of a commit that began calls next afterwards.
func (g *commitGroups) enter(key branchKey, m *groupMember) (began bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue, busy := g.waiting[key]
	switch {
	case !busy && g.waiting == nil:
		g.waiting = map[branchKey][]*groupMember{key: nil}
	case !busy:
		g.waiting[key] = nil
	case m != nil:
		g.waiting[key] = append(queue, m)
	}
	return !busy
}

// leave removes a member whose caller gave up from the queue. False: its commit has begun.
func (g *commitGroups) leave(key branchKey, m *groupMember) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting[key], m)
	if i < 0 {
		return false
	}
	g.waiting[key] = slices.Delete(g.waiting[key], i, i+1)
	return true
}

// next ends a commit and begins that of the waiting appends. Two deliveries of one job never share a snapshot: the second one waits, and
// finds the first.
func (g *commitGroups) next(key branchKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var group, rest []*groupMember
	for _, m := range g.waiting[key] {
		twice := slices.ContainsFunc(group, func(other *groupMember) bool { return other.job.record.ID == m.job.record.ID })
		if twice || len(group) == maxGroup {
			rest = append(rest, m)
		} else {
			group = append(group, m)
		}
	}
	if len(group) == 0 {
		delete(g.waiting, key)
		return
	}
	g.waiting[key] = rest
	go func() {
		defer g.next(key)
		commitGroup(group)
	}()
}

// appendShared is Append that may share its snapshot with other appends of this process to the branch. An append that meets no other one
// is committed as Append does it, without waiting.
func (j *Job) appendShared(ctx context.Context, entries []*manifest.Entry) (*CommitResult, error) {
	t := j.table
	if t.creation != nil {
		return j.Append(ctx, entries)
	}
	groups, key := &t.cat.groups, branchKey{t.ice.Metadata().TableUUID(), j.branch}
	if groups.enter(key, nil) {
		defer groups.next(key)
		return j.Append(ctx, entries)
	}
	// What can fail for this append alone is done before it joins a group.
	j.joinTerms(ctx, entries)
	if err := j.writeBeside(ctx); err != nil {
		return nil, err
	}
	m := &groupMember{ctx: ctx, job: j, entries: entries, done: make(chan struct{})}
	if groups.enter(key, m) { // the other commit has ended meanwhile
		defer groups.next(key)
		return j.Append(ctx, entries)
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		if groups.leave(key, m) {
			return nil, ctx.Err()
		}
		<-m.done // being committed: only the outcome counts
	}
	if m.err != nil {
		return nil, fmt.Errorf("table %s: %w", t.name, m.err)
	}
	t.takeOver(ctx, m.state.Metadata(), m.state.MetadataLocation())
	j.ended(ctx, m.result)
	return m.result, nil
}

// writeBeside writes and reads back what the entries of the job depend on, and waits for its claim and its record.
func (j *Job) writeBeside(ctx context.Context) error {
	if beside := j.beside; beside != nil {
		j.beside = nil
		if err := beside.write(ctx); err != nil {
			return err
		}
		if err := beside.readBack(ctx, j.table.cat.client); err != nil {
			return err
		}
	}
	return j.awaitRecord()
}

// commitGroup commits appends in one snapshot. Where the snapshot as a whole is refused, each is committed alone, so that the error of one
// is not that of the others.
func commitGroup(group []*groupMember) {
	ctx, end := groupContext(group)
	defer end()
	c := &groupCommit{left: group}
	if err := c.run(ctx); err != nil {
		refused := c.staging || errors.Is(err, ErrRefused) || errors.Is(err, ErrInvalid)
		if alone := c.left; len(alone) > 1 && refused && !mayBeCommitted(err) && ctx.Err() == nil {
			for _, m := range alone {
				single := &groupCommit{left: []*groupMember{m}}
				if err := single.run(ctx); err != nil {
					single.finish(nil, err)
				}
			}
			return
		}
		c.finish(nil, err)
	}
}

// groupContext ends when the contexts of all members have ended: no caller cancels the commit of another.
func groupContext(group []*groupMember) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	left := atomic.Int64{}
	left.Store(int64(len(group)))
	stops := make([]func() bool, len(group))
	for i, m := range group {
		stops[i] = context.AfterFunc(m.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// groupCommit is the commit of a group.
type groupCommit struct {
	table *Table
	// left are the members without an outcome.
	left []*groupMember
	// staging: the manifests of the group could not be written, nothing was sent.
	staging bool
}

// run commits the members. After an error the remaining ones have no outcome yet. Whether a panic was before the commit or after it is
// unknown.
func (c *groupCommit) run(ctx context.Context) error {
	err := parallel.Guarded(func() error {
		if err := c.load(ctx); err != nil {
			return err
		}
		done, err := c.table.attempts(ctx, c, false)
		if err == nil {
			c.finish(done, nil)
		}
		return err
	})
	if errors.As(err, new(*parallel.Panic)) {
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	if err != nil {
		for _, j := range c.jobs() {
			j.failed(err)
		}
	}
	return err
}

// load gives the group a table handle of its own: the handles of members end with their contexts.
func (c *groupCommit) load(ctx context.Context) error {
	of := c.left[0].job.table
	t, err := of.cat.LoadToAppend(ctx, of.name)
	if err != nil {
		return err
	}
	if t.UUID() != of.UUID() {
		return fmt.Errorf("%w: table %s was dropped and created again", ErrConflict, of.name)
	}
	c.table = t
	return nil
}

// jobs are those of the members without an outcome.
func (c *groupCommit) jobs() (jobs []*Job) {
	for _, m := range c.left {
		jobs = append(jobs, m.job)
	}
	return jobs
}

// check ends the members that can't be part of a snapshot on this state of the table: those that another run has committed, and those
// that a validation refuses. Their outcome is theirs alone.
func (c *groupCommit) check(ctx context.Context, n int) (*CommitResult, error) {
	c.left = slices.DeleteFunc(c.left, func(m *groupMember) bool {
		if s := c.table.findJob(m.job.branch, m.job.record.ID); s != nil {
			m.finish(c.table, &CommitResult{SnapshotID: s.SnapshotID, Before: true, Attempts: n - 1}, nil)
			return true
		}
		err := cmp.Or(m.job.checkAbandoned(ctx), m.job.checkEntries(c.table, m.entries))
		if err == nil {
			err = c.table.checkRequired(ctx, m.job.record.Kind, m.entries)
		}
		if err != nil {
			m.job.failed(err)
			m.finish(c.table, nil, err)
		}
		return err != nil
	})
	if len(c.left) == 0 {
		return &CommitResult{}, nil // of no member
	}
	return nil, nil
}

// stage writes the manifests of all members' entries.
func (c *groupCommit) stage(ctx context.Context) (*manifest.Staged, *metadataio.ReadBacks, error) {
	all := change{Change: manifest.Change{Operation: table.OpAppend, JobID: c.left[0].job.record.ID}}
	for i, m := range c.left {
		all.Add = append(all.Add, m.entries...)
		if i > 0 {
			all.MoreJobIDs = append(all.MoreJobIDs, m.job.record.ID)
		}
	}
	slices.SortFunc(all.Add, byPath)
	view, later := c.table.readingBackLater(ctx)
	staged, err := view.stage(c.left[0].job.branch, all)
	err = cmp.Or(err, ctx.Err())
	c.staging = err != nil
	return staged, later, err
}

// finish ends the members without an outcome with this one.
func (c *groupCommit) finish(result *CommitResult, err error) {
	for _, m := range c.left {
		m.finish(c.table, result, err)
	}
	c.left = nil
}

// finish ends a member, unless it has ended.
func (m *groupMember) finish(t *Table, result *CommitResult, err error) {
	if m.ended {
		return
	}
	m.ended = true
	if m.err = err; result != nil {
		own := *result
		m.result, m.state = &own, t.ice
	}
	close(m.done)
}

// queued begins a change. Its Leave must be called when the change has ended.
func (t *Table) queued(yields bool) *commitqueue.Writer {
	return &commitqueue.Writer{Queue: t.cat.queue, Table: queuedTable{t}, Yields: yields, Now: t.cat.opts.Now, Log: t.cat.opts.Log}
}

// queuedTable is a table as its queue of writers sees it.
type queuedTable struct{ *Table }

func (t queuedTable) UUID() uuid.UUID { return t.ice.Metadata().TableUUID() }
func (t queuedTable) Name() string    { return t.name.String() }
func (t queuedTable) Exists() bool    { return t.creation == nil }

func (t queuedTable) LastCommit() time.Time {
	head := t.ice.CurrentSnapshot()
	if head == nil {
		return time.Time{}
	}
	return time.UnixMilli(head.TimestampMs)
}

package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/nocache"
	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// ErrNeedsRebuild: the group's shards can't be brought together without rewriting data.
var ErrNeedsRebuild = errors.New("the shards need a rebuild")

// Options of Execute and Compact. The zero value is valid.
type Options struct {
	// JobID names the delivery of a group's job; random if empty. Compact gives each group its own.
	JobID string
	// Check reads the rows of inputs and output and compares them before the commit; it is the only part of a
	// concat that reads data.
	Check bool
	// Progress, if not nil, is called at each step, and while records are rewritten; several groups at a time call it one after the other.
	Progress func(Progress)
	// Fence, if not nil, is called before each commit; its error keeps the commit from being sent and ends the run. It is how the
	// holder of a lease finds out that it has lost it, see catalog.CompactLease.
	Fence func(context.Context) error
	// DryRun makes Compact plan only: its report has the plan, no results and as many shards after as before.
	DryRun bool
	// Quarantine, if not nil, keeps Compact away from the shards of groups that failed before, and gets those that fail now.
	Quarantine *Quarantine
	// Log, if not nil, is called for each step of a job.
	Log *slog.Logger
	// Tracer, if not nil, gets a span for each step of a job.
	Tracer trace.Tracer
	// room, if not nil, reports whether the run may move so many bytes more than its plan states, and books them.
	room func(bytes int64) bool
}

// Result is a group that was merged.
type Result struct {
	Mode       Mode   `json:"mode"`
	Inputs     int    `json:"inputs"`
	Output     string `json:"output"`
	Records    int64  `json:"records"`
	BytesMoved int64  `json:"bytes_moved"`
	SnapshotID int64  `json:"snapshot_id"`
	JobID      string `json:"job_id"`
	// DroppedIndexes counts the indexes that could not stay: those whose positions count over a whole shard, and which not all inputs have
	// alike. JoinedIndexes are such that were merged, into objects of IndexBytes.
	DroppedIndexes int   `json:"dropped_indexes,omitempty"`
	JoinedIndexes  int   `json:"joined_indexes,omitempty"`
	IndexBytes     int64 `json:"index_bytes,omitempty"`
	// Before: the job had been committed earlier; nothing was done now.
	Before bool `json:"before,omitempty"`
}

// Execute does the work of one group, all steps of a Job: a record, new objects, one snapshot. A concatenation that the inputs' schemas don't allow becomes
// a rebuild, if the policy allows one. If an input is no longer live when the snapshot is
// committed the error is catalog.ErrConflict, the table is as the other writer left it, and the new root is
// deleted again. Where an object is damaged or missing it begins again, past all caches, before that counts.
func Execute(ctx context.Context, t *catalog.Table, g *Group, policy Policy, o Options) (result *Result, err error) {
	ctx, end := o.span(ctx, "compact group", g.attributes()...)
	defer func() { end(err) }()
	err = nocache.Retry(ctx, isDamage, func(ctx context.Context) (err error) {
		result, err = execute(ctx, t, g, policy, o)
		return err
	})
	return result, err
}

func execute(ctx context.Context, t *catalog.Table, g *Group, policy Policy, o Options) (*Result, error) {
	j, err := Begin(ctx, t, g, policy, o)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{j.Write, j.ReadBack} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return j.Commit(ctx)
}

// join makes one shard of inputs; its URL is out.
type join func(ctx context.Context, client *blobio.Client, out string, inputs []merge.Input, o merge.Options) (*merge.Result, error)

// joiner is how a group's shards become one, with what is copied in the object packed.
func joiner(g *Group, packed string, all bool) join {
	if g.Mode != Pack {
		return merge.Concat
	}
	return func(ctx context.Context, client *blobio.Client, out string, inputs []merge.Input, o merge.Options) (*merge.Result, error) {
		po := merge.PackOptions{Options: o, Object: packed, All: all, Optional: !all && len(inputs) > 1} // shards are joined in any case
		r, err := merge.Pack(ctx, client, out, inputs, po)
		if errors.Is(err, merge.ErrNothingToPack) { // the entries promised more than the sizes of the objects keep
			po.All = true
			r, err = merge.Pack(ctx, client, out, inputs, po)
		}
		return r, err
	}
}

// concatenated writes the merged root and gives its entry.
func (j *Job) concatenated(ctx context.Context, out, packed string) (*manifest.Entry, error) {
	t, g := j.table, j.group
	merged, err := j.mergeRoots(ctx, out, joiner(g, packed, j.policy.PackAll))
	if err != nil {
		return nil, err
	}
	j.written(merged)
	j.result.BytesMoved = merged.BytesMoved
	e, err := t.DescribeMerged(ctx, out, merged.Root, g.Inputs.Paths())
	if err != nil {
		return nil, err
	}
	g.place(e)
	return e, nil
}

// written notes what became of the indexes of merged shards.
func (j *Job) written(merged *merge.Result) {
	j.indexes = merged.Written
	j.result.DroppedIndexes, j.result.JoinedIndexes, j.result.IndexBytes = merged.DroppedIndexes, merged.JoinedIndexes, merged.IndexBytes
}

// place puts the entry of a merged root where its inputs are. A concatenation of sorted runs is not sorted: the entry has no sort order.
func (g *Group) place(e *manifest.Entry) {
	e.SpecID, e.Partition = g.class.specID, g.class.partition
	for _, in := range g.Inputs.all() {
		e.Flags |= in.flags & (manifest.Adopted | manifest.StandardProperties)
	}
}

// mergeRoots concatenates by the schema that the inputs have in common, else by the table's.
func (j *Job) mergeRoots(ctx context.Context, out string, how join) (*merge.Result, error) {
	t, g, p := j.table, j.group, j.policy
	allow, err := t.Allowed()
	if err != nil {
		return nil, err
	}
	o := merge.Options{
		IndexPrefix:   t.VaultFolder() + "data/" + strings.TrimSuffix(path.Base(out), ".amudai.shard") + "/",
		AllowExternal: p.External, AllowStandard: p.Tagged, Policy: urlresolve.Policy{Allow: allow},
		Limits: merge.Limits{Objects: int(p.MaxObjects), Stripes: int(p.MaxStripes)},
	}
	inputs, err := mergeInputs(ctx, t, g)
	if err != nil {
		return nil, err
	}
	client := t.Catalog().Client()
	merged, err := how(ctx, client, out, inputs, o)
	if errors.Is(err, merge.ErrSchema) { // no input has all columns
		o.Schema, o.FieldIDs = mergedSchema(t, g.class.deleted)
		merged, err = how(ctx, client, out, inputs, o)
	}
	if errors.Is(err, merge.ErrSchema) {
		return nil, fmt.Errorf("%w: %w", ErrNeedsRebuild, err)
	}
	return merged, err
}

// mergedSchema is the schema that shards of a table are concatenated by, with the marker of deleted records where they have some.
func mergedSchema(t *catalog.Table, deleted bool) (*schema.Schema, []int) {
	if deleted {
		return merge.WithMarker(t.Schema(), t.FieldIDs())
	}
	return t.Schema(), t.FieldIDs()
}

// mergeInputs names the roots; those of other writers carry no field ids and get the table's.
func mergeInputs(ctx context.Context, t *catalog.Table, g *Group) ([]merge.Input, error) {
	inputs := make([]merge.Input, g.Inputs.Len())
	for i, in := range g.Inputs.all() {
		inputs[i] = merge.Input{URL: g.Inputs.kept.path(in), Size: in.root}
		if !in.flags.Has(manifest.Foreign) {
			continue
		}
		ids, err := t.ShardFieldIDs(ctx, inputs[i].URL, in.root)
		if err != nil {
			return nil, err
		}
		inputs[i].FieldIDs = ids
	}
	return inputs, nil
}

// Report is what Compact did.
type Report struct {
	Plan    *Plan    `json:"plan"`
	Results []Result `json:"results"`
	// Failed are groups that could not be done; the others went on.
	Failed []Failure `json:"failed,omitempty"`
	// Lost counts groups whose inputs another writer took; they were planned again.
	Lost int `json:"lost"`
	// ShardsBefore and ShardsAfter are live shards; BytesMoved data bytes rewritten.
	ShardsBefore int   `json:"shards_before"`
	ShardsAfter  int   `json:"shards_after"`
	BytesMoved   int64 `json:"bytes_moved"`
}

// Failure is a group that could not be done, and why. Its inputs are live as before.
type Failure struct {
	Inputs []string `json:"inputs"`
	Error  string   `json:"error"`
	// Halts: going on could do harm, see Halts.
	Halts bool `json:"halts,omitempty"`
	// Times that shards of it have failed in a row, if there is a quarantine.
	Times int `json:"times,omitempty"`
}

// ErrGroups: some groups could not be done, see Report.Failed.
var ErrGroups = errors.New("some groups could not be compacted")

// maxReplans bounds how often a lost race is settled by planning again.
const maxReplans = 3

// Compact plans and executes until a plan has run through. A race that planning again can't settle is
// catalog.ErrConflict; the groups done before it stand. A group that fails for another reason does not keep the others from
// being done: the error is ErrGroups then, with the first one's reason.
func Compact(ctx context.Context, t *catalog.Table, policy Policy, o Options) (*Report, error) {
	report := &Report{Results: []Result{}}
	for n := 0; ; n++ {
		left := policy
		if left.MaxBytesPerRun > 0 {
			left.MaxBytesPerRun = max(1, policy.MaxBytesPerRun-report.BytesMoved)
		}
		plan, err := tracedPlan(ctx, t, left, o)
		if err != nil {
			return report, err
		}
		if n == 0 {
			report.Plan, report.ShardsBefore = plan, plan.Shards
		}
		if o.DryRun {
			report.ShardsAfter = plan.Shards
			return report, nil
		}
		err = report.execute(ctx, t, plan, left, o)
		report.ShardsAfter = int(t.Describe().Shards)
		if !errors.Is(err, catalog.ErrConflict) || n == maxReplans {
			if err == nil && len(report.Results) > 0 {
				err = keyIndexes(ctx, t)
			}
			return report, err
		}
		report.Lost++
		if err := t.Refresh(ctx); err != nil {
			return report, err
		}
	}
}

// keyIndexes brings the table's key indexes to what a compaction has made of its shards. What others do meanwhile is done by the next run.
func keyIndexes(ctx context.Context, t *catalog.Table) error {
	_, err := t.UpdateKeyIndexes(ctx)
	if errors.Is(err, catalog.ErrConflict) {
		return nil
	}
	return err
}

func tracedPlan(ctx context.Context, t *catalog.Table, policy Policy, o Options) (plan *Plan, err error) {
	ctx, end := o.span(ctx, "plan", attribute.String("shardcat.table", t.Name().String()))
	defer func() { end(err) }()
	return newPlan(ctx, t, policy, o.Quarantine)
}

// execute does the groups of a plan, as many at a time as the policy states.
func (r *Report) execute(ctx context.Context, t *catalog.Table, plan *Plan, policy Policy, o Options) error {
	x := &execution{report: r, policy: policy, o: o, first: len(r.Results), total: len(plan.Groups)}
	for i := range plan.Groups {
		x.totalRecords += plan.Groups[i].Records
		x.moves += plan.Groups[i].BytesMoved
	}
	workers := min(policy.withDefaults().Concurrency, len(plan.Groups))
	if workers <= 1 {
		for i := range plan.Groups {
			if err := x.group(ctx, t, &plan.Groups[i], i); err != nil {
				return err
			}
		}
		return x.failed
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range plan.Groups {
		group.Go(func() error {
			return parallel.Guarded(func() error {
				own, err := t.Catalog().Load(inner, t.Name()) // a table is for one goroutine
				if err != nil {
					return err
				}
				return x.group(inner, own, &plan.Groups[i], i)
			})
		})
	}
	err := group.Wait()
	if refreshed := t.Refresh(ctx); err == nil {
		err = refreshed
	}
	return cmp.Or(err, x.failed)
}

// execution is a plan at work.
type execution struct {
	policy       Policy
	o            Options
	first, total int
	totalRecords int64
	// moves are the bytes that the plan moves, and what its groups turned out to move more.
	moves int64

	mu     sync.Mutex
	report *Report
	// done groups, and records of groups that are done or at work.
	done    int
	records int64
	// failed is why the first group failed of those that did, or the first one that halts.
	failed error
}

// group does one group and books what came of it. Its error is one that ends the plan: a lost race, or the context's.
func (x *execution) group(ctx context.Context, t *catalog.Table, g *Group, number int) error {
	one := x.o
	one.Progress, one.room = x.progressOf(), x.room
	if one.JobID != "" {
		one.JobID = fmt.Sprintf("%s-%d", x.o.JobID, x.first+number)
	}
	result, err := Execute(ctx, t, g, x.policy, one)
	if errors.Is(err, catalog.ErrConflict) || errors.Is(err, catalog.ErrLeaseLost) || err != nil && ctx.Err() != nil {
		return err
	}
	err = lostRoot(ctx, t, err)
	if err != nil {
		failure := Failure{Inputs: g.Inputs.Paths(), Error: err.Error(), Halts: Halts(err)}
		if x.o.Quarantine != nil && !errors.Is(err, catalog.ErrUnsafe) { // the folder of another table is not to be written to
			err = errors.Join(err, x.o.Quarantine.Add(ctx, &failure))
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.report.Failed = append(x.report.Failed, failure)
		if x.failed == nil || Halts(err) && !Halts(x.failed) {
			x.failed = fmt.Errorf("%w: %w", ErrGroups, err)
		}
		return nil
	}
	x.mu.Lock()
	x.report.Results = append(x.report.Results, *result)
	x.report.BytesMoved += result.BytesMoved
	x.mu.Unlock()
	return x.o.Quarantine.Settle(ctx, g.Inputs.Paths())
}

// room reports whether so many bytes more may be moved, and books them.
func (x *execution) room(bytes int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if most := x.policy.MaxBytesPerRun; most > 0 && x.moves+bytes > most {
		return false
	}
	x.moves += bytes
	return true
}

// progressOf adds up the progress of jobs; each job has one of its own.
func (x *execution) progressOf() func(Progress) {
	if x.o.Progress == nil {
		return nil
	}
	var before int64
	return func(p Progress) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if p.RecordsDone > before {
			x.records, before = x.records+p.RecordsDone-before, p.RecordsDone
		}
		if p.Step == stepDone {
			x.done++
		}
		p.Groups, p.GroupsDone, p.Records, p.RecordsDone = x.total, x.done, x.totalRecords, x.records
		x.o.Progress(p)
	}
}

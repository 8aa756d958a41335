package tablescan

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// taskVersion is the version of the JSON form of tasks. A reader refuses versions that it does not know.
const taskVersion = 1

// DefaultSplitSize is how many stored bytes a task covers, unless stated otherwise.
const DefaultSplitSize = 128 << 20

// Task is a part of a scan that can be read anywhere: records of one shard, by a table's schema at the time of the plan. The tasks
// of a plan have every row of the scan in exactly one of them. A task can be read as long as the table's objects are kept
// for readers of old snapshots, whatever compaction and expiry do in the meantime.
type Task struct {
	Version int `json:"version"`
	// Table, with its UUID: a table of the same name that was made later is another one.
	Table string `json:"table"`
	UUID  string `json:"table_uuid"`
	// SnapshotID was planned on; SchemaID is the Iceberg schema of the result.
	SnapshotID int64 `json:"snapshot_id"`
	SchemaID   int   `json:"schema_id"`
	// Shard is the URL of a root object of RootBytes bytes.
	Shard     string `json:"shard"`
	RootBytes int64  `json:"root_bytes"`
	// Start and End are the records to read, by position in the shard, deleted ones counted: from Start up to, and without, End.
	Start uint64 `json:"start"`
	End   uint64 `json:"end"`
	// FirstStripe and Stripes report where these records lie.
	FirstStripe int `json:"first_stripe"`
	Stripes     int `json:"stripes"`
	// Select are the columns, dotted paths; null is all of them. Where is what remains of the filter, "" for nothing.
	Select []string `json:"select"`
	Where  string   `json:"where,omitempty"`
	// ExpectedRows, before the filter, and ExpectedBytes, of all columns, are estimates.
	ExpectedRows  int64 `json:"expected_rows"`
	ExpectedBytes int64 `json:"expected_bytes"`
}

// TaskPlan is a scan cut into tasks.
type TaskPlan struct {
	Version    int    `json:"version"`
	Table      string `json:"table"`
	UUID       string `json:"table_uuid"`
	SnapshotID int64  `json:"snapshot_id"`
	// ShardsTotal and ShardsPruned count the shards of the snapshot, and those that were ruled out.
	ShardsTotal  int `json:"shards_total"`
	ShardsPruned int `json:"shards_pruned"`
	// ManifestsRead and ManifestsPruned are as in ScanStats.
	ManifestsRead   int    `json:"manifests_read"`
	ManifestsPruned int    `json:"manifests_pruned"`
	Tasks           []Task `json:"tasks"`
}

// Tasks cuts the plan into tasks of about splitSize stored bytes (DefaultSplitSize if 0). Shards that are larger are opened, one GET
// each, and cut between stripes, or within a stripe that is itself larger than one and a half. A limit has no place in a plan that is
// read in parts: caterr.ErrInvalid.
func (p *Plan) Tasks(ctx context.Context, splitSize int64) (*TaskPlan, error) {
	if splitSize <= 0 {
		splitSize = DefaultSplitSize
	}
	if p.options.Limit != 0 {
		return nil, fmt.Errorf("%w: a limit applies to a whole scan, but tasks are read independently", caterr.ErrInvalid)
	}
	t := p.state
	out := &TaskPlan{
		Version: taskVersion, Table: t.Name, UUID: t.UUID(), SnapshotID: t.SnapshotID,
		ShardsTotal: p.Total, ShardsPruned: p.PrunedPartition + p.PrunedBounds, ManifestsRead: p.Manifests, ManifestsPruned: p.ManifestsPruned, Tasks: []Task{},
	}
	where := ""
	if p.options.Where != nil {
		where = p.options.Where.String()
	}
	if err := p.checkSplit(splitSize, len(where)); err != nil {
		return nil, err
	}
	for _, e := range p.Shards {
		whole := Task{
			Version: taskVersion, Table: out.Table, UUID: out.UUID, SnapshotID: t.SnapshotID, SchemaID: p.state.Schema.Iceberg.ID,
			Shard: e.Path, RootBytes: e.RootBytes, End: uint64(e.Records + e.Deleted), Stripes: int(e.Stripes),
			Select: p.options.Select, ExpectedRows: e.Records, ExpectedBytes: e.StoredBytes, Where: where,
		}
		if e.StoredBytes <= splitSize || whole.End <= 1 {
			out.Tasks = append(out.Tasks, whole)
			continue
		}
		shard, err := t.Open(ctx, t.Client, e)
		if err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, split(whole, e, shard.Stripes(), splitSize)...)
	}
	return out, nil
}

// maxPlanBytes bounds the JSON of a plan's tasks beyond one for each shard: a task repeats the filter and the columns.
const maxPlanBytes = 64 << 20

// checkSplit refuses a size that makes many more tasks than readers can use.
func (p *Plan) checkSplit(size int64, where int) error {
	const taskBytes = 400
	each := int64(taskBytes + where)
	for _, path := range p.options.Select {
		each += int64(len(path)) + 4
	}
	tasks, stored := int64(0), int64(0)
	for _, e := range p.Shards {
		stored += max(0, e.StoredBytes)
		if e.StoredBytes > size {
			tasks += min(e.StoredBytes/size, max(0, e.Records+e.Deleted))
		}
	}
	if most := maxPlanBytes / each; tasks > most {
		return fmt.Errorf("%w: split size %d: about %d tasks of %d stored bytes, more than the limit of %d; use %d or more", caterr.ErrInvalid, size, tasks, stored, most, stored/max(1, most)+1)
	}
	return nil
}

// split cuts the task of a whole shard.
func split(whole Task, e *manifest.Entry, stripes []shardfmt.StripeInfo, size int64) (tasks []Task) {
	perTask := max(1, uint64(float64(whole.End)*float64(size)/float64(e.StoredBytes)))
	open := false
	for i, s := range stripes {
		for from := s.Position; from < s.Position+s.Records; {
			to := s.Position + s.Records
			if rest := to - from; rest > perTask+perTask/2 {
				to = from + rest/((rest+perTask-1)/perTask)
			}
			last := len(tasks) - 1
			if open && to-tasks[last].Start <= perTask+perTask/2 {
				tasks[last].End, tasks[last].Stripes = to, i+1-tasks[last].FirstStripe
			} else {
				part := whole
				part.Start, part.End, part.FirstStripe, part.Stripes = from, to, i, 1
				tasks, open = append(tasks, part), true
			}
			from = to
		}
	}
	for i := range tasks {
		share := float64(tasks[i].End-tasks[i].Start) / float64(whole.End)
		tasks[i].ExpectedRows = int64(share * float64(e.Records))
		tasks[i].ExpectedBytes = int64(share * float64(e.StoredBytes))
	}
	return tasks
}

// OfTask makes a plan that reads one task. A task of another table, of an unknown version, or with records that its shard does not have
// is refused; so is a shard outside of the table's vault and what it has adopted.
func OfTask(t *State, schemaByID func(id int) (*manifest.TableSchema, error), task *Task) (_ *Plan, err error) {
	switch {
	case task.Version != taskVersion:
		return nil, fmt.Errorf("%w: task of version %d; this program reads version %d", caterr.ErrInvalid, task.Version, taskVersion)
	case task.UUID != t.UUID():
		return nil, fmt.Errorf("%w: the task is of a table with UUID %s, %s has %s", caterr.ErrConflict, task.UUID, t.Name, t.UUID())
	case task.End < task.Start:
		return nil, fmt.Errorf("%w: the task reads from record %d to %d", caterr.ErrInvalid, task.Start, task.End)
	}
	o := ScanOptions{Select: task.Select, Ordered: true}
	if task.Where != "" {
		where, err := filter.Parse(task.Where)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", caterr.ErrInvalid, err)
		}
		o.Where = where
	}
	if t.Schema, err = schemaByID(task.SchemaID); err != nil {
		return nil, err
	}
	e := &manifest.Entry{Path: task.Shard, Format: manifest.Format, RootBytes: task.RootBytes, Records: task.ExpectedRows}
	p, err := New(t, []*manifest.Entry{e}, o)
	if err != nil {
		return nil, err
	}
	return Within(p, task.Start, task.End), nil
}

// window are the records of a shard that a plan reads, by position.
type window struct{ start, end uint64 }

// outside refuses records that a shard does not have; no records at all are none to read.
func (w *window) outside(shard *shardfmt.Shard) error {
	if w.start == w.end && w.end <= shard.Records() {
		return nil
	}
	return fmt.Errorf("%w: records %d to %d of %s, which has %d", caterr.ErrInvalid, w.start, w.end, shard.URL(), shard.Records())
}

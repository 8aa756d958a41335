package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/valuetext"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

// JobRepair is the kind of a repair's jobs.
const JobRepair = "repair"

// RepairOptions of Repair. The zero value mends what can be mended without a loss.
type RepairOptions struct {
	// AcceptLoss also drops the shards that can't be read any more, with their rows.
	AcceptLoss bool
	// DryRun says what would be done, and changes nothing.
	DryRun bool
	// Verify says how much is read to find what is wrong.
	Verify VerifyOptions
}

// Repair is one shard that was, or would be, mended.
type Repair struct {
	Shard string `json:"shard"`
	// Faults are what verification found.
	Faults []string `json:"faults"`
	// Action is entry (a new root and an entry made from it), rewrite (all rows read and written again), drop
	// (the shard leaves the table), or none.
	Action string `json:"action"`
	// Rows of the shard by its entry; those of a dropped shard are lost.
	Rows int64 `json:"rows"`
	// Output is the root in its place.
	Output string `json:"output,omitempty"`
	// Why an action is none, or was not the mildest one.
	Why string `json:"why,omitempty"`
}

// The actions of a Repair.
const (
	RepairEntry   = "entry"
	RepairRewrite = "rewrite"
	RepairDrop    = "drop"
	RepairNone    = "none"
)

// Repaired is what a repair did, or would do.
type Repaired struct {
	Table   string   `json:"table"`
	DryRun  bool     `json:"dry_run"`
	Repairs []Repair `json:"repairs"`
	// Left are faults that no repair mends: those of metadata and of key indexes, and of shards that only old snapshots name.
	Left []TableFault `json:"left"`
	// OK: nothing is left, and no repair was refused.
	OK bool `json:"ok"`
	// RowsLost by shards that were dropped.
	RowsLost int64 `json:"rows_lost"`
}

// Repair verifies the table and mends what is wrong with the shards of its current state, each in a snapshot of its
// own: an entry that lies is made anew, under a new root; a shard with lying statistics or damage that spares its
// values is written again from its rows; one whose rows can't be read is dropped, if AcceptLoss says so. Older
// snapshots keep what they have.
func (t *Table) Repair(ctx context.Context, o RepairOptions) (*Repaired, error) {
	found, err := t.Verify(ctx, o.Verify)
	if err != nil {
		return nil, err
	}
	out := &Repaired{Table: t.name.String(), DryRun: o.DryRun, Repairs: []Repair{}, Left: []TableFault{}}
	live := map[string]*manifest.Entry{}
	for e, err := range t.Entries(ctx, At{}) {
		if err != nil {
			return nil, err
		}
		live[e.Path] = e
	}
	for _, s := range byShard(found.Errors) {
		e := live[s[0].Shard]
		if e == nil {
			out.Left = append(out.Left, s...)
			continue
		}
		r, err := t.repairShard(ctx, e, s, o)
		if err != nil {
			return out, err
		}
		out.Repairs = append(out.Repairs, *r)
		if r.Action == RepairDrop && !o.DryRun {
			out.RowsLost += r.Rows
		}
	}
	out.OK = len(out.Left) == 0
	for _, r := range out.Repairs {
		out.OK = out.OK && r.Action != RepairNone
	}
	return out, nil
}

// byShard groups faults; those of no shard are groups of their own.
func byShard(faults []TableFault) (out [][]TableFault) {
	at := map[string]int{}
	for _, f := range faults {
		i, ok := at[f.Shard]
		if !ok || f.Shard == "" {
			i = len(out)
			at[f.Shard], out = i, append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// repairShard tries the mildest action first.
func (t *Table) repairShard(ctx context.Context, e *manifest.Entry, faults []TableFault, o RepairOptions) (*Repair, error) {
	r := &Repair{Shard: e.Path, Rows: e.Records, Action: RepairEntry}
	for _, f := range faults {
		r.Faults = append(r.Faults, f.Object+": "+f.What)
		if f.Kind != FaultEntry {
			r.Action = RepairRewrite
		}
	}
	if r.Action == RepairRewrite {
		if err := t.readable(ctx, e); err != nil {
			if !rowsAreLost(err) {
				return nil, err
			}
			r.Action, r.Why = RepairDrop, err.Error()
		}
	}
	if r.Action == RepairDrop && !o.AcceptLoss {
		r.Action, r.Why = RepairNone, fmt.Sprintf("its %d rows can't be read (%s); --accept-loss drops it", r.Rows, r.Why)
	}
	if o.DryRun || r.Action == RepairNone {
		return r, nil
	}
	return r, t.replaceShard(ctx, e, r)
}

// errRows is a shard that reads to another number of rows than its entry says.
var errRows = errors.New("rows are missing")

// rowsAreLost tells an error of the stored bytes, which no further attempt will mend, from one of the way to them: a store
// that denies or does not answer, a memory limit, a cancelled context.
func rowsAreLost(err error) bool {
	switch {
	case errors.Is(err, shardfmt.ErrBudget):
		return false
	case errors.Is(err, errRows), errors.Is(err, corrupt.ErrCorrupt), errors.Is(err, corrupt.ErrUnsupported):
		return true
	}
	return errors.Is(err, blobio.ErrNotFound) || errors.Is(err, blobio.ErrRange) || errors.Is(err, urlresolve.ErrRefused)
}

// unsized is an entry without the size of its root, which may be what is wrong.
func unsized(e *manifest.Entry) *manifest.Entry {
	out := *e
	out.RootBytes = 0
	return &out
}

// readable reads all rows of a shard. Nothing of its statistics is used.
func (t *Table) readable(ctx context.Context, e *manifest.Entry) error {
	rows := int64(0)
	p, err := t.PlanOf([]*manifest.Entry{unsized(e)}, ScanOptions{Ordered: true})
	if err != nil {
		return err
	}
	for b, err := range p.Run(ctx, nil) {
		if err != nil {
			return err
		}
		rows += b.NumRows()
	}
	if rows != e.Records {
		return fmt.Errorf("%w: its entry says %d, %d come", errRows, e.Records, rows)
	}
	return nil
}

// replaceShard carries a repair out in one snapshot.
func (t *Table) replaceShard(ctx context.Context, e *manifest.Entry, r *Repair) error {
	ingest := IngestOptions{CreationTime: timeOf(e.Created.Last)}
	if err := t.addDefaultIndexes(&ingest); err != nil {
		return err
	}
	j, _, err := t.BeginJob(ctx, JobRepair, "", []string{e.Path}, t.Outputs)
	if err != nil {
		return err
	}
	var add []*manifest.Entry
	w := newShardWriters(t, j, &ingest)
	objects := func() []string { return w.objects }
	switch r.Action {
	case RepairEntry:
		root := t.VaultFolder() + j.Attempt() + "-0001.amudai.shard"
		objects = func() []string { return []string{root} }
		add, err = t.entryAnew(ctx, e, root)
	case RepairRewrite:
		if w.options.StandardProperties, err = t.standardProperties(ctx, e); err == nil {
			add, err = t.rewrite(ctx, e, w)
		}
	}
	if err == nil {
		_, err = j.commit(ctx, change{
			Change: manifest.Change{Operation: table.OpOverwrite, Add: add, Remove: []string{e.Path},
				Properties: map[string]string{manifest.OperationKey: JobRepair}},
			validate: func(t *Table) error { return j.checkEntries(t, add) },
		})
	}
	if err != nil {
		w.abort(ctx)
		j.Fail(ctx, objects())
		return err
	}
	for _, a := range add {
		r.Output = a.Path
	}
	return nil
}

// entryAnew copies a root under a new name, since no path may come into a table twice, and describes it.
func (t *Table) entryAnew(ctx context.Context, e *manifest.Entry, root string) ([]*manifest.Entry, error) {
	allow, err := t.Allowed()
	if err != nil {
		return nil, err
	}
	input := merge.Input{URL: e.Path} // its size may be what is wrong
	if e.Flags.Has(manifest.Foreign) {
		if input.FieldIDs, err = t.ShardFieldIDs(ctx, e.Path, 0); err != nil {
			return nil, err
		}
	}
	done, err := merge.Concat(ctx, t.cat.client, root, []merge.Input{input}, merge.Options{
		AllowExternal: !t.owns(e.Path) || e.Flags.Has(manifest.Adopted), AllowStandard: true, Policy: urlresolve.Policy{Allow: allow},
		Limits: merge.Limits{Objects: -1, Stripes: -1, RootBytes: -1, PropertyBytes: -1},
	})
	if err != nil {
		return nil, err
	}
	is, err := t.DescribeRoot(ctx, root, done.Root)
	if err != nil {
		return nil, err
	}
	is.SpecID, is.Partition, is.SortOrderID = e.SpecID, e.Partition, e.SortOrderID
	is.Flags |= e.Flags & (manifest.Adopted | manifest.StandardProperties)
	return []*manifest.Entry{is}, nil
}

// standardProperties are those that a rewritten shard keeps: tags mean its rows, not its bytes.
func (t *Table) standardProperties(ctx context.Context, e *manifest.Entry) ([]*metapb.NameValuePair, error) {
	shard, err := t.openShard(ctx, t.cat.client, e.Path, 0, false)
	if err != nil {
		return nil, err
	}
	p, err := shard.Root().ReadProperties(ctx)
	return p.Standard, err
}

// rewrite writes the rows of a shard as new ones.
func (t *Table) rewrite(ctx context.Context, e *manifest.Entry, w *shardWriters) ([]*manifest.Entry, error) {
	p, err := t.PlanOf([]*manifest.Entry{unsized(e)}, ScanOptions{Ordered: true})
	if err != nil {
		return nil, err
	}
	rows, err := w.writeAll(ctx, p.Run(ctx, nil))
	if err != nil {
		return nil, err
	}
	if rows != e.Records {
		return nil, fmt.Errorf("%s: %d rows came, its entry says %d", e.Path, rows, e.Records)
	}
	return w.close(ctx)
}

// timeOf is the time of ticks of 100 ns since year 1, zero for none.
func timeOf(ticks int64) time.Time {
	if ticks == 0 {
		return time.Time{}
	}
	return valuetext.Time(ticks)
}

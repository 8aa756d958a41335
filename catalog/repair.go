package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// jobRepair is the kind of a repair's jobs.
const jobRepair = "repair"

// RepairOptions of Repair. The zero value repairs what can be repaired without a loss.
type RepairOptions struct {
	// AcceptLoss also drops the stripes, and the shards, that can't be read any more, with their rows.
	AcceptLoss bool
	// DryRun reports what would be done, and changes nothing.
	DryRun bool
	// Verify determines how much is read to find what is wrong.
	Verify VerifyOptions
}

// Repair is one shard that was, or would be, repaired.
type Repair struct {
	Shard string `json:"shard"`
	// Faults are what verification found.
	Faults []string `json:"faults"`
	// Action is entry (a new root and an entry made from it), rewrite (all rows read and written again), stripes
	// (a new root of the stripes that can be read), drop (the shard leaves the table), or none.
	Action string `json:"action"`
	// Rows of the shard by its entry, and those of them that can't be read.
	Rows int64 `json:"rows"`
	Lost int64 `json:"lost,omitempty"`
	// Stripes are those that can't be read, by number.
	Stripes []int `json:"stripes,omitempty"`
	// Output is the root in its place.
	Output string `json:"output,omitempty"`
	// Why an action is none, or was not the mildest one.
	Why string `json:"why,omitempty"`

	// kept are the stripes of the new root, nil for all.
	kept []int
}

// The actions of a Repair.
const (
	repairEntry   = "entry"
	repairRewrite = "rewrite"
	repairStripes = "stripes"
	repairDrop    = "drop"
	RepairNone    = "none"
)

// RepairResult is what a repair did, or would do.
type RepairResult struct {
	Table   string   `json:"table"`
	DryRun  bool     `json:"dry_run"`
	Repairs []Repair `json:"repairs"`
	// Left are faults that repair does not fix: those of metadata and of key indexes, and of shards that only old snapshots name.
	Left []TableFault `json:"left"`
	// OK: nothing is left, and no repair was refused.
	OK bool `json:"ok"`
	// RowsLost by stripes and shards that were dropped, or would be.
	RowsLost int64 `json:"rows_lost"`
	// Remains are what snapshots still refer to of shards that left the current state with lost rows: until they expire verify reports them, and a collection
	// ends where a root is lost.
	Remains []Remain `json:"remains,omitempty"`
}

// Remain is a lost shard that retained snapshots name.
type Remain struct {
	Shard     string  `json:"shard"`
	Snapshots []int64 `json:"snapshots"`
	// Refs are branches and tags that keep one of them; it stays until they are dropped or moved on.
	Refs []string `json:"refs,omitempty"`
	// Until is when the last of them is old enough to expire by the default age.
	Until time.Time `json:"until"`
}

// remains finds the snapshots that name faulty shards which the current state does not name.
func (t *Table) remains(ctx context.Context, faults map[string]bool) ([]Remain, error) {
	if len(faults) == 0 {
		return nil, nil
	}
	for e, err := range t.Entries(ctx, At{}) {
		if err != nil {
			return nil, err
		}
		delete(faults, e.Path)
	}
	found := map[string]*Remain{}
	for _, s := range t.History() {
		for e, err := range t.Entries(ctx, At{SnapshotID: s.ID}) {
			if storeError(err) {
				return nil, err
			}
			if err != nil { // of a damaged list or manifest, which is a fault of its own
				break
			}
			if !faults[e.Path] {
				continue
			}
			r := found[e.Path]
			if r == nil {
				r = &Remain{Shard: e.Path}
				found[e.Path] = r
			}
			r.Snapshots, r.Refs = append(r.Snapshots, s.ID), append(r.Refs, s.Refs...)
			if until := s.Time.Add(DefaultExpireAge).UTC(); until.After(r.Until) {
				r.Until = until
			}
		}
	}
	var out []Remain
	for _, path := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[path])
	}
	return out, nil
}

// Repair verifies the table and repairs what is wrong with the shards of its current state, each in a snapshot of its
// own: an entry that lies is made again, under a new root; a shard with lying statistics or damage that spares its
// values is written again from its rows; stripes whose rows can't be read are dropped, if AcceptLoss reports it, and the
// shard with them if it has no others. Older snapshots keep what they have.
func (t *Table) Repair(ctx context.Context, o RepairOptions) (*RepairResult, error) {
	found, err := t.Verify(ctx, o.Verify)
	if err != nil {
		return nil, err
	}
	out := &RepairResult{Table: t.name.String(), DryRun: o.DryRun, Repairs: []Repair{}, Left: []TableFault{}}
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
		if r.Action == repairDrop || r.Action == repairStripes {
			out.RowsLost += r.Lost
		}
	}
	gone := map[string]bool{} // lost shards that older snapshots name, of this repair and of those before it
	for _, f := range out.Left {
		if f.Shard != "" {
			gone[f.Shard] = true
		}
	}
	for _, r := range out.Repairs {
		if !o.DryRun && r.Lost > 0 && (r.Action == repairDrop || r.Action == repairStripes) {
			gone[r.Shard] = true
		}
	}
	if out.Remains, err = t.remains(ctx, gone); err != nil {
		if o.DryRun || !slices.ContainsFunc(out.Repairs, func(r Repair) bool { return r.Action != RepairNone }) {
			return out, err
		}
		t.cat.opts.Log.Warn("the table is repaired, but the snapshots that still refer to lost shards can't be listed", "table", t.name.String(), "error", err)
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
	r := &Repair{Shard: e.Path, Rows: e.Records, Action: repairEntry}
	for _, f := range faults {
		r.Faults = append(r.Faults, f.Object+": "+f.What)
		if f.Kind != faultEntry {
			r.Action = repairRewrite
		}
	}
	if r.Action == repairRewrite {
		p, err := t.PlanOf(nil, ScanOptions{})
		if err != nil {
			return nil, err
		}
		lost, err := tablescan.DamageOf(ctx, p, unsized(e), e.Records)
		if err != nil {
			return nil, err
		}
		r.drop(lost)
	}
	if r.Lost > 0 && !o.AcceptLoss {
		r.Action, r.Why = RepairNone, fmt.Sprintf("%d of its %s can't be read (%s); --accept-loss drops them", r.Lost, plural.Count(r.Rows, "row"), r.Why)
	}
	if o.DryRun || r.Action == RepairNone {
		return r, nil
	}
	return r, t.replaceShard(ctx, e, r)
}

// drop chooses how rows that can't be read leave the table: with their stripes, or with the whole shard. Of a shard whose
// stripes can all be read the entry is what is wrong.
func (r *Repair) drop(lost *Damage) {
	if lost == nil {
		return
	}
	r.Action, r.Why, r.Stripes, r.Lost = repairStripes, lost.Why, lost.Stripes, lost.Rows
	if len(lost.Stripes) == 0 {
		r.Action = repairEntry
		return
	}
	if len(lost.Stripes) >= lost.Of {
		r.Action, r.Lost = repairDrop, r.Rows
		return
	}
	for i := range lost.Of {
		if !slices.Contains(lost.Stripes, i) {
			r.kept = append(r.kept, i)
		}
	}
}

// unsized is an entry without the size of its root, which may be what is wrong.
func unsized(e *manifest.Entry) *manifest.Entry {
	out := *e
	out.RootBytes = 0
	return &out
}

// replaceShard carries a repair out in one snapshot.
func (t *Table) replaceShard(ctx context.Context, e *manifest.Entry, r *Repair) error {
	ingest := IngestOptions{CreationTime: timeOf(e.Created.Last)}
	if err := t.addDefaultIndexes(&ingest); err != nil {
		return err
	}
	j, _, err := t.BeginJob(ctx, jobRepair, "", []string{e.Path}, t.Outputs)
	if err != nil {
		return err
	}
	var add []*manifest.Entry
	w := newShardWriters(t, j, &ingest)
	objects := func() []string { return w.objects }
	switch r.Action {
	case repairEntry, repairStripes:
		root := t.VaultFolder() + j.Attempt() + "-0001.amudai.shard"
		objects = func() []string { return []string{root} }
		add, err = t.entryAnew(ctx, e, root, r.kept)
	case repairRewrite:
		if w.options.StandardProperties, err = t.standardProperties(ctx, e); err == nil {
			add, err = t.rewrite(ctx, e, w)
		}
	}
	if err == nil {
		_, err = j.commit(ctx, change{
			Change: manifest.Change{Operation: table.OpOverwrite, Add: add, Remove: []string{e.Path},
				Properties: map[string]string{manifest.OperationKey: jobRepair}},
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

// entryAnew copies a root, with some of its stripes only if stripes is not nil, under a new name, since no path may come into a
// table twice, and describes it.
func (t *Table) entryAnew(ctx context.Context, e *manifest.Entry, root string, stripes []int) ([]*manifest.Entry, error) {
	input, o, err := t.succession(ctx, unsized(e))
	if err != nil {
		return nil, err
	}
	input.Stripes, o.AllowStandard = stripes, true
	done, err := merge.Concat(ctx, t.cat.client, root, []merge.Input{input}, o)
	if err != nil {
		return nil, err
	}
	is, err := t.successor(ctx, e, done)
	if err != nil {
		return nil, err
	}
	return []*manifest.Entry{is}, nil
}

// standardProperties are those that a rewritten shard keeps: tags mean its rows, not its bytes.
func (t *Table) standardProperties(ctx context.Context, e *manifest.Entry) ([]shardfmt.Property, error) {
	shard, err := t.openShard(ctx, t.cat.client, e.Path, 0)
	if err != nil {
		return nil, err
	}
	p, err := shard.Properties(ctx)
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
		return nil, fmt.Errorf("%s: %d rows read, its entry says %d", e.Path, rows, e.Records)
	}
	return w.close(ctx)
}

// timeOf is the time of ticks of 100 ns since year 1, zero for none.
func timeOf(ticks int64) time.Time {
	if ticks == 0 {
		return time.Time{}
	}
	return literal.Time(ticks)
}

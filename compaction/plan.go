package compaction

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/manifest"
)

// Mode is how a group is merged.
type Mode string

// The modes, the cheapest first.
const (
	// Concat copies metadata and moves no data.
	Concat Mode = "concat"
	// Pack copies the bytes of small objects into one and decodes nothing.
	Pack Mode = "pack"
	// Rebuild reads the live rows by the table's schema and rewrites them.
	Rebuild Mode = "rebuild"
)

// Group is a set of shards that should become one.
type Group struct {
	Mode Mode `json:"mode"`
	// Inputs are the roots to merge, in order.
	Inputs Inputs `json:"inputs"`
	// SmallStripes marks a rebuild whose cause is many small stripes: larger ones among them may stay where they are, under a
	// root of their own.
	SmallStripes bool `json:"small_stripes,omitempty"`
	// ShardRows ends each of several outputs; 0 where the policy's targets do.
	ShardRows int64 `json:"shard_rows,omitempty"`
	// Outputs is the number of shards afterwards.
	Outputs int `json:"outputs"`
	// Records are live records, Bytes what the inputs store.
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
	// BytesMoved are bytes of data to be read and written again: none for Concat, at most what the inputs store for Rebuild, and with their term filters
	// for Pack.
	BytesMoved int64 `json:"bytes_moved"`
	// HeldBytes are those of the inputs' objects that stay because of the merged root alone: old roots too, where they hold data, though
	// nothing reads their metadata any more. The frames of objects are not counted. None for Pack and Rebuild, as far as these move everything.
	HeldBytes int64 `json:"held_bytes,omitempty"`
	// MetadataBytes will be copied.
	MetadataBytes int64 `json:"metadata_bytes"`
	// Gets and Puts are requests for the merge, the job's records included and Iceberg's own left out.
	Gets int64 `json:"gets"`
	Puts int64 `json:"puts"`
	// Steps are about how many of all requests wait for one another, those of a commit to a table with few manifests included: the time of the merge,
	// where the store is remote and the data little.
	Steps int64 `json:"steps"`
	// Reason reports why these shards, and why not more of them.
	Reason string `json:"reason"`
	// Partition of the shards, as text, empty if the table has none.
	Partition string `json:"partition,omitempty"`
	// Loss is what the merge costs scans that prune, Scan what all of them gain.
	Loss *PruningLoss `json:"pruning_loss,omitempty"`
	Scan *ScanCost    `json:"scan,omitempty"`

	class *class
}

// Plan is what a policy proposes for a state of a table.
type Plan struct {
	// SnapshotID is the state that was looked at, 0 for an empty table.
	SnapshotID int64   `json:"snapshot_id"`
	Groups     []Group `json:"groups"`
	// Shards is the number of live shards, Left those that no group takes, by the reason why.
	Shards int            `json:"shards"`
	Left   map[string]int `json:"left"`
	// Manifests counts those that were read, ManifestsPruned those whose partitions prove that the policy's filter selects none of their rows.
	Manifests       int `json:"manifests_read"`
	ManifestsPruned int `json:"manifests_pruned"`
	// Overlap is how deep the bounds of the shards overlap before the plan is done; nil if no column has bounds on a line.
	Overlap *Overlap `json:"overlap,omitempty"`
	// Unmet reports what the policy requires and can't have, and why.
	Unmet []string `json:"unmet,omitempty"`
}

// Requests of one concat besides the roots of its inputs: the new root is read back, and written after the record of the job, which is
// deleted in the end. A job with an id of the caller's has a record of its end, one PUT more.
const (
	readBacks  = 1
	concatPuts = 2
	// wholeRoot is the largest root that is read in one request.
	wholeRoot = 1 << 20
)

// NewPlan looks at the live shards of the table as it was loaded and groups them by the policy. It opens no
// shard, but one of each shape that no schema of the table has had.
func NewPlan(ctx context.Context, t *catalog.Table, policy Policy) (*Plan, error) {
	return newPlan(ctx, t, policy, nil)
}

// newPlan is NewPlan without the shards that are held in quarantine.
func newPlan(ctx context.Context, t *catalog.Table, policy Policy, held *Quarantine) (*Plan, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: no table", catalog.ErrInvalid)
	}
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	retention, err := t.Retention()
	if err != nil {
		return nil, err
	}
	p := planner{
		policy: policy.forTable(retention), capped: map[string]int{}, columns: watched(t), classes: map[string]*class{}, held: held,
		plan: &Plan{SnapshotID: t.Head(), Groups: []Group{}, Left: map[string]int{}},
	}
	p.specID = t.PartitionSpecID()
	if p.shapes, err = newShapes(t); err != nil {
		return nil, err
	}
	if p.selection, err = newSelection(t, p.policy); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	if err := p.newOverlap(t); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	p.kept = &candidates{vault: t.VaultFolder(), columns: p.columns}
	for e, err := range t.BriefEntriesWhere(ctx, append(watchedIDs(p.columns), p.selection.columns...), p.selection.where, p.manifest) {
		if err != nil {
			return nil, err
		}
		if p.sort(ctx, e); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.classes)) {
		if c := p.classes[key]; c.need == overlapping {
			p.groupOverlaps(c)
		} else {
			p.group(c)
		}
	}
	if p.few > 0 {
		p.plan.Left[fmt.Sprintf("fewer than %d adjacent shards", p.policy.MinInputs)] = p.few
	}
	p.limitBytes()
	p.explain()
	p.tellOverlap()
	return p.plan, nil
}

// planner collects candidates by class.
type planner struct {
	policy  Policy
	columns []watch
	plan    *Plan
	classes map[string]*class
	// plain are those of entries without a partition.
	plain map[plainKey]*class
	// kept are the candidates of all classes.
	kept   *candidates
	shapes *shapes
	// specID is the partition spec of what a rebuild writes.
	specID    int
	selection *selection
	held      *Quarantine
	// overlap: the first of columns is that whose bounds must not overlap more often than the policy states.
	overlap bool
	// bounds of the first of columns, of all shards.
	bounds bounds
	// few counts shards that have too few adjacent shards.
	few int
	// capped counts groups that end below half of their targets, by the limit that ends them.
	capped map[string]int
}

// manifest counts a manifest, and the shards of one that is skipped.
func (p *planner) manifest(shards int, skipped bool) {
	if !skipped {
		p.plan.Manifests++
		return
	}
	p.plan.ManifestsPruned++
	p.plan.Shards += shards
	p.plan.Left[notWhere] += shards
}

// sort puts an entry into its class, or counts why it is left alone.
func (p *planner) sort(ctx context.Context, e *manifest.Entry) {
	p.plan.Shards++
	if len(p.columns) > 0 {
		p.bounds.add(rangeOf(p.columns[0].node, p.columns[0].id, e))
	}
	if p.held.Holds(e.Path) {
		p.plan.Left[inQuarantine]++
		return
	}
	need := p.needOf(ctx, e)
	switch why := p.unfit(e, need); {
	case p.mayOverlap(e, need, why):
		need = overlapping
	case why != "":
		p.plan.Left[why]++
		return
	}
	c := p.classOf(e, need)
	c.candidates = append(c.candidates, p.kept.add(e))
}

// classOf is the class of an entry.
func (p *planner) classOf(e *manifest.Entry, need need) *class {
	// Retention never drops what is of unknown time; the others must not wait for it.
	late := p.policy.MaxCreationRange > 0 && !e.Created.Known()
	plain := plainKey{e.SpecID, need, e.Deleted > 0, late, e.Tags}
	if c := p.plain[plain]; c != nil && len(e.Partition) == 0 {
		return c
	}
	key := classKey(e, need)
	if late {
		key += "/unknown time"
	}
	c := p.classes[key]
	if c == nil {
		c = &class{specID: e.SpecID, partition: e.Partition, text: partitionText(e.Partition), deleted: e.Deleted > 0, need: need}
		p.classes[key] = c
	}
	if len(e.Partition) == 0 {
		if p.plain == nil {
			p.plain = map[plainKey]*class{}
		}
		p.plain[plain] = c
	}
	return c
}

// What an entry is left alone for that needs no merge.
const (
	hasRecords = "has the target records"
	hasSize    = "has the target size"
)

// unfit reports why an entry is not a candidate, "" if it is one.
func (p *planner) unfit(e *manifest.Entry, need need) string {
	switch {
	case !e.IsShard():
		return "not a shard: " + strings.ToLower(e.Format)
	case e.Flags.Has(manifest.DraftWire):
		return "draft wire format"
	case p.selection.leaves(e) != "":
		return p.selection.leaves(e)
	case e.Flags.Has(manifest.StandardProperties) && !p.policy.Tagged:
		return "tagged"
	case e.Flags.Has(manifest.Adopted) && !p.policy.External:
		return "adopted"
	case need == noNeed && p.policy.NoConcat:
		return "concat is not allowed"
	case need.rebuilds() && p.policy.NoRebuild:
		return "needs a rebuild (" + need.String() + "), which is not allowed"
	case need.rebuilds() && !e.Created.Known():
		return "needs a rebuild (" + need.String() + "), and its creation time is unknown"
	case need == deletedRecords || need == smallStripes || need == manyObjects:
		return ""
	case p.reaches(e.Records, p.policy.TargetRecords) || e.Records+e.Deleted > p.policy.MaxRows:
		return hasRecords
	case p.reaches(e.StoredBytes, p.policy.TargetSize):
		return hasSize
	case e.Stripes > p.policy.MaxStripes || dataObjects(e) >= p.policy.MaxObjects || e.MetadataBytes > p.policy.MaxMetadataBytes:
		return "exceeds a limit"
	}
	return ""
}

// reaches reports whether a shard has so much of a target that it is left alone.
func (p *planner) reaches(has, target int64) bool {
	return float64(has) >= p.policy.MinSizeRatio*float64(target)
}

// group cuts the candidates of one class into runs of adjacent shards.
func (p *planner) group(c *class) {
	slices.SortFunc(c.candidates, p.kept.neighbours)
	r := run{policy: &p.policy, packs: c.need.packs(), columns: p.shapes.columns()}
	r.start(c.candidates)
	for i, next := range (Inputs{p.kept, c.candidates}).all() {
		if why := r.refuses(next); why != "" {
			if p.close(c, &r, why); c.need == noNeed && r.half() && strings.HasPrefix(why, "max-") && why != "max-inputs" {
				p.capped[why]++
			}
			r.start(c.candidates[i:])
		}
		r.add(next)
	}
	p.close(c, &r, "no more adjacent shards")
}

// close makes a group of a run, if it is worth it.
func (p *planner) close(c *class, r *run, why string) {
	switch n := len(r.inputs); {
	case n == 0:
		return
	case c.need == asked && n == 1 && c.specID == p.specID && p.rebuiltAlready(r):
		p.plan.Left["already in the form a rebuild would write"]++
		return
	case c.need.rebuilds():
		p.plan.Groups = append(p.plan.Groups, p.rebuild(c, r, c.need, why))
		return
	case c.need.packs() && r.objects > 1:
		p.plan.Groups = append(p.plan.Groups, p.pack(c, r, c.need.String()+"; the group ends because of "+why))
		return
	case n < p.policy.MinInputs:
		p.few += n
		return
	case p.packsAtOnce(r):
		p.plan.Groups = append(p.plan.Groups, p.pack(c, r, packedAtOnce+"; the group ends because of "+why))
		return
	case p.rebuildsAtOnce(r):
		p.plan.Groups = append(p.plan.Groups, p.rebuild(c, r, smallStripes, why))
		return
	}
	g := Group{
		Mode: Concat, HeldBytes: r.held, Outputs: 1, Records: r.records - r.deleted, Bytes: r.bytes, MetadataBytes: r.metadata,
		Gets: r.gets + readBacks + r.joins, Puts: concatPuts + r.indexes, Partition: c.text, class: c, Inputs: p.inputs(r),
		Reason: fmt.Sprintf("%s below the target; ends because of %s", plural.Count(len(r.inputs), "shard"), why),
		Loss:   pruningLoss(p.columns, r), Scan: r.scan(r.reads, r.bytes, 0), Steps: commitSteps + rounds(r.gets/2) + r.joinSteps(),
	}
	p.plan.Groups = append(p.plan.Groups, g)
}

// rebuiltAlready reports whether the only shard of a run would be written as it is.
func (p *planner) rebuiltAlready(r *run) bool {
	var c candidate
	p.kept.read(r.inputs[0], &c)
	return c.deleted == 0 && c.stripes <= stripesOf(c.records) && p.shapes.current[c.shape] &&
		(p.policy.Order == "" || c.sorted)
}

// inputs are the shards of a run; the class has them side by side.
func (p *planner) inputs(r *run) Inputs { return Inputs{p.kept, slices.Clip(r.inputs)} }

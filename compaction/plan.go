package compaction

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// Mode is how a group is merged.
type Mode string

// Concat copies metadata and moves no data.
const Concat Mode = "concat"

// Group is a set of shards that should become one.
type Group struct {
	Mode Mode `json:"mode"`
	// Inputs are the roots to merge, in order.
	Inputs []string `json:"inputs"`
	// Outputs is the number of shards afterwards.
	Outputs int `json:"outputs"`
	// Records are live records, Bytes what the inputs store.
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
	// BytesMoved are bytes of data to be read and written again: none for Concat.
	BytesMoved int64 `json:"bytes_moved"`
	// MetadataBytes will be copied.
	MetadataBytes int64 `json:"metadata_bytes"`
	// Gets and Puts are requests for the merge, the job's records included and Iceberg's own left out.
	Gets int64 `json:"gets"`
	Puts int64 `json:"puts"`
	// Reason says why these shards, and why not more of them.
	Reason string `json:"reason"`
	// Partition of the shards, as text, empty if the table has none.
	Partition string `json:"partition,omitempty"`
	// Loss is what the merge costs later scans.
	Loss *PruningLoss `json:"pruning_loss,omitempty"`

	entries []*manifest.Entry
}

// Plan is what a policy proposes for a state of a table.
type Plan struct {
	// SnapshotID is the state that was looked at, 0 for an empty table.
	SnapshotID int64   `json:"snapshot_id"`
	Groups     []Group `json:"groups"`
	// Shards is the number of live shards, Left those that no group takes, by the reason why.
	Shards int            `json:"shards"`
	Left   map[string]int `json:"left"`
}

// Requests of one concat besides the roots of its inputs: the new root is read back, and written between the
// records of the job's begin and end.
const (
	readBacks  = 1
	concatPuts = 3
	// wholeRoot is the largest root that is read in one request.
	wholeRoot = 1 << 20
)

// NewPlan looks at the live shards of the table as it was loaded and groups them by the policy. It opens no
// shard.
func NewPlan(ctx context.Context, t *catalog.Table, policy Policy) (*Plan, error) {
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	p := planner{policy: policy.withDefaults(), plan: &Plan{SnapshotID: t.Head(), Left: map[string]int{}}}
	for e, err := range t.Entries(ctx, catalog.At{}) {
		if err != nil {
			return nil, err
		}
		p.sort(e)
	}
	for _, key := range slices.Sorted(keys(p.classes)) {
		p.group(key, p.classes[key])
	}
	for i := range p.plan.Groups {
		p.plan.Groups[i].Loss = pruningLoss(t, p.plan.Groups[i].entries)
	}
	return p.plan, nil
}

// planner collects candidates by class: shards of one class may be merged with each other.
type planner struct {
	policy  Policy
	plan    *Plan
	classes map[string][]*manifest.Entry
}

func keys(m map[string][]*manifest.Entry) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// sort puts an entry into its class, or counts why it is left alone.
func (p *planner) sort(e *manifest.Entry) {
	p.plan.Shards++
	if why := p.unfit(e); why != "" {
		p.plan.Left[why]++
		return
	}
	if p.classes == nil {
		p.classes = map[string][]*manifest.Entry{}
	}
	key := classOf(e)
	p.classes[key] = append(p.classes[key], e)
}

// unfit says why an entry is no candidate, "" if it is one.
func (p *planner) unfit(e *manifest.Entry) string {
	switch {
	case !e.IsShard():
		return "no shard, but " + strings.ToLower(e.Format)
	case e.Flags.Has(manifest.DraftWire):
		return "draft wire"
	case e.Flags.Has(manifest.StandardProperties) && !p.policy.Tagged:
		return "tagged"
	case e.Flags.Has(manifest.Adopted) && !p.policy.External:
		return "adopted"
	case e.Records >= p.policy.TargetRecords || e.Records+e.Deleted > p.policy.MaxRows:
		return "has the target records"
	case e.StoredBytes >= p.policy.TargetSize:
		return "has the target size"
	case p.policy.MaxCreationRange > 0 && !e.Created.Known():
		return "unknown creation time"
	}
	return ""
}

// classOf names what must be equal among the inputs of a merge.
func classOf(e *manifest.Entry) string {
	key := fmt.Sprintf("%d/%s", e.SpecID, partitionText(e))
	if e.Deleted > 0 {
		key += "/deleted"
	}
	return key
}

func partitionText(e *manifest.Entry) string {
	ids := make([]int, 0, len(e.Partition))
	for id := range e.Partition {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = fmt.Sprint(e.Partition[id])
	}
	return strings.Join(parts, ", ")
}

// group cuts the candidates of one class into runs of neighbours.
func (p *planner) group(key string, candidates []*manifest.Entry) {
	slices.SortFunc(candidates, neighbours)
	r := run{policy: &p.policy}
	for _, e := range candidates {
		if why := r.refuses(e); why != "" {
			p.close(&r, why)
			r = run{policy: &p.policy}
		}
		r.add(e)
	}
	p.close(&r, "no more neighbours")
}

// neighbours orders by the time of the records, then by the order of the commits. Shards of unknown time come
// last.
func neighbours(a, b *manifest.Entry) int {
	if a.Created.Known() != b.Created.Known() {
		if a.Created.Known() {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Created.First, b.Created.First), cmp.Compare(a.Created.Last, b.Created.Last),
		cmp.Compare(a.Sequence, b.Sequence), strings.Compare(a.Path, b.Path))
}

// close makes a group of a run, if it is worth it.
func (p *planner) close(r *run, why string) {
	switch n := len(r.entries); {
	case n == 0:
		return
	case n < p.policy.MinInputs:
		p.plan.Left[fmt.Sprintf("fewer than %d neighbours", p.policy.MinInputs)] += n
		return
	}
	g := Group{
		Mode: Concat, Outputs: 1, Records: r.records - r.deleted, Bytes: r.bytes, MetadataBytes: r.metadata,
		Gets: r.gets + readBacks, Puts: concatPuts, entries: r.entries,
		Partition: partitionText(r.entries[0]),
		Reason:    fmt.Sprintf("%d shards below the target; ends because of %s", len(r.entries), why),
	}
	for _, e := range r.entries {
		g.Inputs = append(g.Inputs, e.Path)
	}
	p.plan.Groups = append(p.plan.Groups, g)
}

// run is a group in the making.
type run struct {
	policy                            *Policy
	entries                           []*manifest.Entry
	records, deleted, bytes, metadata int64
	stripes, objects, gets            int64
	created                           manifest.CreationRange
}

func (r *run) add(e *manifest.Entry) {
	if len(r.entries) == 0 {
		r.created = e.Created
	}
	r.entries = append(r.entries, e)
	r.created = r.created.Union(e.Created)
	r.records += e.Records + e.Deleted
	r.deleted += e.Deleted
	r.bytes += e.StoredBytes
	r.metadata += e.MetadataBytes
	r.stripes += e.Stripes
	r.objects += e.Objects - 1 // its root is copied, not kept
	r.gets++
	if e.RootBytes > wholeRoot {
		r.gets++
	}
}

// refuses says why e can't join, "" if it can.
func (r *run) refuses(e *manifest.Entry) string {
	if len(r.entries) == 0 {
		return ""
	}
	p := r.policy
	switch {
	case len(r.entries) >= p.MaxInputs:
		return "max-inputs"
	case r.records-r.deleted+e.Records > p.TargetRecords:
		return "target-records"
	case r.records+e.Records+e.Deleted > p.MaxRows:
		return "max-rows"
	case r.bytes+e.StoredBytes > p.TargetSize:
		return "target-size"
	case r.stripes+e.Stripes > p.MaxStripes:
		return "max-stripes"
	case r.metadata+e.MetadataBytes > p.MaxMetadataBytes:
		return "max-metadata-bytes"
	case r.objects+e.Objects-1 > p.MaxObjects:
		return "max-objects"
	case p.MaxCreationRange > 0 && span(r.created.Union(e.Created)) > p.MaxCreationRange:
		return "max-creation-range"
	}
	return ""
}

// ticksPerSecond: creation times count 100 ns.
const ticksPerSecond = 10_000_000

// span is the length of a creation range; ranges beyond 292 years are cut to that.
func span(c manifest.CreationRange) time.Duration {
	const longest = int64(1<<63-1) / 100
	return time.Duration(min(c.Last-c.First, longest) * 100)
}

package compaction

import (
	"context"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// need is why a shard should be rewritten, or packed, instead of being concatenated with others.
type need uint8

const (
	noNeed need = iota
	otherSchema
	deletedRecords
	smallStripes
	overlapping
	asked
	manyObjects
	askedPack
)

func (n need) String() string {
	return [...]string{
		noNeed:         "nothing",
		otherSchema:    "schema can't be concatenated with the table's",
		deletedRecords: "many deleted records",
		smallStripes:   "many small stripes",
		overlapping:    "many shards with the same values",
		asked:          "rebuild requested",
		manyObjects:    "many small objects",
		askedPack:      "packing requested",
	}[n]
}

// packs reports whether the shard's data moves as it is.
func (n need) packs() bool { return n == manyObjects || n == askedPack }

// rebuilds reports whether the shard is rewritten.
func (n need) rebuilds() bool { return n != noNeed && !n.packs() }

// shapes are what is known of the shapes of shards: whether a concatenation brings them to the table's schema. Plan and merge judge
// alike, by merge.Mappable, so that no group is planned whose merge must fail.
type shapes struct {
	table *catalog.Table
	// unmergeable by shape, and by whether the shard has deleted records.
	unmergeable map[shapeKey]bool
	current     map[int64]bool // the shapes of the table's schema
}

type shapeKey struct {
	shape   int64
	deleted bool
}

// newShapes knows the shapes of all schemas that the table has had, with and without the marker of deleted records.
func newShapes(t *catalog.Table) (*shapes, error) {
	schemas, err := t.Schemas()
	if err != nil {
		return nil, err
	}
	x := &shapes{table: t, unmergeable: map[shapeKey]bool{}, current: map[int64]bool{}}
	marked, markedIDs := merge.WithMarker(t.Schema(), t.FieldIDs())
	x.current[manifest.Shape(t.Schema(), t.FieldIDs())], x.current[manifest.Shape(marked, markedIDs)] = true, true
	for _, s := range schemas {
		x.learn(manifest.Shape(s.Shard, s.IDs), false, s.Shard, s.IDs)
		wide, ids := merge.WithMarker(s.Shard, s.IDs)
		x.learn(manifest.Shape(wide, ids), true, wide, ids)
	}
	return x, nil
}

func (x *shapes) learn(shape int64, deleted bool, s *schema.Schema, ids []int) bool {
	to, toIDs := mergedSchema(x.table, deleted)
	bad := merge.Mappable(to, toIDs, s, ids) != nil
	x.unmergeable[shapeKey{shape, deleted}] = bad
	return bad
}

// refuses reports whether no concatenation brings a shard to the table's schema. Of a shape that is none of the table's one shard is
// opened; one that can't be is tried, and quarantined if it fails.
func (x *shapes) refuses(ctx context.Context, e *manifest.Entry) bool {
	if x == nil {
		return false
	}
	key := shapeKey{e.Shape, e.Deleted > 0}
	bad, known := x.unmergeable[key]
	if known {
		return bad
	}
	s, ids, err := x.table.ShardSchema(ctx, e.Path, e.RootBytes)
	if err != nil {
		x.unmergeable[key] = false
		return false
	}
	return x.learn(e.Shape, e.Deleted > 0, s, ids)
}

// columns is the number of the table's columns.
func (x *shapes) columns() int64 {
	if x == nil {
		return 1
	}
	return int64(len(x.table.Schema().Fields))
}

// needOf classifies an entry.
func (p *planner) needOf(ctx context.Context, e *manifest.Entry) need {
	all, rebuild := e.Records+e.Deleted, !p.policy.NoRebuild // without, it can be concatenated or packed all the same
	switch {
	case !e.IsShard():
		return noNeed
	case p.shapes.refuses(ctx, e):
		return otherSchema
	case rebuild && e.Deleted > 0 && float64(e.Deleted) >= p.policy.RebuildDeletedRatio*float64(all):
		return deletedRecords
	case rebuild && p.manySmall(columnGets(e), e.Records):
		return smallStripes
	case rebuild && p.policy.RebuildAll:
		return asked
	case p.policy.NoPack:
		return noNeed
	case p.policy.PackAll:
		return askedPack
	case dataObjects(e) >= p.policy.PackObjects && e.StoredBytes-e.RootBytes < merge.PackBelow*dataObjects(e):
		return manyObjects
	}
	return noNeed
}

// dataObjects is how many objects hold a shard's values: of an entry of an older version, all but the root.
func dataObjects(e *manifest.Entry) int64 {
	if e.DataObjects > 0 {
		return e.DataObjects
	}
	return max(0, e.Objects-1)
}

// columnGets is about how many requests a column of a shard takes: one for each range that its values lie in, which of an entry of an older version is
// one for each stripe, and one for as many stripes as have a root that is worth as much.
func columnGets(e *manifest.Entry) int64 {
	if e.ColumnRanges > 0 {
		return min(e.Stripes, max(e.ColumnRanges, readTogether(e.Stripes)))
	}
	return e.Stripes
}

// readTogether is how many requests a column of so many stripes counts as whose values lie side by side: one for up to 64 stripes, and for each 32 more, which
// make the root larger by some 200 KB. A scan makes fewer, see packedRounds.
func readTogether(stripes int64) int64 {
	const first, next = 64, 32
	return 1 + (max(stripes, first)-first+next-1)/next
}

// manySmall reports whether a column of so many records takes enough requests for its stripes to be rewritten, and would take an eighth of them at most.
func (p *planner) manySmall(columnGets, records int64) bool {
	return columnGets >= p.policy.RebuildStripes && columnGets >= stripeGrowth*stripesOf(records)
}

// stripesOf is how many full stripes hold so many records.
func stripesOf(records int64) int64 {
	return max(1, (records+shardfmt.DefaultStripeRows-1)/shardfmt.DefaultStripeRows)
}

// readSize is how much one request reads of a long range.
const readSize = 8 << 20

// rebuildGets are the requests of a rebuild besides those for its inputs, each of whose roots is read for the rows, and for the properties
// and indexes that stay: two for the job's record, and one for the new root.
const rebuildGets = 2 + readBacks

// dataGets is how many requests all columns of so many stripes take, which lie side by side in each.
func dataGets(stripes, bytes int64) int64 { return max(stripes, bytes/readSize) }

// rebuild makes a group that is rewritten.
func (p *planner) rebuild(c *class, r *run, need need, why string) Group {
	live := r.records - r.deleted
	stripes := stripesOf(live)
	// Each stripe has two objects of an index, one of which is read back; the filters of several are read and joined.
	indexed, joined := stripes*r.indexes, int64(0)
	if stripes > 1 {
		joined = r.indexes
	}
	return Group{
		Scan: r.scan(dataGets(stripes, r.bytes/max(1, r.records)*live), r.bytes/max(1, r.records)*live, 0),
		Mode: Rebuild, SmallStripes: need == smallStripes, Outputs: 1, Records: live, Bytes: r.bytes, BytesMoved: r.bytes, MetadataBytes: r.metadata,
		Gets: 2*r.gets + r.reads + rebuildGets + indexed + stripes*joined, Puts: stripes + concatPuts + 2*indexed + joined,
		Steps:     commitSteps + rounds(r.gets) + rounds(r.gets+r.reads),
		Partition: c.text, class: c, Inputs: p.inputs(r),
		Reason: need.String() + "; the group ends because of " + why,
		Loss:   pruningLoss(p.columns, r),
	}
}

const (
	// manyAtOnce is the number of stripes from which on data is copied when shards are joined, and leastAtOnce their size on average: to copy them once costs
	// less than a few scans pay for a request to each, 64 of which are under way at a time. Smaller ones come from appends that go on; they are
	// joined by metadata alone, and rewritten in parts.
	manyAtOnce  = 64
	leastAtOnce = 128 << 10
	// leastOfColumn is the size on average of what a stripe has of a column: of less, the values and the range index of which are copied apart, checksums
	// would take too much of the root, and the stripes are not laid out by columns.
	leastOfColumn = 4 << 10
	// packedAtOnce is the reason.
	packedAtOnce = "many small stripes, which scans read together from one object"
)

// packsAtOnce reports whether data is copied where the shards of a run could be joined by metadata alone. It is not where the packed stripes would be so
// many that the next run would rewrite them.
func (p *planner) packsAtOnce(r *run) bool {
	data, least := r.bytes-r.metadata, max(leastAtOnce, leastOfColumn*p.shapes.columns())
	return !p.policy.NoPack && min(r.columnGets, r.objects) >= manyAtOnce && data >= least*r.stripes && data < merge.PackBelow*r.stripes && p.mayMove(r.bytes+r.filterBytes) &&
		(p.policy.NoRebuild || !p.manySmall(max(1+data/merge.PackGroup, readTogether(r.stripes)), r.records-r.deleted))
}

// rebuildsAtOnce reports whether the shards of a run are rewritten where they could be joined by metadata alone: the next run would rewrite the joined shard.
func (p *planner) rebuildsAtOnce(r *run) bool {
	return !p.policy.NoRebuild && r.created.Known() && p.manySmall(r.columnGets, r.records-r.deleted) && p.mayMove(r.bytes)
}

// mayMove reports whether a plan may move so many bytes at all, whatever else it does.
func (p *planner) mayMove(bytes int64) bool {
	return p.policy.MaxBytesPerRun == 0 || bytes <= p.policy.MaxBytesPerRun
}

// packedRounds is in how many rounds stripes that were packed are read: up to 256 of them or 64 MiB, and after them half as much at a time.
func packedRounds(stripes, bytes int64) int64 {
	const most, mostBytes = 256, 64 << 20
	after := func(n, first int64) int64 { return (max(n, first) - first + first/2 - 1) / (first / 2) }
	return 1 + max(after(stripes, most), after(bytes, mostBytes))
}

// packedGets is how many requests all columns take of stripes that were packed: of 2 MiB each, and one for each column where a round ends. The root of so
// many stripes is one request more than others.
func packedGets(stripes, bytes, columns int64) int64 {
	const request = 2 << 20
	return 2 + bytes/request + columns*(packedRounds(stripes, bytes)-1)
}

// inFlight is how many requests to a bucket are under way at a time.
const inFlight = blobio.DefaultBucketConcurrency

// rounds is how many steps so many requests take of which none waits for another.
func rounds(gets int64) int64 { return (gets + inFlight - 1) / inFlight }

// commitSteps are those of a job besides reading and writing data: its record, the new root, and the commit of a table with few manifests.
const commitSteps = 10

// pack makes a group whose data is copied into one object.
func (p *planner) pack(c *class, r *run, why string) Group {
	moved, objects := r.bytes+r.filterBytes, r.objects+r.filters
	parts := (moved + readSize - 1) / readSize
	return Group{
		Mode: Pack, Outputs: 1, Records: r.records - r.deleted, Bytes: r.bytes, BytesMoved: moved, MetadataBytes: r.metadata,
		Gets: r.gets + objects + parts + readBacks + r.joins, Puts: concatPuts + max(1, parts) + r.indexes,
		Partition: c.text, class: c, Inputs: p.inputs(r),
		Reason: why, Loss: pruningLoss(p.columns, r), Scan: r.scan(packedGets(r.stripes, r.bytes, p.shapes.columns()), r.bytes, 3*(packedRounds(r.stripes, r.bytes)-1)/2),
		Steps: commitSteps + 1 + rounds(r.gets/2) + rounds(objects+parts) + r.joinSteps(),
	}
}

// ScanCost is what a scan of all columns costs before and after a group is done, as far as entries show: requests, steps, which are requests to a remote
// store that wait for one another, and bytes.
type ScanCost struct {
	GetsBefore  int64 `json:"gets_before"`
	GetsAfter   int64 `json:"gets_after"`
	StepsBefore int64 `json:"steps_before"`
	StepsAfter  int64 `json:"steps_after"`
	BytesBefore int64 `json:"bytes_before"`
	BytesAfter  int64 `json:"bytes_after"`
}

// scan is the cost of a run's shards, and of one whose data takes so many requests, in as many steps as these take and waits more: a root each, which
// comes first.
func (r *run) scan(gets, bytes, waits int64) *ScanCost {
	before, after := r.gets+r.reads, 1+gets
	return &ScanCost{
		GetsBefore: before, GetsAfter: after, StepsBefore: 1 + rounds(before), StepsAfter: 1 + rounds(after) + waits, BytesBefore: r.bytes, BytesAfter: bytes,
	}
}

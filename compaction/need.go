package compaction

import (
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// need is why a shard should be written anew, or packed, instead of being concatenated with others.
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
		otherSchema:    "a schema that can't be concatenated with the table's",
		deletedRecords: "many deleted records",
		smallStripes:   "many small stripes",
		overlapping:    "many shards with the same values",
		asked:          "a rebuild was asked for",
		manyObjects:    "many small objects",
		askedPack:      "packing was asked for",
	}[n]
}

// packs reports whether the shard's data moves as it is.
func (n need) packs() bool { return n == manyObjects || n == askedPack }

// rebuilds reports whether the shard is written anew.
func (n need) rebuilds() bool { return n != noNeed && !n.packs() }

// unmergeable are the shapes of the table's earlier schemas that a concatenation can't bring to the current one.
func unmergeable(t *catalog.Table) (map[int64]bool, error) {
	schemas, err := t.Schemas()
	if err != nil {
		return nil, err
	}
	shapes := map[int64]bool{}
	for _, s := range schemas {
		if merge.Mappable(t.Schema(), t.FieldIDs(), s.Shard, s.IDs) != nil {
			shapes[manifest.Shape(s.Shard, s.IDs)] = true
		}
	}
	return shapes, nil
}

// needOf judges an entry. Shards whose shape is not one of the table's are tried: their merge falls back to a rebuild.
func (p *planner) needOf(e *manifest.Entry) need {
	all, rebuild := e.Records+e.Deleted, !p.policy.NoRebuild // without, it can be concatenated or packed all the same
	switch {
	case !e.IsShard():
		return noNeed
	case p.unmergeable[e.Shape]:
		return otherSchema
	case rebuild && e.Deleted > 0 && float64(e.Deleted) >= p.policy.RebuildDeletedRatio*float64(all):
		return deletedRecords
	case rebuild && e.Stripes >= p.policy.RebuildStripes && e.Stripes >= StripeGrowth*stripesOf(e.Records):
		return smallStripes
	case rebuild && p.policy.RebuildAll:
		return asked
	case p.policy.NoPack:
		return noNeed
	case p.policy.PackAll:
		return askedPack
	case e.Objects > p.policy.PackObjects && e.StoredBytes-e.RootBytes < merge.PackBelow*(e.Objects-1):
		return manyObjects
	}
	return noNeed
}

// stripesOf is how many full stripes hold so many records.
func stripesOf(records int64) int64 {
	return max(1, (records+shardfmt.DefaultStripeRows-1)/shardfmt.DefaultStripeRows)
}

// readSize is how much one request reads of a long range.
const readSize = 8 << 20

// rebuild makes a group that is written anew.
func (p *planner) rebuild(c *class, r *run, why string) Group {
	live := r.records - r.deleted
	stripes := stripesOf(live)
	return Group{
		Scan: r.scan(stripes, r.bytes/max(1, r.records)*live),
		Mode: Rebuild, SmallStripes: c.need == smallStripes, Outputs: 1, Records: live, Bytes: r.bytes, BytesMoved: r.bytes, MetadataBytes: r.metadata,
		Gets: r.gets + r.bytes/readSize + r.stripes*int64(p.fields) + readBacks, Puts: stripes + concatPuts,
		Partition: c.text, class: c, Inputs: p.inputs(r),
		Reason: c.need.String() + "; the group ends because of " + why,
		Loss:   pruningLoss(p.columns, r),
	}
}

// pack makes a group whose data is copied into one object.
func (p *planner) pack(c *class, r *run, why string) Group {
	parts := (r.bytes + readSize - 1) / readSize
	return Group{
		Mode: Pack, Outputs: 1, Records: r.records - r.deleted, Bytes: r.bytes, BytesMoved: r.bytes, MetadataBytes: r.metadata,
		Gets: r.gets + r.objects + parts + readBacks, Puts: concatPuts + max(1, parts),
		Partition: c.text, class: c, Inputs: p.inputs(r),
		Reason: c.need.String() + "; the group ends because of " + why,
		Loss:   pruningLoss(p.columns, r), Scan: r.scan(r.stripes, r.bytes),
	}
}

// ScanCost is what a scan of all columns costs before and after a group is done, as far as entries tell: requests and bytes.
type ScanCost struct {
	GetsBefore  int64 `json:"gets_before"`
	GetsAfter   int64 `json:"gets_after"`
	BytesBefore int64 `json:"bytes_before"`
	BytesAfter  int64 `json:"bytes_after"`
}

// scan is the cost of a run's shards, and of one with so many stripes and bytes: a root each, and each stripe by requests of its own.
func (r *run) scan(stripes, bytes int64) *ScanCost {
	data := func(stripes, bytes int64) int64 { return max(stripes, bytes/readSize) }
	return &ScanCost{GetsBefore: r.gets + data(r.stripes, r.bytes), GetsAfter: 1 + data(stripes, bytes), BytesBefore: r.bytes, BytesAfter: bytes}
}

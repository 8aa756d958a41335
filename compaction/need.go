package compaction

import (
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// need is why a shard should be written anew instead of being concatenated with others.
type need uint8

const (
	noNeed need = iota
	otherSchema
	deletedRecords
	smallStripes
	asked
)

func (n need) String() string {
	return [...]string{
		noNeed:         "nothing",
		otherSchema:    "a schema that can't be concatenated with the table's",
		deletedRecords: "many deleted records",
		smallStripes:   "many small stripes",
		asked:          "a rebuild was asked for",
	}[n]
}

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
	switch all := e.Records + e.Deleted; {
	case !e.IsShard():
		return noNeed
	case p.unmergeable[e.Shape]:
		return otherSchema
	case p.policy.NoRebuild:
		return noNeed // it can be concatenated all the same
	case e.Deleted > 0 && float64(e.Deleted) >= p.policy.RebuildDeletedRatio*float64(all):
		return deletedRecords
	case e.Stripes >= p.policy.RebuildStripes && e.Stripes >= StripeGrowth*stripesOf(e.Records):
		return smallStripes
	case p.policy.RebuildAll:
		return asked
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
	return p.named(Group{
		Mode: Rebuild, Outputs: 1, Records: live, Bytes: r.bytes, BytesMoved: r.bytes, MetadataBytes: r.metadata,
		Gets: r.gets + r.bytes/readSize + r.stripes*int64(p.fields) + readBacks, Puts: stripes + concatPuts,
		Partition: c.text, class: c, inputs: r.inputs,
		Reason: c.need.String() + "; the group ends because of " + why,
		Loss:   pruningLoss(p.columns, r.inputs),
	})
}

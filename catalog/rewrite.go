package catalog

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// RewriteOptions of Rewrite. The zero value is valid.
type RewriteOptions struct {
	// ShardRows ends a shard, 4 Mi (4,194,304) if 0; StripeRows ends a stripe, the writer's default if 0.
	ShardRows  int64
	StripeRows int
	// OrderBy is how all rows together are sorted: by the table's sort order if empty. Where it has none either, they stay
	// in the order of the shards.
	OrderBy []OrderKey
	// Stripes, by path, are the numbers of the stripes to write, rising, for shards of which not all are.
	Stripes map[string][]int
	// Profile of the blocks.
	Profile shardfmt.Profile
	// Progress, if not nil, is called with the number of rows written so far.
	Progress func(rows int64)
}

// RewriteResult is what Rewrite wrote: entries to commit with Job.Replace, and every object that exists because of it.
type RewriteResult struct {
	Entries []*manifest.Entry
	Objects []string
	Rows    int64
}

// Rewrite reads the live rows of shards by the table's current schema, in the order given, and writes them as new shards
// of the table's current partition spec, under the job's outputs (see Table.Outputs). Deleted records, columns that the table
// dropped and the shards' old form are gone afterwards. The new shards carry the creation range of the old ones together and those of
// their properties that are not the writer's own. Shards of which that is not known, and shards with metadata that
// this version does not know, are refused: ErrUnsafe. Nothing is committed; after an error Objects reports what to delete.
func (j *Job) Rewrite(ctx context.Context, shards []*manifest.Entry, o RewriteOptions) (*RewriteResult, error) {
	t, done := j.table, &RewriteResult{}
	ingest := IngestOptions{ShardRows: o.ShardRows, StripeRows: o.StripeRows, Profile: o.Profile, Progress: o.Progress}
	if err := t.addDefaultIndexes(&ingest); err != nil {
		return done, err
	}
	if err := t.carryOver(ctx, shards, &ingest); err != nil {
		return done, err
	}
	created, err := createdOf(shards)
	if err != nil {
		return done, err
	}
	if len(o.OrderBy) == 0 {
		o.OrderBy = t.SortOrder()
	}
	rows, err := t.rowsOf(ctx, shards, &o)
	if err != nil {
		return done, err
	}
	w := newShardWriters(t, j, &ingest)
	w.created, w.createdLast, w.order = uint64(created.First), uint64(created.Last), t.orderID(o.OrderBy)
	if done.Rows, err = w.writeAll(ctx, rows); err == nil {
		done.Entries, err = w.close(ctx)
	}
	if err != nil {
		w.abort(ctx)
	}
	done.Objects = w.objects
	return done, err
}

// rowsOf are the rows to write.
func (t *Table) rowsOf(ctx context.Context, shards []*manifest.Entry, o *RewriteOptions) (iter.Seq2[arrow.RecordBatch, error], error) {
	if len(o.Stripes) == 0 {
		plan, err := t.PlanOf(shards, ScanOptions{Ordered: true, OrderBy: o.OrderBy})
		if err != nil {
			return nil, err
		}
		return plan.Run(ctx, nil), nil
	}
	var plans []*Plan
	for _, e := range shards {
		own, err := t.plansOfStripes(ctx, e, o.Stripes)
		if err != nil {
			return nil, err
		}
		plans = append(plans, own...)
	}
	return t.sorted(ctx, o.OrderBy, func(yield func(arrow.RecordBatch, error) bool) {
		for _, p := range plans {
			for b, err := range p.Run(ctx, nil) {
				if !yield(b, err) || err != nil {
					return
				}
			}
		}
	}), nil
}

// plansOfStripes plan to read those stripes of a shard that are named, one for each run of them; or all of it.
func (t *Table) plansOfStripes(ctx context.Context, e *manifest.Entry, stripes map[string][]int) (plans []*Plan, err error) {
	whole, err := t.PlanOf([]*manifest.Entry{e}, ScanOptions{Ordered: true})
	numbers, some := stripes[e.Path]
	if err != nil || !some {
		return []*Plan{whole}, err
	}
	shard, err := t.openShard(ctx, t.cat.client, e.Path, e.RootBytes)
	if err != nil {
		return nil, err
	}
	var start uint64 // of a run
	for i, number := range numbers {
		all := shard.Stripes()
		if number < 0 || number >= len(all) {
			return nil, fmt.Errorf("%w: stripe %d of %s, which has %d", ErrInvalid, number, e.Path, len(all))
		}
		s := all[number]
		if i == 0 || numbers[i-1] != number-1 {
			start = s.Position
		}
		if i+1 == len(numbers) || numbers[i+1] != number+1 {
			plans = append(plans, tablescan.Within(whole, start, s.Position+s.Records))
		}
	}
	return plans, nil
}

// StripeRecords opens a shard of the table, whose root has size bytes, and gives the records of its stripes, deleted ones included.
func (t *Table) StripeRecords(ctx context.Context, root string, size int64) ([]int64, error) {
	shard, err := t.openShard(ctx, t.cat.client, root, size)
	if err != nil {
		return nil, err
	}
	records := make([]int64, len(shard.Stripes()))
	for i, s := range shard.Stripes() {
		records[i] = int64(s.Records)
	}
	return records, nil
}

// createdOf is the creation range of shards together.
func createdOf(shards []*manifest.Entry) (manifest.CreationRange, error) {
	var created manifest.CreationRange
	for _, e := range shards {
		switch {
		case e.Records == 0 && !e.Created.Known():
			continue
		case !e.Created.Known():
			return created, fmt.Errorf("%w: %s has no creation time of its records; a rewrite would make one up",
				ErrUnsafe, e.Path)
		case !created.Known():
			created = e.Created
		default:
			created = created.Union(e.Created)
		}
	}
	return created, nil
}

// carryOver takes from the shards what their rows don't tell: properties, which columns have Bloom filters and indexes, and which
// structs are packed groups.
func (t *Table) carryOver(ctx context.Context, shards []*manifest.Entry, o *IngestOptions) error {
	o.Bloom, o.Pack, o.FieldProperties = map[string]float64{}, map[string][]string{}, map[string]shardfmt.Properties{}
	c := carrying{table: t, options: o, seen: map[string]bool{}, shape: manifest.Shape(t.schema.Shard, t.schema.IDs)}
	for some := range slices.Chunk(shards, carriedTogether) {
		opened, err := t.openAll(ctx, some)
		if err != nil {
			return err
		}
		for i, e := range some {
			if err := c.shard(ctx, e, opened[i]); err != nil {
				return err
			}
		}
	}
	if len(c.arrow) == 1 && !c.reshaped {
		o.Properties = append(o.Properties, c.arrow...)
	}
	return nil
}

// carriedTogether is how many shards are opened at the same time for what their rows don't tell.
const carriedTogether = 64

// openAll opens shards, many at the same time. It is nil for an entry that is none.
func (t *Table) openAll(ctx context.Context, shards []*manifest.Entry) ([]*shardfmt.Shard, error) {
	opened := make([]*shardfmt.Shard, len(shards))
	return opened, t.cat.client.EachUpTo(ctx, carriedTogether, len(shards), func(ctx context.Context, branch *blobio.Client, i int) (err error) {
		if shards[i].IsShard() {
			opened[i], err = t.openShard(ctx, branch, shards[i].Path, shards[i].RootBytes)
		}
		return err
	})
}

type carrying struct {
	table   *Table
	options *IngestOptions
	seen    map[string]bool
	shape   int64
	// arrow are the different original Arrow schemas; one is kept if it is the only one and still that of the rows.
	arrow    []shardfmt.Property
	reshaped bool
	// tags are the drop-by tags of the shard tagsOf, and of all before it.
	tags   []string
	tagsOf string
}

func (c *carrying) shard(ctx context.Context, e *manifest.Entry, shard *shardfmt.Shard) error {
	if shard == nil {
		return nil
	}
	properties, err := shard.Properties(ctx)
	if err != nil {
		return err
	}
	unknown, err := shard.UnknownMetadata(ctx)
	if err != nil {
		return err
	}
	if unknown {
		return fmt.Errorf("%w: %s has metadata that this version does not support and would lose", ErrUnsafe, e.Path)
	}
	c.reshaped = c.reshaped || e.Shape != c.shape
	tags := properties.DropByTags()
	if c.tagsOf != "" && !slices.Equal(tags, c.tags) {
		return fmt.Errorf("%w: %s has the drop-by tags %q, %s has %q; rows of both in one shard could not be dropped separately", ErrUnsafe, c.tagsOf, c.tags, e.Path, tags)
	}
	c.tags, c.tagsOf = tags, e.Path
	o := c.options
	o.StandardProperties = append(o.StandardProperties, c.fresh("standard", properties.Standard)...)
	for _, p := range c.fresh("custom", properties.Custom) {
		switch {
		case p.Name() == arrowtype.PropertySchema:
			c.arrow = append(c.arrow, p)
		case !strings.HasPrefix(p.Name(), "shardcat."): // the writer makes its own
			o.Properties = append(o.Properties, p)
		}
	}
	if err := c.indexes(ctx, shard); err != nil {
		return err
	}
	if err := c.forms(ctx, shard); err != nil {
		return err
	}
	return c.bags(ctx, shard)
}

// bags takes the properties of stripes and fields over. Rows of several stripes come together in one, so that every new stripe
// and its fields carry what any of the old ones did.
func (c *carrying) bags(ctx context.Context, shard *shardfmt.Shard) error {
	ids, err := c.table.schema.MapShard(ctx, shard)
	if err != nil {
		return err
	}
	nodes := make([]uint32, len(ids))
	for i := range nodes {
		nodes[i] = uint32(i)
	}
	stripes, err := shard.StripeProperties(ctx, nodes)
	if err != nil {
		return err
	}
	paths := map[int]string{}
	c.table.schema.Shard.Walk(func(path string, n *schema.Node) bool {
		paths[c.table.schema.IDs[n.ID]] = path
		return true
	})
	for _, stripe := range stripes {
		c.options.StripeProperties = c.joined("stripe", c.options.StripeProperties, stripe.Properties)
		for node, id := range ids {
			path, ok := paths[id]
			if !ok || id == 0 {
				continue
			}
			if of, has := stripe.Fields[uint32(node)]; has {
				c.options.FieldProperties[path] = c.joined("field "+path, c.options.FieldProperties[path], of)
			}
		}
	}
	return nil
}

// joined adds to the bags of a scope what more has besides, without what writers make themselves.
func (c *carrying) joined(scope string, all, more shardfmt.Properties) shardfmt.Properties {
	all.Standard = append(all.Standard, c.fresh(scope+" standard", more.Standard)...)
	for _, p := range c.fresh(scope+" custom", more.Custom) {
		if !strings.HasPrefix(p.Name(), "shardcat.") {
			all.Custom = append(all.Custom, p)
		}
	}
	return all
}

// fresh are the pairs of a bag that no earlier shard had.
func (c *carrying) fresh(bag string, properties []shardfmt.Property) (out []shardfmt.Property) {
	for _, p := range properties {
		if key := bag + p.Encoded(); !c.seen[key] {
			c.seen[key] = true
			out = append(out, p)
		}
	}
	return out
}

// forms requests filters of the columns that have one in the first stripe of the shard, and for packed groups where it has them.
func (c *carrying) forms(ctx context.Context, shard *shardfmt.Shard) error {
	if len(shard.Stripes()) == 0 {
		return nil
	}
	ids, err := c.table.schema.MapShard(ctx, shard)
	if err != nil {
		return err
	}
	nodes := map[int]uint32{}
	for node, id := range ids {
		if id != 0 {
			nodes[id] = uint32(node)
		}
	}
	c.table.schema.Shard.Walk(func(path string, n *schema.Node) bool {
		node, ok := nodes[c.table.schema.IDs[n.ID]]
		if !ok || err != nil {
			return err == nil
		}
		if n.Basic == schema.Struct {
			err = c.pack(ctx, shard, path, n, nodes)
		} else if len(n.Children) == 0 {
			err = c.bloom(ctx, shard, path, node)
		}
		return err == nil
	})
	return err
}

// bloom requests a filter of a column if it has one.
func (c *carrying) bloom(ctx context.Context, shard *shardfmt.Shard, path string, node uint32) error {
	if _, known := c.options.Bloom[path]; known {
		return nil
	}
	form, err := shard.FieldForm(ctx, 0, node)
	if form.Bloom {
		c.options.Bloom[path] = 0
	}
	return err
}

// pack requests a packed group of the fields of a struct that are members of one.
func (c *carrying) pack(ctx context.Context, shard *shardfmt.Shard, path string, n *schema.Node, nodes map[int]uint32) error {
	if _, known := c.options.Pack[path]; known {
		return nil
	}
	members := map[uint32]string{}
	for _, child := range n.Children {
		node, ok := nodes[c.table.schema.IDs[child.ID]]
		if !ok {
			continue
		}
		form, err := shard.FieldForm(ctx, 0, node)
		if err != nil {
			return err
		}
		if form.Packed {
			members[form.Member] = child.Name
		}
	}
	for _, i := range slices.Sorted(maps.Keys(members)) {
		c.options.Pack[path] = append(c.options.Pack[path], members[i])
	}
	return nil
}

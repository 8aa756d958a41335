package manifest

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Describe makes the entry of an opened shard from its metadata alone; ids are the Iceberg field ids by node
// number of its schema, 0 for a node that is no column (see MapShard). Partition and flags that the metadata
// don't tell (Adopted, DraftWire) are the caller's to set.
//
// Statistics that do not cover the whole shard are left out, never guessed.
func Describe(ctx context.Context, root *meta.Root, ids []int) (*Entry, error) {
	e, _, err := DescribeAll(ctx, root, ids)
	return e, err
}

// DescribeAll is Describe that also gives the objects which the root refers to, itself left out, each with the
// least size it must have: the end of the last range that a buffer has there.
func DescribeAll(ctx context.Context, root *meta.Root, ids []int) (*Entry, map[string]int64, error) {
	d, err := describe(ctx, root, ids)
	if err != nil {
		return nil, nil, err
	}
	if err := d.finish(); err != nil {
		return nil, nil, err
	}
	objects := maps.Clone(d.stored.objects)
	delete(objects, root.URL())
	return d.entry, objects, nil
}

func describe(ctx context.Context, root *meta.Root, ids []int) (*describer, error) {
	s, err := root.Schema(ctx)
	if err != nil {
		return nil, err
	}
	if len(ids) != int(s.Count) {
		return nil, fmt.Errorf("manifest: %d field ids for the %d nodes of %s", len(ids), s.Count, root.URL())
	}
	dir := root.Directory()
	e := &Entry{
		Path: root.URL(), Format: Format, RootBytes: root.Size(),
		Records: int64(dir.TotalRecordCount - dir.DeletedRecordCount),
		Columns: make(map[int]Column, len(ids)),
	}
	if dir.DeletedRecordCount > dir.TotalRecordCount || e.Records < 0 {
		return nil, corrupt.Locate(corrupt.At(-1, "%d of %d records are deleted", dir.DeletedRecordCount,
			dir.TotalRecordCount), root.URL(), 0)
	}
	d := describer{ctx: ctx, root: root, ids: ids, entry: e, deleted: dir.DeletedRecordCount > 0}
	if err := d.private(); err != nil {
		return nil, err
	}
	d.stored = storage{objects: map[string]int64{root.URL(): root.Size()}, bytes: root.Size()}
	e.Shape = Shape(s, ids)
	filters, err := termFilters(ctx, root, ids)
	if err != nil {
		return nil, err
	}
	e.Terms = EncodeTerms(e.Path, filters)
	d.rows = make([]rowsSum, dir.StripeCount)
	for _, f := range s.Fields {
		if err := d.field(f, scope{expected: dir.TotalRecordCount, whole: true, bounded: true}); err != nil {
			return nil, err
		}
	}
	if rows, ok, err := d.stripeRows(); err != nil {
		return nil, err
	} else if ok {
		e.Rows = encodeRows(e.Path, rowsOf(rows))
	}
	return &d, nil
}

type describer struct {
	ctx     context.Context
	root    *meta.Root
	ids     []int
	entry   *Entry
	deleted bool
	stored  storage
	// rows gather by stripe where its values lie.
	rows []rowsSum
}

// scope says what the statistics of a field can be held against.
type scope struct {
	// expected is the number of positions that the field should have, where whole holds.
	expected uint64
	// whole: no parent of the field is ever null, so that its nulls are its own.
	whole bool
	// bounded: the field has at most one value per record.
	bounded bool
}

// private fills in the numbers of the shard as a whole.
func (d *describer) private() error {
	dir, p := d.root.Directory(), &d.entry.Private
	p.Stripes, p.Deleted = int64(dir.StripeCount), int64(dir.DeletedRecordCount)
	properties, err := d.root.Properties(d.ctx)
	if err != nil {
		return err
	}
	if low, high := properties.GetCreationMin(), properties.GetCreationMax(); low != nil && high != nil {
		p.Created = CreationRange{int64(low.Ticks), int64(high.Ticks)}
	}
	if len(properties.GetStandardProperties()) > 0 {
		p.Flags |= StandardProperties
		bags, err := d.root.ReadProperties(d.ctx)
		if err != nil {
			return err
		}
		p.Tags = TagsOf(bags.Standard)
	}
	if ids := meta.Properties(properties.GetCustomProperties()).Get(meta.PropertyFieldIDs); ids == nil {
		p.Flags |= Foreign
	}
	p.MetadataBytes = max(0, d.root.Size()-refSize(dir.SchemaRef)-refSize(dir.PropertiesRef))
	return nil
}

// TagsOf is the fingerprint of the drop-by tags in a shard's standard properties, whatever their order; 0 without any. Shards of
// different tags are not merged.
func TagsOf(standard meta.Properties) int64 {
	tags := standard.DropByTags()
	if len(tags) == 0 {
		return 0
	}
	var b []byte
	for _, tag := range tags {
		b = append(binary.AppendUvarint(b, uint64(len(tag))), tag...)
	}
	return int64(xxh3.Hash(b) | 1)
}

func refSize(ref *metapb.DataRef) int64 {
	r := ref.GetRange()
	return int64(r.GetEnd() - r.GetStart())
}

// field describes a node and everything below it.
func (d *describer) field(n *schema.Node, sc scope) error {
	desc, err := d.root.ShardField(d.ctx, n.ID)
	if err != nil {
		return err
	}
	bytes, err := d.storedBytes(n)
	if err != nil {
		return err
	}
	c := Column{Bytes: bytes, Values: Unknown, Nulls: Unknown, NaNs: Unknown}
	if desc != nil {
		d.count(&c, desc, sc)
		if sc.bounded {
			bound(&c, n, desc)
			d.latest(n, desc)
		}
	}
	if id := d.ids[n.ID]; id != 0 {
		d.entry.Columns[id] = c
	}
	below := childScope(n, desc, c, sc)
	for _, child := range n.Children {
		if err := d.field(child, below); err != nil {
			return err
		}
	}
	return nil
}

// childScope narrows what is known for the children of n.
func childScope(n *schema.Node, desc *metapb.FieldDescriptor, c Column, sc scope) scope {
	switch n.Basic {
	case schema.Struct:
		return scope{expected: sc.expected, whole: sc.whole && desc != nil && c.Nulls == 0, bounded: sc.bounded}
	case schema.Union:
		return scope{bounded: sc.bounded}
	}
	return scope{}
}

// count fills in the counts that are exact. With deleted records only the number of values is.
func (d *describer) count(c *Column, desc *metapb.FieldDescriptor, sc scope) {
	positions := desc.PositionCount
	if sc.whole && positions > sc.expected {
		return
	}
	if !sc.whole {
		c.Values = int64(positions)
		return
	}
	c.Values = int64(sc.expected)
	if d.deleted {
		c.Values = d.entry.Records
		return
	}
	if desc.NullCount != nil {
		c.Nulls = int64(*desc.NullCount + sc.expected - positions)
	}
	if f := desc.GetFloatingStats(); f != nil {
		c.NaNs = int64(f.NanCount)
	}
}

func bound(c *Column, n *schema.Node, desc *metapb.FieldDescriptor) {
	ranges := desc.RangeStats
	if b := desc.GetBooleanStats(); b != nil && n.Basic == schema.Boolean {
		ranges = boolRange(b)
	}
	if ranges != nil {
		c.Lower, c.Upper = lowerBound(n, ranges), upperBound(n, ranges)
	}
}

// latest keeps the greatest time of a column where it lies between two microseconds.
func (d *describer) latest(n *schema.Node, desc *metapb.FieldDescriptor) {
	id, greatest := d.ids[n.ID], desc.GetRangeStats().GetMaxValue()
	if n.Basic != schema.DateTime || id == 0 || greatest == nil {
		return
	}
	floor := timeBound(greatest, false)
	if floor == nil || string(floor) == string(timeBound(greatest, true)) {
		return
	}
	if d.entry.latest == nil {
		d.entry.latest = map[int][]byte{}
	}
	d.entry.latest[id] = floor
}

// finish checks and files the sums.
func (d *describer) finish() error {
	urls, err := d.root.URLList(d.ctx)
	if err != nil {
		return err
	}
	for _, u := range urls.GetUrls() {
		object, err := d.root.Resolve(d.root.URL(), u)
		if err != nil {
			return err
		}
		d.stored.objects[object] = max(d.stored.objects[object], 0)
	}
	d.entry.Objects = int64(len(d.stored.objects))
	d.entry.StoredBytes = d.stored.bytes
	return nil
}

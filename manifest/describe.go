package manifest

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Describe makes the entry of an opened shard from its metadata alone; ids are the Iceberg field ids by node
// number of its schema, 0 for a node that is not a column (see MapShard). Partition and flags that the metadata
// don't contain (Adopted, DraftWire) are the caller's to set. objects are those that the root refers to, itself left out,
// each with the least size it must have: the end of the last range that a buffer has there.
//
// Statistics that do not cover the whole shard are left out, never guessed.
func Describe(ctx context.Context, shard *shardfmt.Shard, ids []int) (e *Entry, objects map[string]int64, err error) {
	s, err := shard.Schema(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(ids) != int(s.Count) {
		return nil, nil, fmt.Errorf("manifest: %d field IDs for the %d nodes of %s", len(ids), s.Count, shard.URL())
	}
	e = &Entry{Path: shard.URL(), Format: Format, Records: int64(shard.Records() - shard.Deleted()), Columns: make(map[int]Column, len(ids))}
	if shard.Deleted() > shard.Records() || e.Records < 0 {
		return nil, nil, corrupt.Locate(corrupt.At(-1, "%d of %d records are deleted", shard.Deleted(), shard.Records()), shard.URL(), 0)
	}
	summary, err := shard.Describe(ctx)
	if err != nil {
		return nil, nil, err
	}
	e.RootBytes, e.Objects, e.StoredBytes = summary.Size, int64(len(summary.Objects)+1), summary.StoredBytes
	e.IndexBytes, e.IndexesKnown = summary.IndexBytes, true
	e.DataObjects, e.ColumnRanges = summary.DataObjects, summary.ColumnRanges
	e.FilterObjects, e.FilterBytes = summary.FilterObjects, summary.FilterBytes
	private(&e.Private, shard, summary)
	e.Shape = Shape(s, ids)
	e.SetTermRuns(termFilters(e.Path, summary.TermFilters, ids))
	d := describer{fields: summary.Fields, ids: ids, entry: e, deleted: shard.Deleted() > 0}
	for _, f := range s.Fields {
		d.field(f, scope{expected: shard.Records(), whole: true, bounded: true})
	}
	if len(summary.Rows) > 0 {
		e.Rows = encodeRows(e.Path, rowsOf(rowsIDs(summary.Rows)))
	}
	return e, summary.Objects, nil
}

type describer struct {
	fields  []shardfmt.FieldSummary
	ids     []int
	entry   *Entry
	deleted bool
}

// scope reports what the statistics of a field can be compared with.
type scope struct {
	// expected is the number of positions that the field should have, where whole holds.
	expected uint64
	// whole: no parent of the field is ever null, so that its nulls are its own.
	whole bool
	// bounded: the field has at most one value per record.
	bounded bool
}

// private fills in the numbers of the shard as a whole.
func private(p *Private, shard *shardfmt.Shard, d *shardfmt.Description) {
	p.Stripes, p.Deleted = int64(len(shard.Stripes())), int64(shard.Deleted())
	if d.Created {
		p.Created = CreationRange{int64(d.CreationMin), int64(d.CreationMax)}
	}
	if len(d.Standard) > 0 {
		p.Flags |= StandardProperties
		p.Tags = tagsOf(shardfmt.Properties{Standard: d.Standard})
	}
	if !d.HasFieldIDs {
		p.Flags |= Foreign
	}
	p.MetadataBytes = d.MetadataBytes
}

// tagsOf is the fingerprint of the drop-by tags in a shard's standard properties, whatever their order; 0 without any. Shards of
// different tags are not merged.
func tagsOf(p shardfmt.Properties) int64 {
	tags := p.DropByTags()
	if len(tags) == 0 {
		return 0
	}
	var b []byte
	for _, tag := range tags {
		b = append(binary.AppendUvarint(b, uint64(len(tag))), tag...)
	}
	return int64(xxh3.Hash(b) | 1)
}

// field describes a node and everything below it.
func (d *describer) field(n *schema.Node, sc scope) {
	f := &d.fields[n.ID]
	c := Column{Bytes: f.Bytes, Values: Unknown, Nulls: Unknown, NaNs: Unknown}
	if f.Described {
		d.count(&c, f, sc)
		if sc.bounded {
			c.Lower, c.Upper = encodeBound(n, f.Min, false), encodeBound(n, f.Max, true)
			d.latest(n, f)
		}
	}
	if id := d.ids[n.ID]; id != 0 {
		d.entry.Columns[id] = c
	}
	below := childScope(n, f, c, sc)
	for _, child := range n.Children {
		d.field(child, below)
	}
}

// childScope narrows what is known for the children of n.
func childScope(n *schema.Node, f *shardfmt.FieldSummary, c Column, sc scope) scope {
	switch n.Basic {
	case schema.Struct:
		return scope{expected: sc.expected, whole: sc.whole && f.Described && c.Nulls == 0, bounded: sc.bounded}
	case schema.Union:
		return scope{bounded: sc.bounded}
	}
	return scope{}
}

// count fills in the counts that are exact. With deleted records only the number of values is.
func (d *describer) count(c *Column, f *shardfmt.FieldSummary, sc scope) {
	if sc.whole && f.Positions > sc.expected {
		return
	}
	if !sc.whole {
		c.Values = int64(f.Positions)
		return
	}
	c.Values = int64(sc.expected)
	if d.deleted {
		c.Values = d.entry.Records
		return
	}
	if f.Nulls != nil {
		c.Nulls = int64(*f.Nulls + sc.expected - f.Positions)
	}
	if f.NaNs != nil {
		c.NaNs = int64(*f.NaNs)
	}
}

// latest keeps the greatest time of a column where it lies between two microseconds.
func (d *describer) latest(n *schema.Node, f *shardfmt.FieldSummary) {
	id := d.ids[n.ID]
	if n.Basic != schema.DateTime || id == 0 || f.Max == nil {
		return
	}
	floor := timeBound(f.Max, false)
	if floor == nil || string(floor) == string(timeBound(f.Max, true)) {
		return
	}
	if d.entry.latest == nil {
		d.entry.latest = map[int][]byte{}
	}
	d.entry.latest[id] = floor
}

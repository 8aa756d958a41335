package catalog

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/stats"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Statistics are what the shards of a table say of its columns.
type Statistics struct {
	Rows   int64 `json:"rows"`
	Shards int   `json:"shards"`
	// Bytes are all that the shards' roots reach.
	Bytes   int64              `json:"bytes"`
	Columns []ColumnStatistics `json:"columns"`
}

// ColumnStatistics are those of one column, or of one member of a struct.
type ColumnStatistics struct {
	// Name is dotted, Type as the schema grammar writes it.
	Name string `json:"name"`
	Type string `json:"type"`
	// Rows are positions of the column, Nulls those without a value.
	Rows  uint64 `json:"rows"`
	Nulls uint64 `json:"nulls"`
	// Min and Max as rows print values, null where the type has none. Inexact: long texts are cut in the statistics, so
	// that no value lies outside but the bounds themselves may not be there.
	Min     json.RawMessage `json:"min"`
	Max     json.RawMessage `json:"max"`
	Inexact bool            `json:"inexact,omitempty"`
	// Distinct is the number of distinct values, null not counted; nil where nobody counted. It is good to some percent, by a sketch, unless
	// DistinctExact.
	Distinct      *uint64 `json:"distinct_estimate"`
	DistinctExact bool    `json:"distinct_exact,omitempty"`
	// Bytes stored for the column and what is below it.
	Bytes int64 `json:"bytes"`
	// Scanned counts the shards whose statistics did not tell (deleted records, other writers) and whose column was read.
	Scanned int `json:"scanned_shards,omitempty"`
}

// Statistics gives the statistics of all columns of a state of the table. It reads the roots of the shards, and of
// their data only columns whose statistics are missing or count records that are deleted.
func (t *Table) Statistics(ctx context.Context, at At) (*Statistics, error) {
	g := &gathering{table: t, out: &Statistics{}}
	for _, n := range t.schema.Shard.Fields {
		g.add(n, schema.JoinPath(n.Name))
	}
	for e, err := range t.Entries(ctx, at) {
		if err != nil {
			return nil, err
		}
		if err := g.shard(ctx, e); err != nil {
			return nil, err
		}
	}
	for _, c := range g.columns {
		g.out.Columns = append(g.out.Columns, c.finish())
	}
	return g.out, nil
}

// gathering adds up the statistics of shards.
type gathering struct {
	table   *Table
	out     *Statistics
	columns []*gathered
}

// gathered is one column on the way.
type gathered struct {
	node *schema.Node
	path string
	sum  *metapb.FieldDescriptor
	out  ColumnStatistics
}

// add lists a column and the members of a struct.
func (g *gathering) add(n *schema.Node, path string) {
	g.columns = append(g.columns, &gathered{node: n, path: path, out: ColumnStatistics{Name: path, Type: manifest.TypeName(n)}})
	if n.Basic == schema.Struct {
		for _, c := range n.Children {
			g.add(c, path+"."+schema.JoinPath(c.Name))
		}
	}
}

func (g *gathering) shard(ctx context.Context, e *manifest.Entry) error {
	g.out.Shards++
	g.out.Rows += e.Records
	g.out.Bytes += e.StoredBytes
	shard, err := g.table.openShard(ctx, g.table.cat.client, e.Path, e.RootBytes, false)
	if err != nil {
		return err
	}
	ids, err := g.table.schema.MapShard(ctx, shard.Root())
	if err != nil {
		return err
	}
	for _, c := range g.columns {
		c.out.Bytes += g.bytes(e, c.node)
		d, err := g.descriptor(ctx, shard, ids, c)
		if err != nil {
			return err
		}
		if d == nil {
			if d, err = g.scan(ctx, e, c); err != nil {
				return err
			}
			c.out.Scanned++
		}
		c.sum = stats.Fold(c.sum, d)
	}
	return nil
}

// bytes are what an entry says is stored for a node and those below it.
func (g *gathering) bytes(e *manifest.Entry, n *schema.Node) int64 {
	total := e.Columns[g.table.schema.IDs[n.ID]].Bytes
	for _, c := range n.Children {
		total += g.bytes(e, c)
	}
	return total
}

// descriptor is what the shard says of a column; nil if that is not the truth about its live records.
func (g *gathering) descriptor(ctx context.Context, shard *shardfmt.Shard, ids []int, c *gathered) (*metapb.FieldDescriptor, error) {
	if shard.Deleted() > 0 {
		return nil, nil
	}
	for node, id := range ids {
		if id != g.table.schema.IDs[c.node.ID] {
			continue
		}
		d, err := shard.Root().ShardField(ctx, uint32(node))
		if err != nil || d == nil || d.NullCount == nil {
			return nil, err
		}
		if bounded(c.node) && d.RangeStats == nil && *d.NullCount < d.PositionCount {
			return nil, nil
		}
		return d, nil
	}
	nulls := shard.Records()
	return &metapb.FieldDescriptor{PositionCount: nulls, NullCount: &nulls}, nil
}

// bounded tells the types whose values have bounds in statistics.
func bounded(n *schema.Node) bool {
	switch n.Basic {
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64, schema.Float32, schema.Float64, schema.DateTime, schema.String:
		return true
	}
	return false
}

// scan reads a column of one shard and gathers its statistics anew.
func (g *gathering) scan(ctx context.Context, e *manifest.Entry, c *gathered) (*metapb.FieldDescriptor, error) {
	p, err := g.table.PlanOf([]*manifest.Entry{e}, ScanOptions{Select: []string{c.path}})
	if err != nil {
		return nil, err
	}
	collector := stats.NewCollector(c.node, stats.Options{Bloom: stats.BloomNever})
	for b, err := range p.Run(ctx, nil) {
		if err != nil {
			return nil, err
		}
		a, err := memberOf(b, schema.SplitPath(c.path))
		if err != nil {
			return nil, err
		}
		collector.Add(a)
	}
	return collector.Descriptor(), nil
}

func (c *gathered) finish() ColumnStatistics {
	out, d := c.out, c.sum
	out.Min, out.Max = json.RawMessage("null"), json.RawMessage("null")
	if d == nil {
		return out
	}
	out.Rows, out.Nulls = d.PositionCount, d.GetNullCount()
	if r := d.RangeStats; r != nil {
		out.Min, out.Max = inspect.Value(r.MinValue, c.node), inspect.Value(r.MaxValue, c.node)
		out.Inexact = !r.MinInclusive || !r.MaxInclusive
	}
	if n := d.Cardinality; n != nil && n.Count != nil {
		out.Distinct, out.DistinctExact = n.Count, !n.IsEstimate
	}
	return out
}

// memberOf is the array at a path of names in a batch.
func memberOf(b arrow.RecordBatch, path []string) (arrow.Array, error) {
	a := b.Column(columnIndex(b, path[0]))
	for _, name := range path[1:] {
		parent, ok := a.(*array.Struct)
		if !ok {
			return nil, fmt.Errorf("%w: %s is in no struct", ErrInvalid, name)
		}
		i, _ := parent.DataType().(*arrow.StructType).FieldIdx(name)
		a = parent.Field(i)
	}
	return a, nil
}

// Package colstats gathers statistics of a table's columns: those that its shards state, and of columns whose statistics are missing or count deleted
// records, their values.
package colstats

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Statistics are what the shards of a table state about its columns.
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

// Of gathers the statistics of a state of a table, whose entries are given.
func Of(ctx context.Context, state *tablescan.State, entries iter.Seq2[*manifest.Entry, error]) (*Statistics, error) {
	g := &gathering{state: state, out: &Statistics{}}
	for _, n := range state.Schema.Shard.Fields {
		g.add(n, schema.JoinPath(n.Name))
	}
	for e, err := range entries {
		if err == nil {
			err = g.shard(ctx, e)
		}
		if err != nil {
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
	state   *tablescan.State
	out     *Statistics
	columns []*gathered
}

// gathered is one column on the way.
type gathered struct {
	node *schema.Node
	path string
	sum  *shardfmt.Statistics
	out  ColumnStatistics
}

// add lists a column and the members of a struct.
func (g *gathering) add(n *schema.Node, path string) {
	g.columns = append(g.columns, &gathered{node: n, path: path, sum: shardfmt.NewStatistics(n), out: ColumnStatistics{Name: path, Type: n.BareType()}})
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
	shard, err := g.state.Open(ctx, g.state.Client, e)
	if err != nil {
		return err
	}
	ids, err := g.state.Schema.MapShard(ctx, shard)
	if err != nil {
		return err
	}
	for _, c := range g.columns {
		c.out.Bytes += g.bytes(e, c.node)
		known, err := g.known(ctx, shard, ids, c)
		if err == nil && !known {
			err = g.scan(ctx, e, c)
			c.out.Scanned++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bytes are what an entry states is stored for a node and those below it.
func (g *gathering) bytes(e *manifest.Entry, n *schema.Node) int64 {
	total := e.Columns[g.state.Schema.IDs[n.ID]].Bytes
	for _, c := range n.Children {
		total += g.bytes(e, c)
	}
	return total
}

// known adds what the shard states about a column; false if that is not the truth about its live rows.
func (g *gathering) known(ctx context.Context, shard *shardfmt.Shard, ids []int, c *gathered) (bool, error) {
	node := slices.Index(ids, g.state.Schema.IDs[c.node.ID])
	switch {
	case node >= 0:
		return c.sum.AddShard(ctx, shard, uint32(node))
	case shard.Deleted() > 0:
		return false, nil
	}
	c.sum.AddNulls(shard.Records())
	return true, nil
}

// scan reads a column of one shard and gathers its statistics again.
func (g *gathering) scan(ctx context.Context, e *manifest.Entry, c *gathered) error {
	p, err := tablescan.New(g.state, []*manifest.Entry{e}, tablescan.ScanOptions{Select: []string{c.path}})
	if err != nil {
		return err
	}
	for b, err := range p.Run(ctx, nil) {
		if err != nil {
			return err
		}
		on, err := projection.Member(b, schema.SplitPath(c.path))
		if err != nil {
			return err
		}
		c.sum.Add(on[len(on)-1])
	}
	return nil
}

func (c *gathered) finish() ColumnStatistics {
	out, r := c.out, c.sum.Result()
	out.Rows, out.Nulls, out.Min, out.Max, out.Inexact = r.Rows, r.Nulls, r.Min, r.Max, r.Inexact
	out.Distinct, out.DistinctExact = r.Distinct, r.DistinctExact
	return out
}

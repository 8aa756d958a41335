package manifest

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ErrSchema: a shard's fields do not fit the table's columns.
var ErrSchema = errors.New("schema mismatch")

// TableSchema is a table's schema seen from both sides.
type TableSchema struct {
	Iceberg *iceberg.Schema
	// Shard is the schema of shards written to the table, and IDs the Iceberg field id of each of its nodes.
	Shard *schema.Schema
	IDs   []int
	// Unsupported are columns that no shard can have; Shard lacks them.
	Unsupported []UnsupportedColumn
	// nodes by field id.
	nodes map[int]*schema.Node
}

// NewTableSchema reads the shard side of an Iceberg schema.
func NewTableSchema(t *iceberg.Schema, notes TypeNotes) *TableSchema {
	s, ids, unsupported := FromIceberg(t, notes)
	ts := &TableSchema{Iceberg: t, Shard: s, IDs: ids, Unsupported: unsupported, nodes: make(map[int]*schema.Node, len(ids))}
	ts.index(s.Fields)
	return ts
}

// UnsupportedRequired is a column that every shard must have and none can, nil if there is none.
func (t *TableSchema) UnsupportedRequired() *UnsupportedColumn {
	for i := range t.Unsupported {
		if t.Unsupported[i].Required {
			return &t.Unsupported[i]
		}
	}
	return nil
}

func (t *TableSchema) index(nodes []*schema.Node) {
	for _, n := range nodes {
		t.nodes[t.IDs[n.ID]] = n
		t.index(n.Children)
	}
}

// Node is the node of a field id, nil if the schema has no such field.
func (t *TableSchema) Node(id int) *schema.Node { return t.nodes[id] }

// MapShard gives the Iceberg field id of each node of an opened shard, by node number: from the shard's own
// property where it has one, else by name (an adopted shard). Nodes that are no column of the table get 0;
// a field of another type is ErrSchema. A shard of an older snapshot may lack columns that are required by now.
func (t *TableSchema) MapShard(ctx context.Context, root *meta.Root) ([]int, error) {
	s, err := root.Schema(ctx)
	if err != nil {
		return nil, err
	}
	text, _, err := root.OwnText(ctx, meta.PropertyFieldIDs)
	if err != nil {
		return nil, err
	}
	var ids []int
	if text != "" {
		ids, err = meta.ParseFieldIDs(text, int(s.Count))
	} else {
		ids = t.ByName(s)
	}
	if err != nil {
		return nil, err
	}
	if _, err := t.checkTypes(s, ids); err != nil {
		return nil, fmt.Errorf("%s: %w", root.URL(), err)
	}
	return ids, nil
}

// ByName pairs an adopted shard's fields with the columns by name, then by alias; children of lists and maps
// pair by place.
func (t *TableSchema) ByName(s *schema.Schema) []int {
	ids := make([]int, s.Count)
	t.pairNames(Columns(s), t.Shard.Fields, ids)
	return ids
}

func (t *TableSchema) pairNames(shard, columns []*schema.Node, ids []int) {
	for i, n := range shard {
		c := named(columns, n)
		if c == nil && n.Name == "" && i < len(columns) {
			c = columns[i]
		}
		if c == nil {
			continue
		}
		ids[n.ID] = t.IDs[c.ID]
		if isNested(n.Basic) && c.Basic == n.Basic {
			t.pairChildren(n, c, ids)
		}
	}
}

func (t *TableSchema) pairChildren(n, c *schema.Node, ids []int) {
	if n.Basic == schema.Struct || n.Basic == schema.Union {
		t.pairNames(n.Children, c.Children, ids)
		return
	}
	for i := range min(len(n.Children), len(c.Children)) {
		t.pairNames([]*schema.Node{{
			ID: n.Children[i].ID, Name: c.Children[i].Name, Basic: n.Children[i].Basic,
			Children: n.Children[i].Children,
		}}, c.Children[i:i+1], ids)
	}
}

func isNested(b schema.Basic) bool { return b >= schema.List }

func named(columns []*schema.Node, n *schema.Node) *schema.Node {
	for _, c := range columns {
		if c.Name == n.Name && n.Name != "" {
			return c
		}
	}
	for _, alias := range n.Aliases {
		for _, c := range columns {
			if c.Name == alias {
				return c
			}
		}
	}
	return nil
}

// Check refuses fields whose values the column can't hold, and shards that lack a required column.
func (t *TableSchema) Check(s *schema.Schema, ids []int) error {
	have, err := t.checkTypes(s, ids)
	if err != nil {
		return err
	}
	for _, c := range t.Shard.Fields {
		if !c.Nullable && !have[t.IDs[c.ID]] {
			return fmt.Errorf("%w: the required column %q is missing", ErrSchema, c.Name)
		}
	}
	return nil
}

// checkTypes refuses fields whose values the column can't hold, and gives the columns that there are.
func (t *TableSchema) checkTypes(s *schema.Schema, ids []int) (have map[int]bool, err error) {
	have = make(map[int]bool, len(ids))
	err = walk(s.Fields, func(n *schema.Node) error {
		c := t.nodes[ids[n.ID]]
		if c == nil {
			return nil
		}
		have[ids[n.ID]] = true
		if !Promotable(n, c) {
			return fmt.Errorf("%w: field %q is %s, the table's column is %s", ErrSchema, n.Name, TypeName(n), TypeName(c))
		}
		return nil
	})
	return have, err
}

func walk(nodes []*schema.Node, visit func(*schema.Node) error) error {
	for _, n := range nodes {
		if err := visit(n); err != nil {
			return err
		}
		if err := walk(n.Children, visit); err != nil {
			return err
		}
	}
	return nil
}

// Promotable reports whether every value of a shard's field is a value of the column: the types are equal, or the
// column's is a wider integer or float.
func Promotable(field, column *schema.Node) bool {
	switch {
	case field.Basic.IsInteger() && column.Basic.IsInteger():
		if field.IsTimeSpan() || column.IsTimeSpan() {
			return field.IsTimeSpan() && column.IsTimeSpan() || field.Ext == nil
		}
		wider := column.Basic > field.Basic
		if field.Signed == column.Signed {
			return wider || column.Basic == field.Basic
		}
		return wider && column.Signed
	case field.Basic == schema.Float32 && column.Basic == schema.Float64:
		return true
	}
	return field.Basic == column.Basic && field.IsDecimal() == column.IsDecimal() &&
		field.IsDynamic() == column.IsDynamic() && sameSize(field, column)
}

func sameSize(a, b *schema.Node) bool {
	return a.Basic == schema.Guid || a.FixedSize == b.FixedSize
}

// TypeName is the type of n in one word, for errors and listings.
func TypeName(n *schema.Node) string {
	switch {
	case n.IsTimeSpan():
		return "TimeSpan"
	case n.IsDecimal():
		return "Decimal"
	case n.IsDynamic():
		return "Dynamic"
	case n.Basic.IsInteger() && !n.Signed:
		return "U" + n.Basic.String()
	}
	return n.Basic.String()
}

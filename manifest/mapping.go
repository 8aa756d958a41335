package manifest

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/shardfmt"
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
	// Names are those by which fields of adopted shards are found, where they are not the columns' names of today.
	Names AdoptedNames
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
// property where it has one, else by name (an adopted shard). Nodes that are not columns of the table get 0;
// a field of another type is ErrSchema. A shard of an older snapshot may lack columns that are required by now.
func (t *TableSchema) MapShard(ctx context.Context, shard *shardfmt.Shard) ([]int, error) {
	ids, _, err := t.mapShard(ctx, shard, t.ByAdoptedName)
	return ids, err
}

// MapNewShard is MapShard for a shard that is about to become part of the table: ByNewName instead of ByAdoptedName. byName means that
// the shard has no ids of its own.
func (t *TableSchema) MapNewShard(ctx context.Context, shard *shardfmt.Shard) (ids []int, byName bool, err error) {
	return t.mapShard(ctx, shard, t.ByNewName)
}

func (t *TableSchema) mapShard(ctx context.Context, shard *shardfmt.Shard, find func(*schema.Schema) []int) (ids []int, byName bool, err error) {
	s, err := shard.Schema(ctx)
	if err != nil {
		return nil, false, err
	}
	if ids, err = shard.FieldIDs(ctx); err != nil {
		return nil, false, err
	}
	if ids == nil {
		ids, byName = find(s), true
	}
	if _, err := t.checkTypes(s, ids); err != nil {
		return nil, false, fmt.Errorf("%s: %w", shard.URL(), err)
	}
	return ids, byName, nil
}

// ByName pairs a shard's fields with the columns by name, then by alias; children of lists and maps
// pair by place.
func (t *TableSchema) ByName(s *schema.Schema) []int { return t.pair(s, &pairing{}) }

// ByAdoptedName is ByName for a shard that the table has adopted, which knows columns by the names of that time.
func (t *TableSchema) ByAdoptedName(s *schema.Schema) []int {
	return t.pair(s, &pairing{names: t.Names})
}

// ByNewName is ByName for a shard that is about to be adopted. A name that no column has any more is that of the column that adopted
// shards know by it.
func (t *TableSchema) ByNewName(s *schema.Schema) []int {
	return t.pair(s, &pairing{names: t.Names, today: true})
}

func (t *TableSchema) pair(s *schema.Schema, p *pairing) []int {
	p.TableSchema, p.ids = t, make([]int, s.Count)
	p.fields(s.Columns(), t.Shard.Fields, 0)
	return p.ids
}

// pairing finds the field ids of a shard's nodes.
type pairing struct {
	*TableSchema
	names AdoptedNames
	// today lets the columns' names of today come before names.
	today bool
	ids   []int
}

// fields pairs nodes with the columns below a field id.
func (p *pairing) fields(shard, columns []*schema.Node, parent int) {
	for i, n := range shard {
		c := p.named(columns, n, parent)
		if c == nil && n.Name == "" && i < len(columns) {
			c = columns[i]
		}
		if c == nil {
			continue
		}
		p.ids[n.ID] = p.IDs[c.ID]
		if isNested(n.Basic) && c.Basic == n.Basic {
			p.children(n, c)
		}
	}
}

func (p *pairing) children(n, c *schema.Node) {
	if n.Basic == schema.Struct || n.Basic == schema.Union {
		p.fields(n.Children, c.Children, p.IDs[c.ID])
		return
	}
	for i := range min(len(n.Children), len(c.Children)) { // by place
		child, column := n.Children[i], c.Children[i]
		p.ids[child.ID] = p.IDs[column.ID]
		if isNested(child.Basic) && column.Basic == child.Basic {
			p.children(child, column)
		}
	}
}

// named is the column of a node, nil if there is none.
func (p *pairing) named(columns []*schema.Node, n *schema.Node, parent int) *schema.Node {
	for _, name := range append([]string{n.Name}, n.Aliases...) {
		id, noted := p.names[parent][name]
		if noted && !p.today {
			return p.nodes[id]
		}
		for _, c := range columns {
			if c.Name == name && name != "" {
				return c
			}
		}
		if noted {
			return p.nodes[id]
		}
	}
	return nil
}

func isNested(b schema.Basic) bool { return b >= schema.List }

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
		if !n.WidensTo(c) {
			return fmt.Errorf("%w: field %q is %s, the table's column is %s", ErrSchema, n.Name, n.BareType(), c.BareType())
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

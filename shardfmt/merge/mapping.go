package merge

import (
	"bytes"
	"context"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// mapping gives for each node of the target, by number, the node of an input, or lacking.
type mapping []uint32

// lacking: the input has no such node.
const lacking = ^uint32(0)

// identity reports whether every node has the number it had.
func (m mapping) identity() bool {
	for i, id := range m {
		if id != uint32(i) {
			return false
		}
	}
	return true
}

// target is the schema of the merged shard.
type target struct {
	schema *schema.Schema
	wire   []byte
	// ids are the field ids of the nodes, nil if not known.
	ids []int
	// nodes by number.
	nodes []*schema.Node
}

// newTarget chooses the schema and maps every input onto it.
func newTarget(shards []*shard, o Options) (*target, error) {
	if o.Schema != nil {
		if o.FieldIDs != nil && len(o.FieldIDs) != int(o.Schema.Count) {
			return nil, fmt.Errorf("%w: %d field ids for %d nodes", ErrSchema, len(o.FieldIDs), o.Schema.Count)
		}
		t := newSchemaTarget(o.Schema, schemawire.Marshal(o.Schema), o.FieldIDs)
		return t, t.mapAll(shards, true)
	}
	widest := shards[0]
	for _, s := range shards {
		if s.schema.Count > widest.schema.Count {
			widest = s
		}
	}
	t := newSchemaTarget(widest.schema, widest.schemaWire, widest.ids)
	return t, t.mapAll(shards, false)
}

func newSchemaTarget(s *schema.Schema, wire []byte, ids []int) *target {
	t := &target{schema: s, wire: wire, ids: ids, nodes: make([]*schema.Node, s.Count)}
	s.Walk(func(_ string, n *schema.Node) bool {
		t.nodes[n.ID] = n
		return true
	})
	return t
}

// mapAll maps the inputs; drop reports that they may have fields that the target lacks.
func (t *target) mapAll(shards []*shard, drop bool) error {
	for _, s := range shards {
		var err error
		if s.mapping, err = t.mapShard(s, drop); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrSchema, s.root.URL(), err)
		}
		s.identical = s.mapping.identity() && len(s.mapping) == int(s.schema.Count)
	}
	return nil
}

func (t *target) mapShard(s *shard, drop bool) (mapping, error) {
	if !t.differs(s) {
		m := make(mapping, t.schema.Count)
		for i := range m {
			m[i] = uint32(i)
		}
		return m, nil
	}
	if t.ids == nil || s.ids == nil {
		return nil, fmt.Errorf("different fields without field IDs to map them")
	}
	w := mapper{target: t, from: s, m: make(mapping, t.schema.Count)}
	for i := range w.m {
		w.m[i] = lacking
	}
	if err := w.siblings(t.schema.Fields, s.schema.Fields); err != nil {
		return nil, err
	}
	if !drop && w.used != int(s.schema.Count) {
		return nil, fmt.Errorf("it has fields that the others lack; set the schema of the merged shard")
	}
	return w.m, nil
}

// differs reports whether s can't be taken over node by node.
func (t *target) differs(s *shard) bool {
	if !bytes.Equal(t.wire, s.schemaWire) && !t.schema.Equal(s.schema) {
		return true
	}
	if t.ids == nil || s.ids == nil {
		return false
	}
	for i := range t.ids {
		if t.ids[i] != s.ids[i] {
			return true
		}
	}
	return false
}

// mapper pairs the nodes of a target with those of one input.
type mapper struct {
	target *target
	from   *shard
	m      mapping
	used   int
}

// siblings pairs the children of two nodes that belong together.
func (w *mapper) siblings(to, from []*schema.Node) error {
	for _, n := range to {
		f := w.partner(n, from)
		if f == nil {
			if err := w.lacks(n); err != nil {
				return err
			}
			continue
		}
		if !n.SameType(f) {
			return fmt.Errorf("field %q is %s there and %s here", n.Name, f.TypeName(), n.TypeName())
		}
		w.m[n.ID] = f.ID
		w.used++
		if err := w.siblings(n.Children, f.Children); err != nil {
			return err
		}
	}
	return nil
}

// partner is the node among from that stands for n: the one with its field id, or, for a node that is no
// column of the table, the one of the same internal kind or name.
func (w *mapper) partner(n *schema.Node, from []*schema.Node) *schema.Node {
	id := w.target.ids[n.ID]
	for _, f := range from {
		if w.from.ids[f.ID] != id {
			continue
		}
		if id != 0 || f.Internal == n.Internal && (n.Internal != "" || f.Name == n.Name) {
			return f
		}
	}
	return nil
}

// lacks checks that an input may lack n: the reference reads a field without buffers as null only if it is a
// scalar. The marker of deleted records is never made up: null is not "no".
func (w *mapper) lacks(n *schema.Node) error {
	switch {
	case len(n.Children) > 0 || n.Basic >= schema.List:
		return fmt.Errorf("it lacks field %q, a %v: the shard must be rebuilt", n.Name, n.Basic)
	case n.Internal == schema.InternalDeletedRecord:
		return fmt.Errorf("it lacks the marker of deleted records")
	case n.Parent != schema.NoParent && w.target.nodes[n.Parent].Basic != schema.Struct:
		return fmt.Errorf("it lacks field %q inside a %v: the shard must be rebuilt", n.Name, w.target.nodes[n.Parent].Basic)
	}
	return nil
}

// fieldIDs reads the field ids that the shard carries, nil if it carries none.
func (s *shard) fieldIDs(ctx context.Context) ([]int, error) {
	text, ok, err := s.root.OwnText(ctx, meta.PropertyFieldIDs)
	if !ok || err != nil {
		return nil, err
	}
	ids, err := meta.ParseFieldIDs(text, int(s.schema.Count))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return ids, nil
}

package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// IndexesProperty is the table property that lists the indexes of new shards, separated by spaces: text:COL[:TOKENIZER],
// hash:COL; text@shard:COL and hash@shard:COL are one index of all stripes of a shard.
const IndexesProperty = "shardcat.indexes"

// Indexes are those that every new shard of the table gets.
func (t *Table) Indexes() (shardfmt.IndexSpecs, error) {
	var specs shardfmt.IndexSpecs
	if err := specs.Set(t.Properties()[IndexesProperty]); err != nil {
		return nil, fmt.Errorf("%w: table %s: property %s: %w", ErrInvalid, t.name, IndexesProperty, err)
	}
	return specs, nil
}

// checkIndexes refuses an index property that no shard of a schema could follow.
func checkIndexes(properties map[string]string, s *schema.Schema) error {
	var specs shardfmt.IndexSpecs
	err := specs.Set(properties[IndexesProperty])
	if err == nil && len(specs) > 0 {
		err = specs.Check(s)
	}
	if err != nil {
		return fmt.Errorf("%w: property %s: %w", ErrInvalid, IndexesProperty, err)
	}
	return nil
}

// addDefaultIndexes checks the indexes that are requested, and adds the table's; where both have one of a name, what was
// requested counts. A default whose column was dropped or renamed since is left out.
func (t *Table) addDefaultIndexes(o *IngestOptions) error {
	if err := o.Indexes.Check(t.schema.Shard); err != nil {
		return fmt.Errorf("%w: table %s: %w", ErrInvalid, t.name, err)
	}
	specs, err := t.Indexes()
	if err != nil {
		return err
	}
	o.Indexes = slices.Clone(o.Indexes)
	for _, s := range specs {
		if (shardfmt.IndexSpecs{s}).Check(t.schema.Shard) == nil {
			o.addIndex(s)
		}
	}
	return nil
}

// addIndex requests an index unless one of its name is requested.
func (o *IngestOptions) addIndex(s shardfmt.IndexSpec) {
	if !slices.ContainsFunc(o.Indexes, func(x shardfmt.IndexSpec) bool { return x.Name() == s.Name() }) {
		o.Indexes = append(o.Indexes, s)
	}
}

// indexes requests those that the shard as a whole and its first stripe have, by the names that their columns have in the table now.
func (c *carrying) indexes(ctx context.Context, shard *shardfmt.Shard) error {
	if len(shard.Stripes()) == 0 {
		return nil
	}
	of, err := shard.Indexes(ctx, 0)
	if err != nil {
		return err
	}
	whole, err := shard.Indexes(ctx, -1)
	if err != nil {
		return err
	}
	ids, err := c.table.schema.MapShard(ctx, shard)
	if err != nil {
		return err
	}
	for _, d := range slices.Concat(whole, of) {
		if s, ok := c.table.indexNow(d, ids); ok {
			c.options.addIndex(s)
		}
	}
	return nil
}

// indexNow is an index of a shard by the names that its columns have in the table; ok is false if it can't be built for
// the table. ids are the field ids of the shard's nodes.
func (t *Table) indexNow(d index.Descriptor, ids []int) (s shardfmt.IndexSpec, ok bool) {
	s, err := d.Spec()
	if err != nil {
		return s, false
	}
	s.Columns = nil
	for _, nodes := range d.Fields() {
		var parts []string
		for _, node := range nodes {
			if int(node) >= len(ids) || ids[node] == 0 {
				return s, false
			}
			path, ok := columnPath(t.schema.Shard, t.schema.IDs, ids[node])
			if !ok {
				return s, false
			}
			parts = append(parts, path)
		}
		if s.Kind == shardfmt.LayerIndex { // whose columns are parts of one key
			s.Columns = append(s.Columns, parts...)
			continue
		}
		s.Columns = append(s.Columns, strings.Join(parts, "+"))
	}
	return s, (shardfmt.IndexSpecs{s}).Check(t.schema.Shard) == nil
}

// indexOf is an index of the table by the names that its columns have in a shard; ok is false if the shard lacks one, or
// has it in another type: then scans don't ask its indexes.
func (t *Table) indexOf(s shardfmt.IndexSpec, shard *schema.Schema, ids []int) (own shardfmt.IndexSpec, ok bool) {
	own, ok = s.Rename(t.schema.Shard, func(path string) (string, bool) {
		n, err := t.schema.Shard.Lookup(path)
		if err != nil {
			return "", false
		}
		there, ok := columnPath(shard, ids, t.schema.IDs[n.ID])
		if !ok {
			return "", false
		}
		m, err := shard.Lookup(there)
		for err == nil && n.Basic == schema.List && m.Basic == schema.List {
			n, m = n.Children[0], m.Children[0]
		}
		return there, err == nil && n.SameType(m)
	})
	if !ok {
		return own, false
	}
	return own, (shardfmt.IndexSpecs{own}).Check(shard) == nil
}

// columnPath is the path of the column with a field id; of an element, that of its list.
func columnPath(s *schema.Schema, ids []int, id int) (path string, ok bool) {
	nodes, paths := map[uint32]*schema.Node{}, map[uint32]string{}
	var found *schema.Node
	s.Walk(func(at string, n *schema.Node) bool {
		nodes[n.ID], paths[n.ID] = n, at
		if ids[n.ID] == id {
			found = n
		}
		return true
	})
	if found == nil || id == 0 {
		return "", false
	}
	for parent := nodes[found.Parent]; parent != nil && parent.Basic == schema.List; parent = nodes[found.Parent] {
		found = parent
	}
	return paths[found.ID], true
}

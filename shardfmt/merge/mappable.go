package merge

import (
	"fmt"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// WithMarker is a schema with the marker of deleted records behind its fields, and the field ids of its nodes, as a shard with deleted
// records has them. One that has a marker stays as it is.
func WithMarker(s *schema.Schema, ids []int) (*schema.Schema, []int) {
	if slices.ContainsFunc(s.Fields, isMarker) {
		return s, ids
	}
	wide := *s
	wide.Fields = append(wide.Fields[:len(wide.Fields):len(wide.Fields)], &schema.Node{Basic: schema.Boolean, Internal: schema.InternalDeletedRecord})
	wide.Number()
	if ids != nil {
		ids = append(ids[:len(ids):len(ids)], 0)
	}
	return &wide, ids
}

// Mappable reports, by an error of ErrSchema, why shards of one schema can't be concatenated into a root of another: a planner
// asks before it proposes. Both come with the field ids of their nodes.
func Mappable(to *schema.Schema, toIDs []int, from *schema.Schema, fromIDs []int) error {
	if len(toIDs) != int(to.Count) || len(fromIDs) != int(from.Count) {
		return fmt.Errorf("%w: a node without a field id", ErrSchema)
	}
	w := mapper{target: newSchemaTarget(to, nil, toIDs), from: &shard{schema: from, ids: fromIDs}, m: make(mapping, to.Count)}
	if err := w.siblings(to.Fields, from.Fields); err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return nil
}

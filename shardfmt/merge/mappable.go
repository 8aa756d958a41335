package merge

import (
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

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

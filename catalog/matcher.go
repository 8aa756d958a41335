package catalog

import (
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Matcher gives a function that reports whether an entry's bounds and counts prove that a filter selects all its rows, and the
// columns, by field id, that such an entry must have; see BriefEntries. A filter on columns that the table lacks is ErrInvalid.
func (t *Table) Matcher(where filter.Expr) (whole func(*manifest.Entry) bool, columns []int, err error) {
	bound, err := bindFilter(where, t.schema)
	if err != nil {
		return nil, nil, err
	}
	for _, node := range bound.Nodes() {
		columns = append(columns, t.schema.IDs[node])
	}
	return func(e *manifest.Entry) bool {
		return bound.MustMatch(func(id uint32) *filter.Stats { return t.schema.Stats(e, id) })
	}, columns, nil
}

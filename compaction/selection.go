package compaction

import (
	"fmt"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// selection is which shards of a table a policy is about, besides their sizes.
type selection struct {
	// where is the policy's filter, nil for none.
	where filter.Expr
	// whole reports whether all rows of a shard match the policy's filter.
	whole func(*manifest.Entry) bool
	// columns that whole requests, by field id.
	columns []int
	// youngest is the creation time from before which on shards are left alone, in ticks; 0 for none.
	youngest int64
}

// newSelection binds a policy to the table's columns.
func newSelection(t *catalog.Table, p Policy) (*selection, error) {
	s := &selection{}
	var err error
	if s.where, err = p.where(); err != nil {
		return nil, fmt.Errorf("where: %w", err)
	} else if s.where != nil {
		if s.whole, s.columns, err = t.Matcher(s.where); err != nil {
			return nil, fmt.Errorf("where: %w", err)
		}
	}
	keys, err := p.order()
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if _, err := t.Schema().Lookup(k.Column); err != nil {
			return nil, fmt.Errorf("order: %w", err)
		}
	}
	if p.Lookback > 0 {
		s.youngest = literal.Ticks(t.Catalog().Now().Add(-p.Lookback))
	}
	return s, nil
}

// notWhere is why a shard is left alone that may hold rows for which the policy's filter is not true.
const notWhere = "not proven to match where"

// leaves reports why a shard is none of the policy's, "" if it is one.
func (s *selection) leaves(e *manifest.Entry) string {
	switch {
	case s.whole != nil && !s.whole(e):
		return notWhere
	case s.youngest > 0 && e.Created.Known() && e.Created.Last < s.youngest:
		return "older than lookback"
	}
	return ""
}

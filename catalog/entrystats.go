package catalog

import (
	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// entryStats returns the statistics of one entry after another for the fields of a filter: made once each, however often the filter asks, and over
// the same memory, for a plan may look at a million entries.
type entryStats struct {
	table  *Table
	schema *manifest.TableSchema
	bound  *filter.Bound
	entry  *manifest.Entry
	fields []fieldStats
	// ofEntry and ofPartition are entryStats and partitionStats, made values once.
	ofEntry, ofPartition func(node uint32) *filter.Stats
	// spec is the last partition spec that was requested, by specID.
	spec   *iceberg.PartitionSpec
	specID int
}

// fieldStats are what the entry states about a field.
type fieldStats struct {
	node uint32
	made bool
	is   *filter.Stats
	room manifest.FieldStats
}

func newEntryStats(t *Table, s *manifest.TableSchema, b *filter.Bound) *entryStats {
	out := &entryStats{table: t, schema: s, bound: b}
	for _, node := range b.Nodes() {
		out.fields = append(out.fields, fieldStats{node: node})
	}
	out.ofEntry, out.ofPartition = out.entryStats, out.partitionStats
	return out
}

// look turns to another entry.
func (s *entryStats) look(e *manifest.Entry) {
	s.entry = e
	for i := range s.fields {
		s.fields[i].made = false
	}
}

// entryStats is what the entry's counts and bounds state about a field.
func (s *entryStats) entryStats(node uint32) *filter.Stats {
	for i := range s.fields {
		if f := &s.fields[i]; f.node == node {
			if !f.made {
				f.is, f.made = s.schema.StatsInto(s.entry, node, &f.room), true
			}
			return f.is
		}
	}
	return s.schema.Stats(s.entry, node)
}

// partitionStats is what the entry's partition states about a field.
func (s *entryStats) partitionStats(node uint32) *filter.Stats {
	return s.schema.PartitionStats(*s.spec, s.entry.Partition, node)
}

// partitionRulesOut reports whether no row of the entry's partition matches.
func (s *entryStats) partitionRulesOut() bool {
	if s.spec == nil || s.specID != s.entry.SpecID {
		s.spec, s.specID = s.table.ice.Metadata().PartitionSpecByID(s.entry.SpecID), s.entry.SpecID
	}
	return s.spec != nil && s.spec.NumFields() > 0 && !s.bound.MayMatch(s.ofPartition)
}

// rulesOut reports whether no row of the entry matches, by its counts and bounds.
func (s *entryStats) rulesOut() bool { return !s.bound.MayMatch(s.ofEntry) }

// Package check compares what the metadata of a table states with what it describes: the totals of a snapshot with its live entries, and an entry with its
// shard. Collections refuse to delete by metadata with such faults, and verification lists them.
package check

import (
	"fmt"
	"strconv"

	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/manifest"
)

// Counts sum up entries.
type Counts struct{ files, records, size int64 }

// Add adds a live entry.
func (c *Counts) Add(e *manifest.Entry) {
	c.files++
	c.records += e.Records
	c.size += e.RootBytes
}

// Plus adds the entries of another manifest.
func (c Counts) Plus(o Counts) Counts {
	return Counts{c.files + o.files, c.records + o.records, c.size + o.size}
}

// SummaryFaults compares the totals of a snapshot with its live entries.
func SummaryFaults(s *table.Snapshot, live Counts) (faults []string) {
	if s.Summary == nil {
		return []string{fmt.Sprintf("snapshot %d has no summary", s.SnapshotID)}
	}
	for _, total := range []struct {
		key  string
		want int64
	}{{"total-data-files", live.files}, {"total-records", live.records}, {"total-files-size", live.size}} {
		text := s.Summary.Properties[total.key]
		if got, err := strconv.ParseInt(text, 10, 64); err != nil || got != total.want {
			faults = append(faults, fmt.Sprintf("snapshot %d: its summary says %s = %q, its entries %d", s.SnapshotID, total.key, text, total.want))
		}
	}
	return faults
}

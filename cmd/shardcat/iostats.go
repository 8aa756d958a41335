package main

import (
	"encoding/json"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
)

// ioStats are request counters as --io-stats prints them.
type ioStats struct {
	Gets      int64    `json:"gets"`
	GetBytes  int64    `json:"get_bytes"`
	Heads     int64    `json:"heads"`
	Puts      int64    `json:"puts"`
	PutBytes  int64    `json:"put_bytes"`
	Lists     int64    `json:"lists"`
	Deletes   int64    `json:"deletes"`
	Depth     int64    `json:"depth"`
	CacheHits int64    `json:"cache_hits"`
	Catalog   *ioStats `json:"catalog,omitempty"`
}

func newIOStats(c blobio.Counters) *ioStats {
	return &ioStats{
		Gets: c.Gets, GetBytes: c.GetBytes, Heads: c.Heads, Puts: c.Puts, PutBytes: c.PutBytes,
		Lists: c.Lists, Deletes: c.Deletes, Depth: c.Depth, CacheHits: c.CacheHits,
	}
}

// ioStats sums up the run so far; the catalog's part is all zero where no catalog was opened.
func (a *app) ioStatsNow() *ioStats {
	data := newIOStats(a.client.Counters())
	data.Catalog = &ioStats{}
	if a.tables != nil {
		data.Catalog = newIOStats(a.tables.MetadataCounters())
	}
	return data
}

// printIOStats writes the counters as one line to stderr.
func (a *app) printIOStats() {
	line, err := json.Marshal(a.ioStatsNow())
	if err != nil {
		fmt.Fprintln(a.stderr, "shardcat: counters:", err)
		return
	}
	fmt.Fprintln(a.stderr, string(line))
}

package catalog

import (
	"sync"

	"github.com/shardcat/shardcat/shardfmt"
)

// mostChoiceCaches bounds the tables for which encodings are kept; one more, and those of all are forgotten.
const mostChoiceCaches = 16

// tableChoices are the encodings that small stripes of tables were given last by this process.
type tableChoices struct {
	mu     sync.Mutex
	tables map[string]*shardfmt.ChoiceCache
}

// of gives the cache of a table.
func (c *tableChoices) of(t *Table) *shardfmt.ChoiceCache {
	id := t.UUID()
	c.mu.Lock()
	defer c.mu.Unlock()
	cache := c.tables[id]
	if cache == nil {
		if c.tables == nil || len(c.tables) == mostChoiceCaches {
			c.tables = make(map[string]*shardfmt.ChoiceCache)
		}
		cache = new(shardfmt.ChoiceCache)
		c.tables[id] = cache
	}
	return cache
}

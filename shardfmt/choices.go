package shardfmt

import (
	"sync"

	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ChoiceCache keeps which encodings were chosen for small stripes, at most 8,192 values and 512 KiB of each column, in the profiles without Zstd, so that the next shard of the same
// table need not try all of them. The bytes of a shard then depend on the shards before it; how they are read does not. It holds at most 20 MB, for one
// schema at a time. The zero value is empty; for concurrent use.
type ChoiceCache struct {
	mu      sync.Mutex
	schema  string
	choices *column.Choices
	tried   int64
}

// of gives the choices for a schema, and forgets those for another.
func (c *ChoiceCache) of(s *schema.Schema) *column.Choices {
	if c == nil {
		return nil
	}
	text := s.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.choices == nil || c.schema != text {
		if c.choices != nil {
			c.tried += c.choices.Tries()
		}
		c.schema, c.choices = text, new(column.Choices)
	}
	return c.choices
}

// Tried is how many encodings were tried so far for small stripes.
func (c *ChoiceCache) Tried() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.choices == nil {
		return c.tried
	}
	return c.tried + c.choices.Tries()
}

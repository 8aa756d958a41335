package column

import (
	"sync"
	"sync/atomic"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// Choices are the encodings that were chosen for the columns of one schema in small stripes. A nil Choices keeps nothing. For concurrent use.
type Choices struct {
	mu      sync.Mutex
	buffers map[choiceKey]*encode.Choice
	tries   atomic.Int64
}

// choiceKey is a buffer of a node: its values, or the codes of its value dictionary.
type choiceKey struct {
	node    uint32
	profile encode.Profile
	codes   bool
}

// mostChoices bounds the memory: a choice takes up to 10 KB, so all of them up to 20 MB.
const mostChoices = 2048

// buffer gives the choices of a buffer; nil where there are too many buffers to keep them.
func (c *Choices) buffer(k choiceKey) *encode.Choice {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.buffers[k]
	if x == nil && len(c.buffers) < mostChoices {
		if c.buffers == nil {
			c.buffers = make(map[choiceKey]*encode.Choice)
		}
		x = &encode.Choice{Tries: &c.tries}
		c.buffers[k] = x
	}
	return x
}

// Tries is how many streams were weighed and dear encodings tried.
func (c *Choices) Tries() int64 { return c.tries.Load() }

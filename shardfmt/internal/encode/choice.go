package encode

import (
	"sync"
	"sync/atomic"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// The stripes of small files are one block or two of each column, and choosing encodings takes several times what carrying them out does: nothing was
// learnt before, and everything is tried. Files that go into one table mostly look like each other. So what the encoder of a small buffer has learnt is
// kept for the next buffer of that column, in a further stripe or shard, as if they were blocks of one buffer. See docs/design/small-stripes.md.

const (
	// mostChosenValues and mostChosenBytes bound a buffer whose choices are kept: larger ones learn from their own blocks.
	mostChosenValues, mostChosenBytes = generalBlock, 512 << 10
	// chooseEvery is how many buffers come to one of which everything is tried, at most.
	chooseEvery = 8
	// choiceLoss is the share of the size, as a divisor, by which byte values may come to more or less than in the buffer whose choices they repeat.
	choiceLoss = 16
)

// Choice is what the encoders of one buffer of a column leave to each other. Only one has it at a time; others that request it meanwhile try everything.
// For concurrent use; the zero value is empty.
type Choice struct {
	mu   sync.Mutex
	last *chosen
	// Tries, if not nil, counts the encodings that were tried.
	Tries *atomic.Int64
}

// chosen is what one encoder has left.
type chosen struct {
	learnt
	// left is how many more buffers it serves.
	left int
	// way is how the last values were cut, see lastBlocks.
	way int
	// came is what the byte values that were weighed came to, by whether they were the last block of several.
	came [2]struct{ raw, size int }
}

func (c *Choice) take() *chosen {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last
	c.last = nil
	return last
}

func (c *Choice) give(last *chosen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = last
}

// recalling is the state of an encoder that uses a Choice.
type recalling struct {
	// caching: what is learnt of the buffer will be kept; recalled: its encodings are those of the buffer before.
	caching, recalled bool
	// atRest: the block is the last one of several.
	atRest bool
	kept   *chosen
	// tries counts the streams that were weighed and the dear encodings that were tried.
	tries int
}

// recall takes over what the buffer before has left, if the last values are all there are, and few.
func (e *Encoder) recall(values, bytes int) {
	if e.o.Choice == nil || e.cut > 0 || values > mostChosenValues || bytes > mostChosenBytes || e.rules.general != block.Lz4 ||
		e.o.Tree != "" || e.o.Dictionary != nil {
		return
	}
	e.caching, e.kept = true, e.o.Choice.take()
	if e.kept == nil || e.kept.left == 0 {
		e.kept = &chosen{left: chooseEvery}
		return
	}
	e.recalled, e.learnt = true, e.kept.learnt
}

// leave gives what was learnt to the next buffer.
func (e *Encoder) leave() {
	if !e.caching {
		return
	}
	if e.o.Choice.Tries != nil {
		e.o.Choice.Tries.Add(int64(e.tries))
	}
	e.kept.left--
	e.kept.learnt = e.learnt
	e.o.Choice.give(e.kept)
	e.learnt, e.recalling = learnt{}, recalling{}
}

// learns reports whether the outcome of the block is remembered.
func (e *Encoder) learns() bool { return !e.eager || e.caching && !e.measuring }

// weighAnew tries everything again, for values that look otherwise than those of the buffer before.
func (e *Encoder) weighAnew() {
	e.eager, e.recalled = true, false
	e.trials, e.symbols, e.evenWait, e.recordsWait = trials{}, nil, 0, 0
	e.kept.came = [2]struct{ raw, size int }{}
}

// planRecalled is planBytes with the choices of the buffer before, as long as they make of the values about what they made of its own.
func (e *Encoder) planRecalled(s *byteValues, valid []byte) *plan {
	recalled := e.recalled
	p := e.planBytes(s, valid)
	if !e.caching {
		return p
	}
	raw, at := 1+len(s.data)+8*len(s.offsets), &e.kept.came[0]
	if e.atRest {
		at = &e.kept.came[1]
	}
	if recalled {
		expect := at.size * raw
		if off := p.size*at.raw - expect; e.recalled && max(off, -off) <= expect/choiceLoss {
			return p
		}
		e.weighAnew() // also what was passed over before the offsets looked otherwise
		p = e.planBytes(s, valid)
	}
	at.raw, at.size = at.raw+raw, at.size+p.size
	return p
}

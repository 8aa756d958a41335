package arrowhttp

import (
	"context"
	"errors"
	"sync/atomic"
)

// Stats count answers with rows since the server began.
type Stats struct {
	// Active are under way, Waiting requests in line for a slot.
	Active, Waiting int64
	// Whole were given to their end. Shed were broken off because the client took nothing for too long, Gone because it
	// left, Failed because the rows could not be read further. Refused got 503.
	Whole, Shed, Gone, Failed, Refused int64
}

type counters struct {
	active, whole, shed, gone, failed, refused atomic.Int64
}

func (c *counters) begin() { c.active.Add(1) }

// end counts an answer: err is what ended it early, client what its client failed with.
func (c *counters) end(err, client error) {
	c.active.Add(-1)
	switch {
	case err == nil:
		c.whole.Add(1)
	case shed(client):
		c.shed.Add(1)
	case client != nil || cancelled(err):
		c.gone.Add(1)
	default:
		c.failed.Add(1)
	}
}

// Stats as they are now.
func (s *Server) Stats() Stats {
	c := &s.stats
	return Stats{
		Active: c.active.Load(), Waiting: int64(s.slots.places.Waiting()), Whole: c.whole.Load(), Shed: c.shed.Load(),
		Gone: c.gone.Load(), Failed: c.failed.Load(), Refused: c.refused.Load(),
	}
}

func cancelled(err error) bool { return errors.Is(err, context.Canceled) }

package arrowhttp

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// slots bound how many answers are under way. Who finds none waits in line, the first to come first; a line that is longer
// than lineFactor times the slots, or takes longer than patience, is a 503 that says when to come back.
type slots struct {
	free     *semaphore.Weighted
	waiting  atomic.Int64
	longest  int64
	patience time.Duration
}

// lineFactor bounds the line: more than that many answers ahead of one would take longer than anybody waits.
const lineFactor = 8

func newSlots(n int, patience time.Duration) *slots {
	return &slots{free: semaphore.NewWeighted(int64(n)), longest: int64(n) * lineFactor, patience: patience}
}

// take waits for a slot; release gives it back.
func (s *slots) take(ctx context.Context) (release func(), err error) {
	release = func() { s.free.Release(1) }
	if s.free.TryAcquire(1) {
		return release, nil
	}
	if s.waiting.Add(1) > s.longest {
		s.waiting.Add(-1)
		return nil, s.busy()
	}
	defer s.waiting.Add(-1)
	waiting, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	if err := s.free.Acquire(waiting, 1); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, s.busy()
	}
	return release, nil
}

func (s *slots) busy() *problem {
	return &problem{
		Status: http.StatusServiceUnavailable, Code: "busy", retryAfter: max(time.Second, s.patience),
		Detail: fmt.Sprintf("as many answers are under way as this server gives at a time, and %d requests wait; come back later", s.waiting.Load()),
	}
}

package arrowhttp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/shardcat/shardcat/internal/turns"
)

// slots bound how many answers are under way. Who finds none waits in line, where clients take turns; a line that is longer
// than lineFactor times the slots, or takes longer than patience, is a 503 that says when to come back.
type slots struct {
	places   *turns.Places
	patience time.Duration
}

// lineFactor bounds the line: more than that many answers ahead of one would take longer than anybody waits.
const lineFactor = 8

func newSlots(n int, patience time.Duration) *slots {
	return &slots{turns.New(n, n*lineFactor, patience), patience}
}

// take waits for a slot; release gives it back.
func (s *slots) take(r *http.Request) (release func(), err error) {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	release, err = s.places.Take(r.Context(), client)
	if errors.Is(err, turns.ErrBusy) {
		return nil, s.busy()
	}
	return release, err
}

func (s *slots) busy() *problem {
	return &problem{
		Status: http.StatusServiceUnavailable, Code: "busy", retryAfter: max(time.Second, s.patience),
		Detail: fmt.Sprintf("as many answers are under way as this server gives at a time, and %d requests wait; come back later", s.places.Waiting()),
	}
}

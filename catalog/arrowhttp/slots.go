package arrowhttp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/shardcat/shardcat/internal/fairqueue"
)

// slots bound how many answers are under way. Who finds none waits in line, where clients take turns; a line that is longer
// than lineFactor times the slots, or takes longer than patience, is a 503 that reports when to come back.
type slots struct {
	places   *fairqueue.Places
	patience time.Duration
}

// lineFactor bounds the line: more than that many answers ahead of one would take longer than anybody waits.
const lineFactor = 8

func newSlots(n int, patience time.Duration) *slots {
	return &slots{fairqueue.New(n, n*lineFactor, patience), patience}
}

// take waits for a slot; release gives it back.
func (s *slots) take(r *http.Request) (release func(), err error) {
	release, err = s.places.Take(r.Context(), clientOf(r))
	if errors.Is(err, fairqueue.ErrBusy) {
		return nil, s.busy()
	}
	return release, err
}

// clientOf is the client of a request: its address, and behind a proxy or a balancer also the address that this one has seen, which is
// the last of X-Forwarded-For. Addresses before it are what the client itself wrote.
func clientOf(r *http.Request) string {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	if all := r.Header.Values("X-Forwarded-For"); len(all) > 0 {
		last := all[len(all)-1]
		client += " " + strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	return client
}

func (s *slots) busy() *problem {
	return &problem{
		Status: http.StatusServiceUnavailable, Code: "busy", retryAfter: max(time.Second, s.patience),
		Detail: fmt.Sprintf("server busy: all response slots are in use and %d requests are queued; retry after the delay of Retry-After", s.places.Waiting()),
	}
}

// Turn waits for a slot as an answer with rows does, for another handler that reads what tables contain; memory is what it may take. The error
// is ErrBusy, or that of the request's context.
func (s *Server) Turn(r *http.Request) (release func(), memory int64, err error) {
	release, err = s.slots.take(r)
	if p := (*problem)(nil); errors.As(err, &p) {
		s.stats.refused.Add(1)
		err = fmt.Errorf("%w: %s", ErrBusy, p.Detail)
	}
	return release, s.share(), err
}

// ErrBusy is a request for which no slot became free in time.
var ErrBusy = fairqueue.ErrBusy

// share is the memory of one answer.
func (s *Server) share() int64 { return s.o.MaxMemory / int64(s.o.Answers) }

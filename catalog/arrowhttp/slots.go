package arrowhttp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/internal/fairqueue"
)

// slots bound how many answers are under way. Who finds none waits in line, where clients take turns; a line that is longer
// than lineFactor times the slots, or takes longer than patience, is a 503 that reports when to come back.
type slots struct {
	places   *fairqueue.Places
	patience time.Duration
	proxies  []netip.Prefix
}

// lineFactor bounds the line: more than that many answers ahead of one would take longer than anybody waits.
const lineFactor = 8

func newSlots(o *Options) *slots {
	return &slots{fairqueue.New(o.Answers, o.Answers*lineFactor, o.Patience), o.Patience, o.TrustedProxies}
}

// take waits for a slot; release gives it back.
func (s *slots) take(r *http.Request) (release func(), err error) {
	release, err = s.places.Take(r.Context(), clientOf(r, s.proxies))
	if errors.Is(err, fairqueue.ErrBusy) {
		return nil, s.busy()
	}
	return release, err
}

// clientOf is the client of a request: its address, or the last one of X-Forwarded-For if a proxy that is trusted sent the request. Addresses
// before the last are what the client itself wrote.
func clientOf(r *http.Request, proxies []netip.Prefix) string {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	all := r.Header.Values("X-Forwarded-For")
	if len(all) == 0 || len(proxies) == 0 {
		return client
	}
	address, err := netip.ParseAddr(client)
	if err != nil || !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(address.Unmap().WithZone("")) }) {
		return client
	}
	last := all[len(all)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}

func (s *slots) busy() *problem {
	return &problem{
		Status: http.StatusServiceUnavailable, Code: "busy", retryAfter: max(time.Second, s.patience),
		Detail: fmt.Sprintf("server busy: all response slots are in use, queued: %d; retry after the delay of Retry-After", s.places.Waiting()),
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

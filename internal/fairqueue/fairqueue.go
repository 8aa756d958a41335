// Package fairqueue shares a number of places among clients: who finds none free waits, and clients that wait take turns, so
// that one with many requests does not keep another, with one, waiting behind all of them.
package fairqueue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrBusy is a place that did not become free in time, or a line that is too long already.
var ErrBusy = errors.New("busy")

// Places are a number of places. Safe for concurrent use.
type Places struct {
	patience time.Duration
	// longest is how many may wait, and perClient how many of one client.
	longest, perClient int

	mu      sync.Mutex
	free    int
	waiting int
	// clients are those who wait, the next to take a turn first.
	clients []*line
}

// line are the requests of one client that wait, the first to come first.
type line struct {
	client  string
	waiters []chan struct{}
}

// New makes n places. Up to longest requests wait for one, half of them of one client, at most for patience.
func New(n, longest int, patience time.Duration) *Places {
	return &Places{patience: patience, longest: longest, perClient: max(1, longest/2), free: n}
}

// Take waits for a place; release gives it back. The error is ErrBusy, or that of ctx.
func (p *Places) Take(ctx context.Context, client string) (release func(), err error) {
	ready := p.enter(client)
	if ready == nil {
		return nil, ErrBusy
	}
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	select {
	case <-ready:
		return p.release, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = ErrBusy
	}
	if !p.leave(client, ready) { // it was its turn at the same moment
		p.release()
	}
	return nil, err
}

// Waiting is how many requests wait.
func (p *Places) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// enter takes a place, or one in the line; nil if that is too long.
func (p *Places) enter(client string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	ready := make(chan struct{})
	if p.free > 0 {
		p.free--
		close(ready)
		return ready
	}
	l := p.lineOf(client)
	if p.waiting == p.longest || l != nil && len(l.waiters) == p.perClient {
		return nil
	}
	if l == nil {
		l = &line{client: client}
		p.clients = append(p.clients, l)
	}
	l.waiters = append(l.waiters, ready)
	p.waiting++
	return ready
}

func (p *Places) lineOf(client string) *line {
	for _, l := range p.clients {
		if l.client == client {
			return l
		}
	}
	return nil
}

// leave takes a request out of the line; false means that it has a place.
func (p *Places) leave(client string, ready chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lineOf(client)
	if l == nil {
		return false
	}
	at := slices.Index(l.waiters, ready)
	if at < 0 {
		return false
	}
	l.waiters = slices.Delete(l.waiters, at, at+1)
	p.waiting--
	if len(l.waiters) == 0 {
		p.clients = slices.DeleteFunc(p.clients, func(other *line) bool { return other == l })
	}
	return true
}

// release gives a place to the client whose turn it is, who is then the last.
func (p *Places) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clients) == 0 {
		p.free++
		return
	}
	next := p.clients[0]
	p.clients = p.clients[1:]
	close(next.waiters[0])
	p.waiting--
	if next.waiters = next.waiters[1:]; len(next.waiters) > 0 {
		p.clients = append(p.clients, next)
	}
}

package blobio

import (
	"context"
	"sync"
)

// Pins remembers which object each URL named when it was first read, so that later reads get that one or
// ErrChanged, never a mix of two. A reader of several objects keeps one Pins and reads with its context. It
// may be used concurrently.
type Pins struct {
	mu    sync.Mutex
	etags map[string]string
}

// NewPins makes an empty Pins.
func NewPins() *Pins { return &Pins{etags: map[string]string{}} }

type pinsKey struct{}

// With makes the reads with the returned context go through p.
func (p *Pins) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, pinsKey{}, p)
}

func pinsOf(ctx context.Context) *Pins {
	p, _ := ctx.Value(pinsKey{}).(*Pins)
	return p
}

// before adds the condition of a read of url.
func (p *Pins) before(ctx context.Context, url string) context.Context {
	if p == nil {
		return ctx
	}
	p.mu.Lock()
	etag := p.etags[url]
	p.mu.Unlock()
	if etag == "" {
		return ctx
	}
	return WithPin(ctx, etag)
}

// after remembers the object of a first read, and compares those of later ones: two first reads may overlap,
// and not every store knows conditions.
func (p *Pins) after(url string, info Info) error {
	if p == nil || info.ETag == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.etags[url] {
	case "":
		p.etags[url] = info.ETag
	case info.ETag:
	default:
		return NewError("read", url, ErrChanged, nil)
	}
	return nil
}

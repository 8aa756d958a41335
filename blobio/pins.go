package blobio

import (
	"context"
	"sync"
)

// Pinned gives a view of the Client in which each URL keeps naming the object it named when it was first read
// through the view: later reads get that one or ErrChanged, never a mix of two. All else is shared. Whoever
// reads several ranges of an object, or several objects that belong together, opens a view for them.
func (s *Client) Pinned() *Client {
	return &Client{core: s.core, pins: &pins{etags: map[string]string{}}}
}

// pins are the ETags of the objects that a view has read, by URL. A nil pins pins nothing.
type pins struct {
	mu    sync.Mutex
	etags map[string]string
}

// before adds the condition of a read of url.
func (p *pins) before(ctx context.Context, url string) context.Context {
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
func (p *pins) after(url string, info Info) error {
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

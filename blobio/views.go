package blobio

import (
	"sync"

	"github.com/shardcat/shardcat/internal/etags"
)

// Pinned gives a view of the Client in which each URL keeps naming the object it named when it was first read
// through the view: later reads get that one or ErrChanged, never a mix of two. All else is shared. Whoever
// reads several ranges of an object, or several objects that belong together, opens a view for them.
func (c *Client) Pinned() *Client {
	view := &struct {
		Client
		of pins
	}{Client: *c}
	view.pins = &view.of
	return &view.Client
}

// IfMatch gives a view of the Client whose reads are answered by objects that have this ETag (Info.ETag), or end
// in ErrChanged.
func (c *Client) IfMatch(etag string) *Client {
	view := *c
	view.ifMatch = etag
	return &view
}

// Uncached gives a view of the Client whose reads call the store whatever a cache holds, as a verification must.
func (c *Client) Uncached() *Client {
	view := *c
	view.uncached = true
	return &view
}

// Meter counts the requests through some views of a Client. The zero value is ready; safe for concurrent use.
type Meter struct{ tally tally }

// Take gives the GETs and their bytes since it was called last.
func (m *Meter) Take() (gets, bytes int64) {
	return m.tally.gets.Swap(0), m.tally.getBytes.Swap(0)
}

// Measured gives a view of the Client whose requests, and those of its branches, a Meter counts as well.
func (c *Client) Measured(m *Meter) *Client {
	view := *c
	view.also = &m.tally
	return &view
}

// readOptions are the conditions of a read of url through this view.
func (c *Client) readOptions(url string) ReadOptions {
	o := ReadOptions{IfMatch: c.ifMatch, Trace: c.trace()}
	if o.IfMatch == "" {
		o.IfMatch = c.pins.etag(url)
	}
	return o
}

// pins are the ETags of the objects that a view has read, by URL. A nil pins pins nothing.
type pins struct {
	mu    sync.Mutex
	etags map[string]string
}

// etag is the condition of a read of url, empty if there is none yet.
func (p *pins) etag(url string) string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.etags[url]
}

// after remembers the object of a first read, and compares those of later ones: two first reads may overlap,
// and not every store knows conditions.
func (p *pins) after(url string, info Info) error {
	if p == nil || info.ETag == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch first := p.etags[url]; {
	case first == "":
		if p.etags == nil {
			p.etags = make(map[string]string)
		}
		p.etags[url] = info.ETag
	case !etags.Same(first, info.ETag):
		return NewError("read", url, ErrChanged, nil)
	}
	return nil
}

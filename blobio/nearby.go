package blobio

import (
	"context"
	"io"
	"sync"
)

// nearby is a Bucket that can report whether its requests cost next to nothing beside the bytes that they give, as those of files do:
// who reads much then requests little at a time, into memory that stays in the processor's caches.
type nearby interface {
	Nearby() bool
}

// Nearby reports whether requests to the bucket of a URL cost next to nothing. It is false of one that can't be opened.
func (c *Client) Nearby(ctx context.Context, url string) bool {
	m, _, err := c.find(ctx, url)
	if err != nil || !m.nearby {
		return false
	}
	cache, err := c.cacheFor(ctx, url)
	return err == nil && cache == nil // a cache keeps what is requested as it is requested
}

// InTurn gives a view of the Client that makes one request after the other where others make several at the same time. It is for
// those who have one processor to use, and a bucket that is nearby.
func (c *Client) InTurn() *Client {
	view := *c
	view.inTurn = true
	return &view
}

// KeepOpen gives a view of the Client in which drivers keep open what they read, so that later reads need not open it again, until
// done is called, once. Who reads a file through it reads the file that was there at first, also when another one takes its place.
func (c *Client) KeepOpen() (view *Client, done func()) {
	view = c
	if c.open == nil {
		view = c.OpenTogether()
	}
	view.open.hold()
	return view, view.open.drop
}

// OpenTogether gives a view of the Client in which nothing is kept open yet, but all that KeepOpen keeps open from then on, of it and of
// views of it, is kept open for all of them, until done was called as often as KeepOpen. It is for those who read the same objects for several
// purposes, and need not know of one another.
func (c *Client) OpenTogether() *Client {
	view := &struct {
		Client
		files OpenFiles
	}{Client: *c}
	view.files.idle = true
	view.open = &view.files
	return &view.Client
}

// OpenFiles are what drivers keep open from one read to the next. Safe for concurrent use; a nil one keeps nothing.
type OpenFiles struct {
	mu      sync.Mutex
	open    map[openFile]io.Closer
	idle    bool // nothing is kept: nobody requests it
	holders int  // callers, reads under way among them
}

// hold makes reads keep open what they open, until drop was called as often.
func (o *OpenFiles) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holders++
	o.idle = false
}

// join is hold, if somebody else holds: then a read has what is kept to the end of it.
func (o *OpenFiles) join() bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.idle {
		return false
	}
	o.holders++
	return true
}

func (o *OpenFiles) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holders--; o.holders == 0 {
		o.close()
	}
}

// openFile is an object of a driver's bucket.
type openFile struct {
	of  Bucket
	key string
}

// Get gives what Keep was given for an object of a bucket, nil if there is nothing.
func (o *OpenFiles) Get(of Bucket, key string) io.Closer {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open[openFile{of, key}]
}

// Keep takes something that is to be closed at the end. It reports with false that it doesn't: then the caller closes it.
func (o *OpenFiles) Keep(of Bucket, key string, c io.Closer) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := openFile{of, key}
	if o.idle || o.open[name] != nil || len(o.open) >= mostOpen {
		return false
	}
	if o.open == nil {
		o.open = make(map[openFile]io.Closer)
	}
	o.open[name] = c
	return true
}

// mostOpen is how many files are kept open: a shard has one, or one for each stripe, and systems count those of all processes.
const mostOpen = 16

// Close closes what is kept, and nothing is kept from then on. Nobody may be reading any more.
func (o *OpenFiles) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close()
}

func (o *OpenFiles) close() {
	o.idle = true
	for _, c := range o.open {
		c.Close() // nothing was written to it
	}
	clear(o.open)
}

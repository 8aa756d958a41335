package blobio

import (
	"context"
	"errors"
)

// Lender is a Bucket that has its objects in memory, and never changes them there.
type Lender interface {
	// Lend is ReadRange of n bytes, 0 or more, that are lent instead of copied: whoever gets them changes nothing. The slice may be made longer,
	// up to its capacity, to the end of the object.
	Lend(ctx context.Context, key string, off, n int64, opts ReadOptions) ([]byte, Info, error)
}

// LendRange is ReadRange of bytes that lie in the memory of their store, and are lent for good: nobody may change them. It counts as ReadRange does.
// lent means that the store has them so; where it does not, no request was made to it.
func (c *Client) LendRange(ctx context.Context, url string, r Range) (b []byte, info Info, lent bool, err error) {
	m, key, err := c.lender(ctx, url)
	if m == nil || err != nil {
		return nil, Info{}, false, err
	}
	b, info, err = c.lend(ctx, m, url, key, r)
	return b, info, true, err
}

// LendRanges is ReadRanges of bytes that are lent, see LendRange.
func (c *Client) LendRanges(ctx context.Context, url string, ranges []Range) (parts [][]byte, lent bool, err error) {
	m, key, err := c.lender(ctx, url)
	if m == nil || err != nil {
		return nil, false, err
	}
	if err := wellFormed(url, ranges); err != nil {
		return nil, true, err
	}
	spans := coalesce(ranges, c.opts.Gap, c.opts.Request)
	err = c.Each(ctx, len(spans), func(ctx context.Context, c *Client, i int) (err error) {
		spans[i].data, _, err = c.lend(ctx, m, url, key, spans[i].Range)
		return err
	})
	if err != nil {
		return nil, true, err
	}
	return cut(ranges, spans), true, nil
}

// lender finds the mount of a URL whose bytes are lent, nil if they aren't: a cache keeps what is read by copies.
func (c *Client) lender(ctx context.Context, url string) (*mount, string, error) {
	m, key, err := c.find(ctx, url)
	if err != nil || m.lender == nil {
		return nil, "", err
	}
	if cache, err := c.cacheFor(ctx, url); cache != nil || err != nil {
		return nil, "", err
	}
	return m, key, nil
}

func (c *Client) lend(ctx context.Context, m *mount, url, key string, r Range) ([]byte, Info, error) {
	if r.Start < 0 || r.End < r.Start {
		return nil, Info{}, malformedRange(url)
	}
	b, info, err := m.lender.Lend(ctx, key, r.Start, r.Len(), c.readOptions(url))
	if err != nil {
		return nil, info, wrap("read", url, err)
	}
	info.URL = url
	return b, info, c.pins.after(url, info)
}

// Lend implements Lender for a driver that lends.
func (b *counted) Lend(ctx context.Context, key string, off, n int64, opts ReadOptions) ([]byte, Info, error) {
	l, ok := b.bucket.(Lender)
	if !ok {
		return nil, Info{}, errors.ErrUnsupported
	}
	call := b.begin(&opts.Trace)
	data, info, err := l.Lend(ctx, key, off, n, opts)
	call.end(oneGet)
	opts.Trace.tallies().got(int64(len(data)))
	return data, info, err
}

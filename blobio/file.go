package blobio

import (
	"context"
	"errors"
	"os"
)

// FileHolder is a Bucket whose objects are files of this machine.
type FileHolder interface {
	// File opens the file of an object for reading, by the conditions of a read. The caller closes it.
	File(ctx context.Context, key string, opts ReadOptions) (*os.File, Info, error)
}

// File opens an object as the file that it is, for another process that reads it by itself. It counts as one GET, of which nobody knows
// the bytes. The error is errors.ErrUnsupported where the store has no files. The caller closes it.
func (c *Client) File(ctx context.Context, url string) (*os.File, Info, error) {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return nil, Info{}, err
	}
	b, ok := m.bucket.(*counted) // a store far away has other layers on top
	if !ok {
		return nil, Info{}, errors.ErrUnsupported
	}
	f, info, err := b.file(ctx, key, c.readOptions(url))
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, info, err
	}
	if err != nil {
		return nil, info, wrap("open", url, err)
	}
	info.URL = url
	if err := c.pins.after(url, info); err != nil {
		return nil, info, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// file is File of the driver, if that has files.
func (b *counted) file(ctx context.Context, key string, opts ReadOptions) (*os.File, Info, error) {
	h, ok := b.bucket.(FileHolder)
	if !ok {
		return nil, Info{}, errors.ErrUnsupported
	}
	call := b.begin(&opts.Trace)
	f, info, err := h.File(ctx, key, opts)
	call.end(oneGet)
	return f, info, err
}

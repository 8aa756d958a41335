package blobio

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/urlresolve"
)

// Create starts a new object: see Bucket.Create. The key of the URL must consist of the letters, digits and
// "/_.=-" of ASCII, because drivers escape others each in its own way; on file and mem any key will do.
//
// Close of the writer deals with lost answers as Put does: if it can't tell whether the object was made, it reads
// the object back and compares it with what was written. It can't try again what did not happen.
func (c *Client) Create(ctx context.Context, url string, opts CreateOptions) (Writer, error) {
	w, err := c.create(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	return &verifiedWriter{Writer: w, c: c, ctx: ctx, url: url, hash: xxh3.New()}, nil
}

// create is Create without verifying.
func (c *Client) create(ctx context.Context, url string, opts CreateOptions) (Writer, error) {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return nil, err
	}
	if !m.local && !PortableKey(key) {
		return nil, &urlresolve.Error{Ref: urlresolve.Redact(url), Reason: "a key with characters other than A-Z a-z 0-9 / _ . = -"}
	}
	opts.Trace = c.trace()
	w, err := m.bucket.Create(ctx, key, opts)
	if err != nil {
		return nil, wrap("create", url, err)
	}
	return w, nil
}

// verifiedWriter is a writer that knows what it wrote by size and XXH3-128: enough to recognise one's own attempt
// under a name nobody else uses, though not to stand up to a forger.
type verifiedWriter struct {
	Writer
	c    *Client
	ctx  context.Context
	url  string
	hash *xxh3.Hasher
	size int64
}

func (w *verifiedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	_, _ = w.hash.Write(p[:n])
	w.size += int64(n)
	return n, err
}

func (w *verifiedWriter) Close() error {
	err := w.Writer.Close()
	if err == nil || !outcomeUnknown(err) || w.ctx.Err() != nil {
		return wrap("create", w.url, err)
	}
	same, readErr := w.isThere()
	switch {
	case readErr != nil:
		return wrap("create", w.url, err)
	case same:
		return nil
	}
	return NewError("create", w.url, ErrExists, nil)
}

// isThere compares the object with what was written.
func (w *verifiedWriter) isThere() (bool, error) {
	r, info, err := w.c.Open(w.ctx, w.url, 0)
	if err != nil {
		return false, err
	}
	defer r.Close()
	if info.Size != w.size {
		return false, nil
	}
	there := xxh3.New()
	if _, err := io.Copy(there, r); err != nil {
		return false, err
	}
	return there.Sum128() == w.hash.Sum128(), nil
}

// PortableKey reports whether a key is spelled the same on every store.
func PortableKey(key string) bool {
	for i := 0; i < len(key); i++ {
		c := key[i]
		alnum := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !alnum && c != '/' && c != '_' && c != '.' && c != '=' && c != '-' {
			return false
		}
	}
	return key != ""
}

// Put creates an object with this content. It is nil if the object is there with this content, also if another
// attempt wrote it: a lost answer makes a store's own retry say "already exists" of a write that succeeded. So
// after ErrExists and after an unknown outcome the object is read back and compared:
//
//	same content    nil
//	other content   ErrExists
//	no object       the write did not happen: it is tried again, if the fault may pass
//	no answer       the error of the write: the outcome is unknown
func (c *Client) Put(ctx context.Context, url string, data []byte) error {
	for t := c.opts.retry.begin(); ; {
		err := c.put(ctx, url, data)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if outcomeUnknown(err) {
			same, readErr := c.holds(ctx, url, data)
			switch {
			case readErr == nil && same:
				return nil
			case readErr == nil:
				return NewError("create", url, ErrExists, nil)
			case Class(readErr) != ErrNotFound:
				return err
			}
		}
		if err := t.again(ctx, err); err != nil {
			return err
		}
	}
}

func (c *Client) put(ctx context.Context, url string, data []byte) error {
	w, err := c.create(ctx, url, CreateOptions{SizeHint: int64(len(data))})
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		w.Abort()
		return wrap("create", url, err)
	}
	return wrap("create", url, w.Close())
}

// outcomeUnknown reports whether the write may have been done although it failed.
func outcomeUnknown(err error) bool {
	switch Class(err) {
	case ErrExists, ErrConflict, ErrTransient, ErrUnknown:
		return !errors.Is(err, urlresolve.ErrRefused) // refused before anything was asked
	}
	return false
}

// holds compares an object with what was meant to be written.
func (c *Client) holds(ctx context.Context, url string, data []byte) (bool, error) {
	there, info, err := c.Uncached().ReadSuffix(ctx, url, int64(len(data))+1)
	if err != nil {
		return false, err
	}
	return info.Size == int64(len(data)) && bytes.Equal(there, data), nil
}

// Delete removes an object: see Bucket.Delete. A non-empty etag deletes only the object that has it.
func (c *Client) Delete(ctx context.Context, url, etag string) error {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return err
	}
	return wrap("delete", url, m.bucket.Delete(ctx, key, DeleteOptions{IfMatch: etag, Trace: c.trace()}))
}

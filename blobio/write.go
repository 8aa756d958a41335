package blobio

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/urlresolve"
)

// heldMost is how many bytes of an object its writer holds to send them again: an upload in parts begins there, of which
// the driver repeats each request by itself.
const heldMost = 8 << 20

// Create starts a new object: see Bucket.Create. The key of the URL must consist of the letters, digits and
// "/_.=-" of ASCII, because drivers escape others each in its own way; on file and mem any key will do.
//
// Close of the writer deals with faults and lost answers as Put does. Of an object of more than 8 MiB only the requests
// of its parts are tried again; if it is unknown whether it was made, it is read back and compared with what was
// written.
func (c *Client) Create(ctx context.Context, url string, opts CreateOptions) (Writer, error) {
	m, _, err := c.writable(ctx, url)
	if err != nil {
		return nil, err
	}
	w := &verifiedWriter{c: c, ctx: ctx, url: url, opts: opts, hash: xxh3.New()}
	if m.local || opts.SizeHint > heldMost {
		return w, w.stream()
	}
	return w, nil
}

// create starts an object without verifying.
func (c *Client) create(ctx context.Context, url string, opts CreateOptions) (Writer, error) {
	m, key, err := c.writable(ctx, url)
	if err != nil {
		return nil, err
	}
	opts.Trace, opts.Retry, opts.AllowUnconditional = c.trace(), c.opts.Retry, c.opts.UnconditionalWrites
	w, err := m.bucket.Create(ctx, key, opts)
	if err != nil {
		return nil, wrap("create", url, err)
	}
	return w, nil
}

// writable finds where an object may be made.
func (c *Client) writable(ctx context.Context, url string) (*mount, string, error) {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return nil, "", err
	}
	if !m.local && !PortableKey(key) {
		return nil, "", &urlresolve.Error{Ref: urlresolve.Redact(url), Reason: "a key with characters other than A-Z a-z 0-9 / _ . = -"}
	}
	return m, key, nil
}

// verifiedWriter holds a small object until it is closed. Of a large one it knows size and XXH3-128: enough to recognise
// one's own attempt under a name nobody else uses, though not to stand up to a forger.
type verifiedWriter struct {
	c     *Client
	ctx   context.Context
	url   string
	opts  CreateOptions
	held  []byte
	w     Writer // nil while all is held
	ended bool
	hash  *xxh3.Hasher
	size  int64
	// copied: the store has copied bytes that were not seen here.
	copied bool
}

// CopyAfter implements RangeCopier. What is to be read back is written by the Client itself.
func (w *verifiedWriter) CopyAfter() int64 {
	switch {
	case w.ended || w.c.readsBack.Load():
		return -1
	case w.w == nil:
		if w.stream() != nil {
			return -1
		}
	}
	return copyAfter(w.w)
}

// CopyRange implements RangeCopier. An object of which a range was copied can't be recognised by its bytes: if its outcome is unknown, so it stays.
func (w *verifiedWriter) CopyRange(url string, off, size int64, etag string) error {
	if w.CopyAfter() != 0 {
		return errors.ErrUnsupported
	}
	from, key, err := w.c.find(w.ctx, url)
	if err != nil {
		return err
	}
	if to, _, err := w.c.find(w.ctx, w.url); err != nil || to != from {
		return errors.ErrUnsupported
	}
	err = copyRange(w.w, key, off, size, etag)
	if errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	w.copied = true
	w.size += size
	return wrap("create", w.url, err)
}

func (w *verifiedWriter) Write(p []byte) (int, error) {
	switch {
	case w.ended:
		return 0, NewError("create", w.url, ErrClosed, nil)
	case w.ctx.Err() != nil:
		return 0, NewError("create", w.url, ErrCanceled, context.Cause(w.ctx))
	case w.w == nil && len(w.held)+len(p) <= heldMost:
		w.held = append(w.held, p...)
		return len(p), nil
	case w.w == nil:
		if err := w.stream(); err != nil {
			return 0, err
		}
	}
	return w.send(p)
}

// stream starts the object in the store, with what was held.
func (w *verifiedWriter) stream() (err error) {
	if w.w, err = w.c.create(w.ctx, w.url, w.opts); err != nil {
		w.ended = true
		return err
	}
	if len(w.held) > 0 {
		_, err = w.send(w.held)
		w.held = nil
	}
	return err
}

func (w *verifiedWriter) send(p []byte) (int, error) {
	n, err := w.w.Write(p)
	_, _ = w.hash.Write(p[:n])
	w.size += int64(n)
	return n, wrap("create", w.url, err)
}

// Abort implements Writer.
func (w *verifiedWriter) Abort() {
	w.ended, w.held = true, nil
	if w.w != nil {
		w.w.Abort()
	}
}

func (w *verifiedWriter) Close() error {
	if w.ended {
		return NewError("create", w.url, ErrClosed, nil)
	}
	w.ended = true
	if w.w == nil {
		data := w.held
		w.held = nil
		return w.c.Put(w.ctx, w.url, data)
	}
	err := w.w.Close()
	if err == nil && !w.c.readsBack.Load() {
		return nil
	}
	if w.ctx.Err() != nil || w.copied || err != nil && !outcomeUnknown(err) {
		return wrap("create", w.url, err)
	}
	same, readErr := w.isThere()
	switch {
	case readErr != nil && err == nil: // written, and a refusal to read it proves nothing else
		return NewError("create", w.url, ErrUnknown, readErr)
	case readErr != nil:
		return wrap("create", w.url, errors.Join(err, readErr))
	case same:
		return nil
	case err == nil:
		return w.c.damaged(w.ctx, w.url)
	}
	return NewError("create", w.url, ErrExists, nil)
}

// isThere compares the object with what was written.
func (w *verifiedWriter) isThere() (bool, error) {
	r, info, err := w.c.Uncached().Open(w.ctx, w.url, 0)
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
	_, err := c.putUntil(ctx, url, data, c.readsBack.Load())
	return err
}

// PutProved is Put that reports whether the store has proved that it has the content, by the receipt of the request or because it was read
// back: to read it back once more would show nothing else.
func (c *Client) PutProved(ctx context.Context, url string, data []byte) (proved bool, err error) {
	return c.putUntil(ctx, url, data, c.readsBack.Load())
}

// TryCreate creates an object with this content once, to see what the store makes of the condition: ErrExists is not
// settled by reading back as Put does. Faults that pass are waited out; an answer that was lost is settled by the content.
func (c *Client) TryCreate(ctx context.Context, url string, data []byte, opts CreateOptions) error {
	unsure := false
	return c.opts.Retry.Do(ctx, func() error {
		err := c.put(ctx, url, data, opts)
		switch Class(err) {
		case ErrTransient:
			unsure = true
		case ErrExists:
			if !unsure {
				break
			}
			if same, readErr := c.holds(ctx, url, data); readErr == nil && same {
				return nil
			}
		}
		return err
	})
}

// PutReadBack is Put that also compares what the store took without complaint, by the receipt or by reading it back: for the few small objects
// that others hang on. What is damaged is deleted and written again; if that does not help the error is ErrDamaged.
func (c *Client) PutReadBack(ctx context.Context, url string, data []byte) error {
	_, err := c.putUntil(ctx, url, data, true)
	return err
}

// PutReadBackLater is PutReadBack that leaves reading back to the caller, who does it before anything depends on the object, by any view
// of the Client: beside other requests, where PutReadBack waits for each.
func (c *Client) PutReadBackLater(ctx context.Context, url string, data []byte) (readBack func(ctx context.Context, c *Client) error, err error) {
	proved, err := c.putUntil(ctx, url, data, false)
	if err != nil {
		return nil, err
	}
	if proved {
		return func(context.Context, *Client) error { return nil }, nil
	}
	return func(ctx context.Context, c *Client) error {
		err := c.compare(ctx, url, data)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if again := c.PutReadBack(ctx, url, data); Class(again) != ErrExists {
			return again
		}
		return err // the object of the first write, which could not be read
	}, nil
}

// ReadBackWrites makes all later writes of the Client be read back, for a store that does not compare what it takes with
// checksums: every byte is then fetched once more.
func (c *Client) ReadBackWrites() { c.readsBack.Store(true) }

// putUntil reports whether the content is proved to be there. The receipt of a store that is known not to compare uploads with their checksums
// counts for nothing.
func (c *Client) putUntil(ctx context.Context, url string, data []byte, readBack bool) (proved bool, err error) {
	doubt := false // an attempt was carried out, or may still be
	for t := c.opts.Retry.begin(); ; {
		receipt := new(Receipt)
		err := c.put(ctx, url, data, CreateOptions{Receipt: receipt})
		proved := err == nil && !c.readsBack.Load() && receipt.proves(data)
		if err == nil && readBack && !proved {
			err = c.compare(ctx, url, data)
			proved = err == nil
			doubt = doubt || err != nil && Class(err) != ErrDamaged // damaged ones are deleted
		}
		if err == nil || ctx.Err() != nil {
			return proved, err
		}
		if outcomeUnknown(err) {
			same, readErr := c.holds(ctx, url, data)
			switch {
			case readErr == nil && same:
				return true, nil
			case readErr == nil:
				return false, NewError("create", url, ErrExists, nil)
			case Class(readErr) != ErrNotFound:
				return false, err
			}
			doubt = true
		}
		if err := t.again(ctx, err); err != nil {
			if doubt && !outcomeUnknown(err) && Class(err) != ErrDamaged { // a refusal now proves nothing about the attempt before
				return false, NewError("create", url, ErrUnknown, err)
			}
			return false, err
		}
	}
}

// compare reads back an object that was just made.
func (c *Client) compare(ctx context.Context, url string, data []byte) error {
	same, err := c.holds(ctx, url, data)
	if err != nil || same {
		return err
	}
	return c.damaged(ctx, url)
}

// damaged deletes an object that this Client made and the store holds with other bytes.
func (c *Client) damaged(ctx context.Context, url string) error {
	return NewError("create", url, ErrDamaged, c.Delete(ctx, url, ""))
}

func (c *Client) put(ctx context.Context, url string, data []byte, opts CreateOptions) error {
	opts.SizeHint = int64(len(data))
	w, err := c.create(ctx, url, opts)
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
		return !errors.Is(err, urlresolve.ErrRefused) // refused before any request
	}
	return false
}

// holds compares an object with what was meant to be written.
func (c *Client) holds(ctx context.Context, url string, data []byte) (bool, error) {
	// From the start on, for a store without suffixes would need a request of its own for the size.
	r, info, err := c.Uncached().Open(ctx, url, 0)
	if err != nil {
		return false, err
	}
	defer r.Close()
	if info.Size != int64(len(data)) {
		return false, nil
	}
	there := make([]byte, len(data))
	if _, err := io.ReadFull(r, there); err != nil {
		return false, wrap("open", url, err)
	}
	return bytes.Equal(there, data), nil
}

// Delete removes an object: see Bucket.Delete. A non-empty etag deletes only the object that has it.
func (c *Client) Delete(ctx context.Context, url, etag string) error {
	m, key, err := c.find(ctx, url)
	if err != nil {
		return err
	}
	return wrap("delete", url, m.bucket.Delete(ctx, key, DeleteOptions{IfMatch: etag, Trace: c.trace()}))
}

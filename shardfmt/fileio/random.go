package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shardcat/shardcat/blobio"
)

// random reads any part of an input: formats with a footer need it.
type random interface {
	io.ReaderAt
	io.ReadSeeker
	io.Closer
	// Size in bytes.
	Size() int64
}

// lender is what may be lent to another process, which reads it by itself.
type lender interface {
	// lend gives the file, which the caller closes. The error is errors.ErrUnsupported where there is none.
	lend() (*os.File, error)
	// count is called with the number of bytes read.
	count(n int)
}

// openRandom opens an input for random access: an object by ranged reads, what is packed or comes from standard
// input from a temporary file.
func (in input) openRandom(ctx context.Context, sp *blobio.Client) (random, error) {
	if in.stream == nil {
		var magic [4]byte
		info, err := sp.Stat(ctx, in.url)
		if err != nil {
			return nil, err
		}
		head := magic[:min(info.Size, 4)]
		if _, err := sp.ReadRange(ctx, in.url, 0, head); err != nil {
			return nil, err
		}
		if !packed(head) {
			o := &object{ctx: ctx, sp: sp, url: in.url, meter: in.meter}
			o.SectionReader = io.NewSectionReader(ranges{o}, 0, info.Size)
			return o, nil
		}
	}
	r, err := in.open(ctx, sp)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return spool(r)
}

// object is an object of a store.
type object struct {
	*io.SectionReader
	ctx context.Context
	sp  *blobio.Client
	url string
	// meter counts what is read.
	meter *meter
}

// ranges reads parts of an object; the SectionReader above keeps them inside it.
type ranges struct{ *object }

func (r ranges) ReadAt(p []byte, off int64) (int, error) {
	if _, err := r.sp.ReadRange(r.ctx, r.url, off, p); err != nil {
		return 0, err
	}
	r.meter.add(len(p))
	return len(p), nil
}

// Close implements io.Closer.
func (o *object) Close() error { return nil }

// lend implements lender: a file that isn't the one that was looked at before is not lent.
func (o *object) lend() (*os.File, error) {
	f, info, err := o.sp.File(o.ctx, o.url)
	if err == nil && info.Size != o.Size() {
		return nil, errors.Join(blobio.ErrChanged, f.Close())
	}
	return f, err
}

func (o *object) count(n int) { o.meter.add(n) }

// spooled is a temporary file that is gone when closed.
type spooled struct {
	*os.File
	size int64
}

// Size of the file in bytes.
func (f spooled) Size() int64 { return f.size }

func (f spooled) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

// lend implements lender.
func (f spooled) lend() (*os.File, error) { return os.Open(f.Name()) }

// count implements lender: what is packed was counted when it was unpacked.
func (f spooled) count(int) {}

// spool copies a stream into a temporary file.
func spool(r io.Reader) (random, error) {
	f, err := os.CreateTemp("", "shardcat-*")
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(f, r)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpacking: %w", err), spooled{f, size}.Close())
	}
	return spooled{f, size}, nil
}

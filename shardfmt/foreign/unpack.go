package foreign

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

var (
	gzipMagic = []byte{0x1F, 0x8B}
	zstdMagic = []byte{0x28, 0xB5, 0x2F, 0xFD}
)

// maxWindow bounds what a zstd stream may make a reader hold, in bytes.
const maxWindow = 128 << 20

// unpack reads gzip and zstd, told by their first bytes, and anything else as it is.
func unpack(r io.ReadCloser) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 256<<10)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		r.Close()
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(b)
		if err != nil {
			r.Close()
			return nil, err
		}
		return &unpacked{ReadCloser: z, below: r}, nil
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			r.Close()
			return nil, err
		}
		return &unpacked{ReadCloser: z.IOReadCloser(), below: r}, nil
	}
	return &unpacked{ReadCloser: io.NopCloser(b), below: r, plain: true}, nil
}

// packed tells by its first bytes whether an input is compressed.
func packed(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic)
}

// unpacked closes a decoder and what it reads from.
type unpacked struct {
	io.ReadCloser
	below io.Closer
	// plain: nothing was packed.
	plain bool
}

func (u *unpacked) Close() error {
	u.ReadCloser.Close()
	return u.below.Close()
}

package fileio

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
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
		z.Multistream(false)
		return &unpacked{ReadCloser: &gzipMembers{from: b, z: z}, below: r}, nil
	case isZstd(magic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			r.Close()
			return nil, err
		}
		return &unpacked{ReadCloser: z.IOReadCloser(), below: r}, nil
	}
	return &unpacked{ReadCloser: io.NopCloser(b), below: r, plain: true}, nil
}

// packed reports by its first bytes whether an input is compressed.
func packed(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || isZstd(head)
}

// isZstd reports whether zstd data begins with these bytes: with a frame, or with a skippable one, which pzstd and others write first.
func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, zstdMagic) || len(head) >= 4 && head[0]&0xF0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2A, 0x4D, 0x18})
}

// gzipMembers reads members of gzip one after the other. Zeros may stand behind each, as tapes and block devices pad files.
type gzipMembers struct {
	from *bufio.Reader
	z    *gzip.Reader
	// between: a member has ended.
	between bool
	// err is what reading ended with.
	err error
}

// Read implements io.Reader.
func (g *gzipMembers) Read(p []byte) (n int, err error) {
	for n == 0 && g.err == nil {
		if g.between {
			g.err = g.member()
			continue
		}
		if n, g.err = g.z.Read(p); g.err == io.EOF {
			g.between, g.err = true, nil
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, g.err
}

// member begins the next member, or gives io.EOF where only zeros are left.
func (g *gzipMembers) member() error {
	padded := false
	for {
		head, err := g.from.Peek(1)
		if err != nil {
			return err
		}
		if head[0] != 0 {
			break
		}
		g.from.Discard(1)
		padded = true
	}
	err := g.z.Reset(g.from)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if padded && errors.Is(err, gzip.ErrHeader) {
		err = errors.New("gzip: invalid data after the padding")
	}
	if err != nil {
		return err
	}
	g.z.Multistream(false)
	g.between = false
	return nil
}

// Close implements io.Closer.
func (g *gzipMembers) Close() error { return g.z.Close() }

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

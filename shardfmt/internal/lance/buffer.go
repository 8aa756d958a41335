package lance

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// requests gathers the parts of buffers that are to be fetched together. It stays the same for all steps of a window: what
// several pages want of one buffer, now or a step later, is one part that has it all.
type requests struct {
	wanted  map[*buffer]part
	missing []*buffer
}

// part is bytes [low, end) of a buffer.
type part struct {
	low, end int64
	missing  bool // and therefore on the list
}

// want requests a part, unless it is available.
func (r *requests) want(b *buffer, low, end int64) {
	p, known := r.wanted[b]
	if known {
		low, end = min(low, p.low), max(end, p.end)
	}
	p.low, p.end = low, end
	if !p.missing && !b.has(low, end) {
		p.missing = true
		r.missing = append(r.missing, b)
	}
	if r.wanted == nil {
		r.wanted = map[*buffer]part{}
	}
	r.wanted[b] = p
}

// fetch fills the buffers by one call of the store, and reports whether there was anything to fetch.
func (r *requests) fetch(ctx context.Context, src source) (bool, error) {
	if len(r.missing) == 0 {
		return false, nil
	}
	ranges := make([]blobio.Range, len(r.missing))
	for i, b := range r.missing {
		p := r.wanted[b]
		ranges[i] = blobio.Range{Start: b.at + p.low, End: b.at + p.end}
		p.missing = false
		r.wanted[b] = p
	}
	contents, err := src.ranges(ctx, ranges)
	if err != nil {
		return false, err
	}
	for i, b := range r.missing {
		b.from, b.data = r.wanted[b].low, contents[i]
	}
	r.missing = r.missing[:0]
	return true, nil
}

// buffer is one buffer of a file, as far as it is available.
type buffer struct {
	extent
	scheme string // of its compression, or empty
	// due is how many bytes it has at least when it is decompressed, known before it is.
	due   int64
	from  int64 // of data, in the buffer
	data  []byte
	plain []byte // decompressed, nil until it is
}

// want requests bytes [low, end), unless they are available. All of a compressed buffer is fetched.
func (b *buffer) want(low, end int64, r *requests) {
	if b.scheme != "" {
		low, end = 0, b.size
	}
	if low < end {
		r.want(b, low, end)
	}
}

// has reports whether a part is available.
func (b *buffer) has(low, end int64) bool {
	return b.plain != nil || b.data != nil && b.from <= low && b.from+int64(len(b.data)) >= end
}

// bytes gives [low, end), which were wanted and fetched.
func (b *buffer) bytes(low, end int64) ([]byte, error) {
	if b.scheme == "" {
		if low == end {
			return nil, nil
		}
		return b.data[low-b.from : end-b.from : end-b.from], nil
	}
	if b.plain == nil {
		plain, err := decompress(b.scheme, b.data[:b.size], b.due)
		if err != nil {
			return nil, corrupt.Locate(err, "", b.at)
		}
		if plain == nil {
			plain = []byte{}
		}
		b.plain, b.data = plain, nil
	}
	if end > int64(len(b.plain)) {
		return nil, corrupt.At(b.at, "%d bytes after decompression, expected %d", len(b.plain), end)
	}
	return b.plain[low:end:end], nil
}

// Compression schemes.
const (
	schemeZstd = "zstd"
	schemeLz4  = "lz4"
)

// maxPlain bounds a decompressed buffer, whatever it claims: writers cut pages at 32 MiB, but for single values that are
// larger.
const maxPlain = 1 << 30

// decompress gives the whole of a compressed buffer, which is known to hold due bytes at least.
func decompress(scheme string, b []byte, due int64) ([]byte, error) {
	if len(b) == 0 {
		return []byte{}, nil
	}
	if due > maxPlain {
		return nil, corrupt.Unsupported(0, "a compressed buffer of %d bytes, more than the limit of %d", due, maxPlain)
	}
	switch scheme {
	case schemeZstd:
		return unzstd(b, due, maxPlain)
	case schemeLz4:
		return unlz4(b, due, maxPlain)
	}
	return nil, corrupt.Unsupported(0, "unknown compression %.40q: must be zstd or lz4", scheme)
}

// decompressUpTo gives the whole of a compressed buffer, which may take limit bytes.
func decompressUpTo(scheme string, b []byte, limit int64) ([]byte, error) {
	switch {
	case len(b) == 0:
		return []byte{}, nil
	case scheme == schemeZstd:
		return unzstd(b, 0, limit)
	}
	return unlz4(b, 0, limit)
}

// bareFrame reports whether a zstd buffer begins with its frame, as in files before mid-2025, instead of its length.
func bareFrame(b []byte) bool {
	return len(b) < 8 || binary.LittleEndian.Uint32(b) == 0xFD2FB528 && b[4]&0x10 == 0
}

func unzstd(b []byte, due, limit int64) ([]byte, error) {
	claimed := due
	if !bareFrame(b) {
		if v := binary.LittleEndian.Uint64(b); v > uint64(limit) {
			return nil, corrupt.Unsupported(0, "a compressed buffer of %d bytes, more than the limit of %d", v, limit)
		} else {
			claimed = int64(v)
		}
		b = b[8:]
	}
	d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	// The slice grows with what really comes out, so that a few bytes that claim many take no memory.
	var out bytes.Buffer
	out.Grow(int(min(claimed, int64(len(b))*8)))
	if _, err := io.Copy(&out, io.LimitReader(d, limit+1)); err != nil {
		return nil, &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 0, What: "zstd", Err: err}
	}
	if n := int64(out.Len()); n < due || n > limit {
		return nil, corrupt.At(0, "zstd of %d bytes, expected %d", n, due)
	}
	return out.Bytes(), nil
}

// lz4Growth is the most that a byte of an LZ4 block can become.
const lz4Growth = 255

func unlz4(b []byte, due, limit int64) ([]byte, error) {
	if len(b) < 4 {
		return nil, corrupt.At(0, "lz4 of %d bytes, without its length", len(b))
	}
	size := int64(binary.LittleEndian.Uint32(b))
	if size < due || size > limit || size > int64(len(b))*lz4Growth {
		return nil, corrupt.At(0, "lz4 of %d bytes in %d, expected %d", size, len(b), due)
	}
	out := make([]byte, size)
	n, err := lz4.UncompressBlock(b[4:], out)
	if err != nil || int64(n) != size {
		return nil, &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: 4, What: "LZ4 block", Err: err}
	}
	return out, nil
}

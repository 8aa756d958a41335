package parquetcodec

import (
	"io"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/shardcat/shardcat/internal/ranges"
)

// Arrow's C++ library before 3.0 states about its data pages of version 2 that they are not compressed, and compresses them (ARROW-10353). The sizes
// in a page's header show it: they would be equal.

// MayMisflag reports whether the writer of a file may have flagged compressed pages as not compressed.
func MayMisflag(m *metadata.FileMetaData) bool {
	return strings.HasPrefix(m.GetCreatedBy(), "parquet-cpp version")
}

// page is what a page's header states.
type page struct {
	header                   int // length
	compressed, uncompressed int
	flag                     int // where the header reports that the page is not compressed, -1 if nowhere
}

// parsePage reads the header at the start of b.
func parsePage(b []byte) (p page, ok bool) {
	t := &compact{b: b}
	p.flag = -1
	size := func(into *int) error {
		v, err := t.varint()
		if err != nil || v&1 != 0 || v>>1 > 1<<31 {
			return errThrift
		}
		*into = int(v >> 1)
		return nil
	}
	err := t.fields(func(id int, kind byte) error {
		switch {
		case id == 2 && kind == 5:
			return size(&p.uncompressed)
		case id == 3 && kind == 5:
			return size(&p.compressed)
		case id == 8 && kind == structKind:
			return t.fields(func(id int, kind byte) error {
				if id == 7 && kind == 2 {
					p.flag = t.field
				}
				return t.skip(kind, 0)
			})
		}
		return t.skip(kind, 0)
	})
	p.header = t.at
	return p, err == nil
}

// lies reports whether the page is compressed though its header denies it.
func (p page) lies() bool { return p.flag >= 0 && p.compressed != p.uncompressed }

// FixFlags gives pages with the right flags: the same bytes where there is nothing to change.
func FixFlags(pages []byte) []byte {
	out := pages
	for at := 0; at < len(pages); {
		p, ok := parsePage(pages[at:])
		if !ok {
			break
		}
		if p.lies() {
			if &out[0] == &pages[0] {
				out = slices.Clone(pages)
			}
			out[at+p.flag] = out[at+p.flag]&0xF0 | 1
		}
		at += p.header + p.compressed
	}
	return out
}

// flagFixer reads a file with the right flags of its pages.
type flagFixer struct {
	io.ReaderAt
	mu     sync.Mutex
	chunks []walked
}

// walked is a column chunk.
type walked struct {
	ranges.Range
	// next is where the next page starts of which the header was not read yet.
	next uint64
	// flags are the bytes that have to be others, by rising position.
	flags []flag
}

type flag struct {
	at uint64
	is byte
}

// NewFlagFixer is FixFlags for a file that is read piece by piece.
func NewFlagFixer(r io.ReaderAt, m *metadata.FileMetaData) io.ReaderAt {
	out := &flagFixer{ReaderAt: r}
	for g := range m.RowGroups {
		for i := range m.Schema.NumColumns() {
			c, err := m.RowGroup(g).ColumnChunk(i)
			if err != nil || c.Compression() == compress.Codecs.Uncompressed {
				continue
			}
			start := c.DataPageOffset()
			if c.HasDictionaryPage() && c.DictionaryPageOffset() > 0 {
				start = min(start, c.DictionaryPageOffset())
			}
			if start > 0 && c.TotalCompressedSize() > 0 {
				chunk := ranges.Range{Start: uint64(start), End: uint64(start) + uint64(c.TotalCompressedSize())}
				out.chunks = append(out.chunks, walked{Range: chunk, next: chunk.Start})
			}
		}
	}
	return out
}

// ReadAt implements io.ReaderAt.
func (f *flagFixer) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(b, off)
	f.mu.Lock()
	defer f.mu.Unlock()
	end := uint64(off) + uint64(n)
	for i := range f.chunks {
		c := &f.chunks[i]
		if c.Start >= end || c.End <= uint64(off) {
			continue
		}
		for c.next < c.End && c.next < end {
			f.walk(c, b[:n], uint64(off))
		}
		first := sort.Search(len(c.flags), func(i int) bool { return c.flags[i].at >= uint64(off) })
		for _, flag := range c.flags[first:] {
			if flag.at >= end {
				break
			}
			b[flag.at-uint64(off)] = flag.is
		}
	}
	return n, err
}

// walk takes the header of the next page of a chunk, which may be in b, read at off.
func (f *flagFixer) walk(c *walked, b []byte, off uint64) {
	var p page
	ok := false
	if c.next >= off {
		p, ok = parsePage(b[c.next-off:])
	}
	if !ok { // in part or not at all
		const most = 64 << 10
		head := make([]byte, min(most, c.End-c.next))
		n, _ := f.ReaderAt.ReadAt(head, int64(c.next))
		if p, ok = parsePage(head[:n]); !ok {
			c.next = c.End
			return
		}
		b, off = head[:n], c.next
	}
	if p.lies() {
		at := c.next + uint64(p.flag)
		c.flags = append(c.flags, flag{at, b[at-off]&0xF0 | 1})
	}
	c.next += uint64(p.header) + uint64(p.compressed)
}

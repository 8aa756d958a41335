package parquetcodec

import (
	"io"
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

// NewFlagFixer gives a file with the right flags of its pages, which is read piece by piece.
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
	p, err := Page{}, errPage
	if c.next >= off {
		p, err = ParsePage(b[c.next-off:])
	}
	if err != nil { // in part or not at all
		const most = 64 << 10
		head := make([]byte, min(most, c.End-c.next))
		n, _ := f.ReaderAt.ReadAt(head, int64(c.next))
		if p, err = ParsePage(head[:n]); err != nil {
			c.next = c.End
			return
		}
		b, off = head[:n], c.next
	}
	if p.lies() {
		at := c.next + uint64(p.flag)
		c.flags = append(c.flags, flag{at, b[at-off]&0xF0 | 1})
	}
	c.next += uint64(p.Size())
}

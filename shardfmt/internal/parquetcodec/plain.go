package parquetcodec

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// A chunk of FIXED_LEN_BYTE_ARRAY below a list or struct with pages in DELTA_BYTE_ARRAY is read from behind the end of its file: there it has the same pages, plain and
// not compressed. Where each of them begins is known when those before it are made, so a chunk has more space there than it needs.
const (
	plainStart = 1 << 44
	plainRoom  = 1 << 38
	// plainChunks is the most of such chunks in a file.
	plainChunks = 1 << 24
)

var (
	errPlainPages  = errors.New("invalid pages in the encoding DELTA_BYTE_ARRAY")
	errPlainLevels = corrupt.Unsupported(-1, "levels in the encoding BIT_PACKED, which is no longer written, before values in DELTA_BYTE_ARRAY")
	errPlainRoom   = corrupt.Unsupported(-1, "a column in the encoding DELTA_BYTE_ARRAY of more than 256 GiB in one row group, or more than 16777216 of them: write smaller row groups")
)

// isDelta reports whether a column has chunks that have to be made plain, by their encodings: flat ones are decoded here.
func isDelta(c *pqschema.Column, encodings []parquet.Encoding) bool {
	nested := c.MaxRepetitionLevel() > 0 || len(c.ColumnPath()) > 1
	return nested && c.PhysicalType() == parquet.Types.FixedLenByteArray && c.TypeLength() > 0 && slices.Contains(encodings, parquet.Encodings.DeltaByteArray)
}

// plainFile is a file with plain chunks behind its end.
type plainFile struct {
	io.ReaderAt
	chunks []*plainChunk
}

// plainChunk makes the pages of a chunk, one after the other.
type plainChunk struct {
	open   func() (file.PageReader, error)
	column *pqschema.Column
	limit  int64

	mu    sync.Mutex
	pages file.PageReader
	// page is the last one that was made, at is where it begins in the chunk.
	page []byte
	at   int64
}

// eachDelta calls do with the chunks of a file that have to be made plain.
func eachDelta(m *metadata.FileMetaData, do func(group, column int)) {
	for g := range m.RowGroups {
		for i := range min(m.Schema.NumColumns(), len(m.RowGroups[g].Columns)) {
			if c, err := m.RowGroup(g).ColumnChunk(i); err == nil && c.CryptoMetadata() == nil && isDelta(m.Schema.Column(i), c.Encodings()) {
				do(g, i)
			}
		}
	}
}

// HasDelta reports whether a file has chunks that have to be made plain.
func HasDelta(m *metadata.FileMetaData) (has bool) {
	eachDelta(m, func(int, int) { has = true })
	return has
}

// WithPlainPages gives a file in place of r, which is opened as p with pages of at most limit bytes. Its footer is what is made of m, another copy of
// the footer of r.
func WithPlainPages(r io.ReaderAt, p *file.Reader, m *metadata.FileMetaData, limit int64) (io.ReaderAt, error) {
	out := &plainFile{ReaderAt: r}
	eachDelta(p.MetaData(), func(g, i int) {
		meta := m.RowGroups[g].Columns[i].MetaData
		meta.Codec, meta.DictionaryPageOffset, meta.TotalCompressedSize = 0, nil, plainRoom
		meta.DataPageOffset = plainStart + int64(len(out.chunks))*plainRoom
		out.chunks = append(out.chunks, &plainChunk{column: p.MetaData().Schema.Column(i), limit: limit,
			open: func() (file.PageReader, error) { return p.RowGroup(g).GetColumnPageReader(i) }})
	})
	if len(out.chunks) > plainChunks {
		return nil, errPlainRoom
	}
	return out, nil
}

// ReadAt implements io.ReaderAt.
func (f *plainFile) ReadAt(b []byte, off int64) (int, error) {
	if off < plainStart {
		return f.ReaderAt.ReadAt(b, off)
	}
	off -= plainStart
	if off/plainRoom >= int64(len(f.chunks)) {
		return 0, io.EOF
	}
	return f.chunks[off/plainRoom].readAt(b, off%plainRoom)
}

func (c *plainChunk) readAt(b []byte, off int64) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if off < c.at { // pages are made in their order
		c.pages, c.page, c.at = nil, nil, 0
	}
	for n < len(b) {
		if end := c.at + int64(len(c.page)); off+int64(n) >= end {
			if err := c.next(); err != nil {
				return n, err
			}
			continue
		}
		n += copy(b[n:], c.page[off+int64(n)-c.at:])
	}
	return n, nil
}

// next makes the next page; io.EOF if there is none.
func (c *plainChunk) next() (err error) {
	if c.pages == nil {
		if c.pages, err = c.open(); err != nil {
			return err
		}
	}
	if !c.pages.Next() {
		if err := c.pages.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	c.at += int64(len(c.page))
	if c.page, err = c.plain(c.pages.Page()); err == nil && c.at+int64(len(c.page)) > plainRoom {
		err = errPlainRoom
	}
	return err
}

// plain gives a page with its header, not compressed, and plain if it is not.
func (c *plainChunk) plain(p file.Page) ([]byte, error) {
	levels, err := c.levels(p)
	if err != nil {
		return nil, err
	}
	n, encoding, values := int(p.NumValues()), int(p.Encoding()), p.Data()[levels:]
	if parquet.Encoding(encoding) == parquet.Encodings.DeltaByteArray {
		leaf := Leaf{Type: c.column.PhysicalType(), Width: c.column.TypeLength()}
		if values, err = leaf.Plain(parquet.Encodings.DeltaByteArray, values, n, Bound(c.limit)); err != nil {
			return nil, err
		}
		encoding = int(parquet.Encodings.Plain)
	}
	h := PageHeader{Type: p.Type(), Size: levels + len(values), Numbers: []int{n, encoding}}
	switch p := p.(type) {
	case *file.DataPageV1:
		h.Numbers = append(h.Numbers, int(parquet.Encodings.RLE), int(parquet.Encodings.RLE))
	case *file.DataPageV2:
		h.Numbers = []int{n, int(p.NumNulls()), int(p.NumRows()), encoding, int(p.DefinitionLevelByteLen()), int(p.RepetitionLevelByteLen())}
	}
	return append(append(h.Append(nil), p.Data()[:levels]...), values...), nil
}

// levels gives the size of what is before the values of a page.
func (c *plainChunk) levels(p file.Page) (size int, err error) {
	data, rep, def := p.Data(), c.column.MaxRepetitionLevel(), c.column.MaxDefinitionLevel()
	switch p := p.(type) {
	case *file.DataPageV1:
		if rep > 0 && p.RepetitionLevelEncoding() != parquet.Encodings.RLE || def > 0 && p.DefinitionLevelEncoding() != parquet.Encodings.RLE {
			return 0, errPlainLevels
		}
		for _, most := range []int16{rep, def} {
			if most > 0 && len(data)-size >= 4 {
				size += 4 + int(binary.LittleEndian.Uint32(data[size:]))
			}
		}
	case *file.DataPageV2:
		size = int(p.DefinitionLevelByteLen()) + int(p.RepetitionLevelByteLen())
	}
	if size < 0 || size > len(data) {
		return 0, errPlainPages
	}
	return size, nil
}

// Bound refuses a page that is larger than pages may be.
func Bound(limit int64) func(size uint64) error {
	return func(size uint64) error {
		if size > uint64(limit) {
			return corrupt.Unsupported(-1, "a page of %d bytes: at most %d are read at once; raise the limit with --max-memory", size, limit)
		}
		return nil
	}
}

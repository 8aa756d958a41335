package column

import (
	"sort"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetchunk"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// footerKeeper is a Source that keeps what its readers know of Parquet files by URL, so that the footer of a file is read
// once for all columns and stripes; a *meta.Root is one.
type footerKeeper interface{ Footers() *sync.Map }

// parquetColumn is a field whose values are in column chunks of Parquet files, one chunk behind the other. What it needs
// comes in two rounds: the footers and page maps, then pages and dictionaries.
type parquetColumn struct {
	typ     arrow.DataType
	node    *schema.Node
	mem     *budget.Account
	footers *sync.Map
	chunks  []*externalChunk
	// first is the position of each chunk's first value, and of the end; it is nil until all chunks are known.
	first []uint64
	count uint64
	fail  func(format string, args ...any) error
}

// externalChunk is one column chunk.
type externalChunk struct {
	ref  *metapb.ParquetColumnChunkRef
	file string // of the footer
	size int64
	data string // of the pages
	tail int64  // bytes of the footer's file that are needed, 0 for a guess

	pageMap *opaque // nil if there is none: then all pages are read
	m       *colstream.Map
	chunk   *parquetchunk.Chunk
	decoder *parquetchunk.Decoder
	dict    []byte
	whole   []byte // all pages, where there is no map
	pages   *colstream.Stream

	// last is what was decoded last, of the positions lastAt of the chunk; held is charged for it.
	last   arrow.Array
	lastAt colstream.Range
	held   uint64
}

// maxExternalChunks bounds the chunks of a field in a stripe: a row group has at least as many bytes as a reference.
const maxExternalChunks = 1 << 20

func (f *stored) parquetColumn() (Column, error) {
	if nested(f.node.Basic) || f.node.Basic == schema.Unit {
		return nil, f.unsupported("external Parquet encoding of a nested type")
	}
	c := &parquetColumn{typ: f.typ, node: f.node, mem: f.o.mem, count: f.count, footers: new(sync.Map), fail: f.corrupt}
	if k, ok := f.o.src.(footerKeeper); ok {
		c.footers = k.Footers()
	}
	for _, file := range f.parquet.FileColumnRefs {
		for _, ref := range file.ColumnChunks {
			x, err := f.externalChunk(file.FileRef, ref)
			if err != nil {
				return nil, err
			}
			if c.chunks = append(c.chunks, x); len(c.chunks) > maxExternalChunks {
				return nil, f.unsupported("more than a million column chunks")
			}
		}
	}
	return c, nil
}

// externalChunk resolves the references of a chunk.
func (f *stored) externalChunk(file *metapb.DataRef, ref *metapb.ParquetColumnChunkRef) (*externalChunk, error) {
	url, start, end, err := f.locate(file)
	if err != nil {
		return nil, err
	}
	if start != 0 || url == f.anchor {
		return nil, f.corrupt("a Parquet file at [%d, %d) of %s", start, end, url)
	}
	if p := ref.GetDataPagesRange(); p.GetStart() > p.GetEnd() {
		return nil, f.corrupt("data pages [%d, %d)", p.GetStart(), p.GetEnd())
	}
	x := &externalChunk{ref: ref, file: url, size: end, data: url}
	if ref.FileUrl != nil {
		if x.data, err = f.o.src.Resolve(f.anchor, *ref.FileUrl); err != nil {
			return nil, err
		}
	}
	if ref.DataPageMap == nil {
		return x, nil
	}
	url, start, end, err = f.locate(ref.DataPageMap)
	x.pageMap = &opaque{url: url, start: uint64(start), end: uint64(end)}
	return x, err
}

func (c *parquetColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	var out []colstream.Request
	for _, x := range c.chunks {
		q, err := c.know(x)
		if err != nil {
			return nil, err
		}
		out = append(out, q...)
	}
	if len(out) > 0 {
		return out, nil
	}
	if err := c.place(); err != nil {
		return nil, err
	}
	for i, x := range c.chunks {
		q, err := x.need(cut(ranges, c.first[i], c.first[i+1]), c.mem)
		if err != nil {
			return nil, err
		}
		out = append(out, q...)
	}
	return out, nil
}

// know gives the requests for what reports where a chunk's values are: the footer of its file, which the first of a file asks
// for, and its page map.
func (c *parquetColumn) know(x *externalChunk) (out []colstream.Request, err error) {
	if x.chunk == nil {
		known, ok := c.footers.Load(x.file)
		if !ok {
			out = append(out, c.footerRequest(x))
		} else if err := c.describe(x, known.(*parquetchunk.Footer)); err != nil {
			return nil, corrupt.Locate(err, x.file, 0)
		}
	}
	if x.pageMap != nil {
		out = append(out, x.pageMap.need(x.setMap)...)
	}
	return out, nil
}

func (c *parquetColumn) footerRequest(x *externalChunk) colstream.Request {
	tail := min(x.size, max(x.tail, parquetchunk.TailGuess))
	return colstream.Request{URL: x.file, Start: uint64(x.size - tail), End: uint64(x.size), Stays: true, Fill: func(b []byte) error {
		if _, known := c.footers.Load(x.file); known { // another column has read it
			return nil
		}
		f, more, err := parquetchunk.ParseTail(b, x.size, c.mem)
		if f != nil {
			c.footers.Store(x.file, f)
		}
		x.tail = more
		return corrupt.Locate(err, x.file, 0)
	}}
}

// describe takes what the footer states about the chunk, which must be what the reference states.
func (c *parquetColumn) describe(x *externalChunk, f *parquetchunk.Footer) (err error) {
	if x.chunk, err = f.Referred(x.ref); err != nil {
		return err
	}
	x.decoder, err = parquetchunk.NewDecoder(x.chunk, c.node, c.mem)
	return err
}

func (x *externalChunk) setMap(b []byte) (err error) {
	x.m, err = colstream.ParseMap(b)
	return err
}

// place finds where the values of each chunk lie, once all are known.
func (c *parquetColumn) place() error {
	if c.first != nil {
		return nil
	}
	first := []uint64{0}
	for _, x := range c.chunks {
		if err := x.agree(); err != nil {
			return corrupt.Locate(err, x.file, 0)
		}
		end := first[len(first)-1] + x.chunk.Rows
		if end < x.chunk.Rows {
			return c.fail("more values than can be counted")
		}
		first = append(first, end)
	}
	if end := first[len(first)-1]; end != c.count {
		return c.fail("%d positions, the Parquet column chunks have %d", c.count, end)
	}
	c.first = first
	return nil
}

// agree holds the page map to the footer and to the reference.
func (x *externalChunk) agree() error {
	if x.m == nil && x.chunk.InList() {
		return corrupt.At(-1, "a column below a list without a page map")
	}
	if x.m == nil {
		return nil
	}
	if x.chunk.InList() { // the footer counts entries, also of lists that are empty or null
		x.chunk.Rows = min(x.chunk.Rows, x.m.Values())
	}
	switch pages := x.chunk.Pages; {
	case x.m.Values() != x.chunk.Rows || x.m.Bytes() != pages.Len():
		return corrupt.At(-1, "a page map of %d values in %d bytes, the column chunk has %d in %d", x.m.Values(), x.m.Bytes(), x.chunk.Rows, pages.Len())
	case uint64(x.m.Blocks()) != x.ref.DataPageCount:
		return corrupt.At(-1, "a page map of %d pages, the reference says %d", x.m.Blocks(), x.ref.DataPageCount)
	}
	return nil
}

// cut is the part of ranges in [first, end), counted from first.
func cut(ranges []colstream.Range, first, end uint64) (out []colstream.Range) {
	for _, r := range ranges {
		if from, to := max(r.Start, first), min(r.End, end); from < to {
			out = append(out, colstream.Range{Start: from - first, End: to - first})
		}
	}
	return out
}

// need gives the requests for the pages of positions of a chunk, and its dictionary.
func (x *externalChunk) need(ranges []colstream.Range, mem *budget.Account) (out []colstream.Request, err error) {
	if len(ranges) == 0 {
		return nil, nil
	}
	if x.m == nil && x.whole == nil {
		out = append(out, colstream.Request{URL: x.data, Start: x.chunk.Pages.Start, End: x.chunk.Pages.End, Stays: true, Fill: func(b []byte) error {
			x.whole = b
			return corrupt.Locate(x.findPages(mem), x.data, 0)
		}})
	} else if x.m != nil && x.pages == nil {
		x.pages = colstream.NewStream(x.data, x.chunk.Pages.Start, x.chunk.Pages.End, x.m)
	}
	if d := x.chunk.Dictionary; d.Len() > 0 && x.dict == nil {
		out = append(out, colstream.Request{URL: x.data, Start: d.Start, End: d.End, Stays: true, Fill: func(b []byte) error {
			x.dict = b
			return nil
		}})
	}
	if x.pages == nil {
		return out, nil
	}
	q, err := x.pages.Need(ranges, false)
	return append(out, q...), err
}

// findPages makes the map of pages that were fetched whole.
func (x *externalChunk) findPages(mem *budget.Account) error {
	if err := mem.Work(uint64(len(x.whole))); err != nil {
		return err
	}
	b, err := x.chunk.Map(x.whole, mem, nil)
	if err != nil {
		return err
	}
	if uint64(b.Blocks()) != x.ref.DataPageCount {
		return corrupt.At(int64(x.chunk.Pages.Start), "%d data pages, the reference says %d", b.Blocks(), x.ref.DataPageCount)
	}
	if x.m, err = colstream.ParseMap(b.Append(nil)); err != nil {
		return err
	}
	x.pages = colstream.NewStream(x.data, x.chunk.Pages.Start, x.chunk.Pages.End, x.m)
	return x.pages.Fill(x.whole)
}

func (c *parquetColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	var parts []arrow.Array
	for i := sort.Search(len(c.chunks), func(i int) bool { return c.first[i+1] > r.Start }); i < len(c.chunks) && c.first[i] < r.End; i++ {
		for _, in := range cut([]colstream.Range{r}, c.first[i], c.first[i+1]) {
			a, err := c.chunks[i].read(in, c.mem)
			if err != nil {
				return nil, err
			}
			parts = append(parts, a)
		}
	}
	if len(parts) == 0 {
		return nulls(c.typ, 0), nil
	}
	return c.join(parts)
}

// join makes one array that starts at its buffers' start: what reads columns counts on that.
func (c *parquetColumn) join(parts []arrow.Array) (arrow.ArrayData, error) {
	size := uint64(0)
	for _, p := range parts {
		size += SizeOf(p.Data()) / uint64(max(1, p.Data().Len()+p.Data().Offset())) * uint64(p.Len())
	}
	if err := c.mem.Take(size); err != nil {
		return nil, err
	}
	for i, p := range parts {
		parts[i] = storage(p)
	}
	all, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	d := all.Data()
	return array.NewData(c.typ, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset()), nil
}

// read gives positions of a chunk: of what was decoded last, or of pages that are decoded now and kept.
func (x *externalChunk) read(r colstream.Range, mem *budget.Account) (arrow.Array, error) {
	if x.last == nil || r.Start < x.lastAt.Start || r.End > x.lastAt.End {
		if err := x.decode(r, mem); err != nil {
			return nil, corrupt.Locate(err, x.data, 0)
		}
	}
	return array.NewSlice(x.last, int64(r.Start-x.lastAt.Start), int64(r.End-x.lastAt.Start)), nil
}

// decode decodes the pages of positions.
func (x *externalChunk) decode(r colstream.Range, mem *budget.Account) error {
	first, end := x.m.Find(r.Start), x.m.Find(r.End-1)+1
	pages, err := x.pages.Bytes(first, end)
	if err != nil {
		return err
	}
	from, _ := x.m.Span(first)
	_, to := x.m.Span(end - 1)
	base, _ := x.m.Range(first)
	if err := mem.Work(uint64(len(pages)) + 8*(to-from)); err != nil {
		return err
	}
	x.last = nil
	a, err := x.decoder.Decode(x.dict, pages, int(to-from), x.chunk.Pages.Start+base)
	if err != nil {
		return err
	}
	if n := SizeOf(a.Data()); n > x.held {
		if err := mem.Hold(n - x.held); err != nil {
			return err
		}
		x.held = n
	}
	x.last, x.lastAt = a, colstream.Range{Start: from, End: to}
	return nil
}

func (c *parquetColumn) Release(pos uint64) {
	for i, x := range c.chunks {
		if c.first == nil || pos <= c.first[i] || x.pages == nil {
			return
		}
		x.pages.Release(pos - c.first[i])
		if pos >= c.first[i+1] {
			x.last = nil
			x.decoder.Release()
		}
	}
}

// Size is that of the pages and dictionaries, by their references.
func (c *parquetColumn) Size() (n uint64) {
	for _, x := range c.chunks {
		for _, r := range []*metapb.UInt64Range{x.ref.GetDataPagesRange(), x.ref.GetDictionaryRange()} {
			if r.GetEnd() > r.GetStart() {
				n += r.GetEnd() - r.GetStart()
			}
		}
	}
	return n
}

var _ footerKeeper = (*meta.Root)(nil)

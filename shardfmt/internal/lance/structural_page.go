package lance

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// structural decodes a field of version 2.1 or later: that of its columns, which hold the nesting in levels.
type structural struct {
	layout *layout
	leaves []*leaf
}

// structuralColumn is one column: its pages, in order.
type structuralColumn struct {
	pages []structuralLink
}

// structuralLink is a page of a column: rows [first, end).
type structuralLink struct {
	first, end uint64
	structuralPage
}

// structuralPage decodes rows of one page, counted from its first. See decoder for the steps.
type structuralPage interface {
	weigh(low, end uint64) uint64
	request(low, end uint64, r *requests) error
	decode(low, end uint64) (entries, error)
}

// page is the one that holds a row.
func (c *structuralColumn) page(row uint64) *structuralLink {
	for low, high := 0, len(c.pages); low < high; {
		mid := (low + high) / 2
		switch p := &c.pages[mid]; {
		case row < p.first:
			high = mid
		case row >= p.end:
			low = mid + 1
		default:
			return p
		}
	}
	return nil
}

// pageEnd is where the first page of any column ends that holds a row.
func (d *structural) pageEnd(row uint64) uint64 {
	end := ^uint64(0)
	for _, l := range d.leaves {
		if p := l.column.page(row); p != nil {
			end = min(end, p.end)
		}
	}
	return end
}

// each calls do with the page of each column that holds rows [low, end), which are in one page.
func (d *structural) each(low, end uint64, do func(l *leaf, p *structuralLink, low, end uint64) error) error {
	for _, l := range d.leaves {
		p := l.column.page(low)
		if p == nil || end > p.end {
			return corrupt.At(-1, "rows %d to %d are not in one page", low, end)
		}
		if err := do(l, p, low-p.first, end-p.first); err != nil {
			return err
		}
	}
	return nil
}

func (d *structural) weigh(low, end uint64) (total uint64) {
	_ = d.each(low, end, func(_ *leaf, p *structuralLink, low, end uint64) error {
		total += p.weigh(low, end)
		return nil
	})
	return total
}

func (d *structural) request(low, end uint64, r *requests) error {
	return d.each(low, end, func(_ *leaf, p *structuralLink, low, end uint64) error { return p.request(low, end, r) })
}

func (d *structural) decode(low, end uint64) (arrow.ArrayData, error) {
	err := d.each(low, end, func(l *leaf, p *structuralLink, low, end uint64) (err error) {
		if l.rows, err = p.decode(low, end); err == nil {
			err = l.rows.check(l.nesting, int(end-low))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	data, err := d.layout.assemble(d.leaves, 0)
	if err == nil && data.Len() != int(end-low) {
		err = corrupt.At(-1, "field %q: %d values of %d rows", d.layout.node.Name, data.Len(), end-low)
	}
	return data, err
}

// structural makes the decoder of a field.
func (l *layout) structural(ctx context.Context, f *File) (*structural, error) {
	d := &structural{layout: l}
	return d, l.addLeaves(ctx, f, d, nil)
}

func (l *layout) addLeaves(ctx context.Context, f *File, d *structural, outside nesting) error {
	storage := l.t
	if ext, ok := storage.(arrow.ExtensionType); ok {
		storage = ext.StorageType()
	}
	path := append(nesting{len(l.children) > 0 && storage.ID() != arrow.STRUCT}, outside...)
	for _, c := range l.children {
		if err := c.addLeaves(ctx, f, d, path); err != nil {
			return err
		}
	}
	if len(l.children) > 0 {
		return nil
	}
	column, err := f.structuralColumn(ctx, l, path)
	d.leaves = append(d.leaves, &leaf{nesting: path, column: column})
	return corrupt.Locate(err, "", f.c.columns[l.column.index].at)
}

// structuralColumn makes the decoders of the pages of a column.
func (f *File) structuralColumn(ctx context.Context, l *layout, path nesting) (*structuralColumn, error) {
	layouts, err := f.pageLayouts(ctx, l.column)
	if err != nil {
		return nil, err
	}
	out := &structuralColumn{}
	for i, p := range layouts {
		stored := &l.column.pages[i]
		if stored.length == 0 {
			continue
		}
		made, err := f.structuralPage(p, stored, l.t, path)
		if err != nil {
			return nil, err
		}
		out.pages = append(out.pages, structuralLink{stored.first, stored.first + stored.length, made})
	}
	return out, nil
}

func (f *File) structuralPage(p *pageLayout, stored *page, t arrow.DataType, path nesting) (structuralPage, error) {
	codes, err := path.codes(p.layers)
	if err != nil {
		return nil, err
	}
	levels := levelReader{path: path, codes: codes}
	switch p.kind {
	case miniBlockLayout:
		return newMiniBlock(p, stored, t, levels)
	case fullZipLayout:
		return newFullZip(p, stored, t, levels)
	case blobLayout:
		return f.newBlobPage(p, stored, t, levels)
	}
	return newConstantPage(p, stored, t, levels)
}

// pageLayouts parses those of all pages of a column; what lies elsewhere is fetched.
func (f *File) pageLayouts(ctx context.Context, c *column) ([]*pageLayout, error) {
	messages, err := f.pageMessages(ctx, c, pageLayoutType)
	if err != nil {
		return nil, err
	}
	out := make([]*pageLayout, len(messages))
	for i, b := range messages {
		if out[i], err = parsePageLayout(b, 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// levelReader turns the levels of a page into those of this package.
type levelReader struct {
	path  nesting
	codes []uint16
}

// repetition checks levels, and definition turns them into codes; both change them in place.
func (l *levelReader) definition(levels []uint16) ([]uint16, error) {
	for i, v := range levels {
		if int(v) >= len(l.codes) {
			return nil, corrupt.At(-1, "definition level %d, the page has levels up to %d", v, len(l.codes)-1)
		}
		levels[i] = l.codes[v]
	}
	return levels, nil
}

// levels widens 16-bit levels.
func levelsOf(v *values) ([]uint16, error) {
	if v.bits != 16 || v.data == nil && v.n > 0 {
		return nil, corrupt.At(-1, "levels of %d bits", v.bits)
	}
	out := make([]uint16, v.n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(v.data[2*i:])
	}
	return out, nil
}

// rowsOf takes rows [low, end) out of entries, which begin with the first of those rows that are counted.
func (e *entries) rowsOf(n nesting, low, end uint64) (entries, error) {
	if e.rep == nil {
		if end > uint64(e.n) {
			return entries{}, corrupt.At(-1, "row %d of %d", end, e.n)
		}
		return e.slice(n, int(low), int(end)), nil
	}
	lists := n.lists(len(n))
	from, to, row := -1, e.n, uint64(0)
	for i, rep := range e.rep {
		if rep != lists {
			continue
		}
		if row == low {
			from = i
		}
		if row == end {
			to = i
			break
		}
		row++
	}
	if from < 0 || row < end {
		return entries{}, corrupt.At(-1, "repetition levels of %d rows, expected %d", row, end)
	}
	return e.slice(n, from, to), nil
}

// slice takes entries [from, to) with their values.
func (e *entries) slice(n nesting, from, to int) entries {
	if from == 0 && to == e.n {
		return *e
	}
	out := entries{n: to - from}
	if e.rep != nil {
		out.rep = e.rep[from:to]
	}
	if e.def != nil {
		out.def = e.def[from:to]
	}
	first := e.visible(n, 0, from)
	count := e.visible(n, from, to)
	part := array.NewSliceData(e.values, int64(first), int64(first+count))
	out.values = flattened(part)
	return out
}

// flattened is data whose offset is 0, as decoders give it.
func flattened(data arrow.ArrayData) arrow.ArrayData {
	if data.Offset() == 0 {
		return data
	}
	a := array.MakeFromData(data)
	defer a.Release()
	all, err := array.Concatenate([]arrow.Array{a}, memory.DefaultAllocator)
	if err != nil {
		return data
	}
	return all.Data()
}

// miniBlock is a page of small chunks, each of them compressed on its own.
type miniBlock struct {
	levelReader
	t                                arrow.DataType
	layout                           *pageLayout
	rows                             uint64
	meta, content, items, repetition buffer
	dictionary                       arrow.Array
	widest                           uint64 // bytes of the largest item of the dictionary
	chunks                           []chunk
	// kept is the last chunk that was decoded: a batch may end in the middle of it.
	kept      entries
	keptIndex int
}

// chunk is one chunk of a mini-block page.
type chunk struct {
	at, size int64
	first    uint64 // row that begins in it, counted in the page
	rows     uint64 // that begin in it
	values   uint64
	trails   bool // the last row goes on in the next chunk
}

func newMiniBlock(p *pageLayout, stored *page, t arrow.DataType, levels levelReader) (*miniBlock, error) {
	d := &miniBlock{levelReader: levels, t: t, layout: p, rows: stored.length, keptIndex: -1}
	due := 2
	if p.dictionary != nil {
		due++
	}
	if p.repDepth > 0 {
		due++
	}
	if len(stored.buffers) != due {
		return nil, corrupt.At(-1, "mini-block page of %d buffers, expected %d", len(stored.buffers), due)
	}
	if p.buffers != uint64(p.values.chunkBuffers()) {
		return nil, corrupt.At(-1, "%v: %d buffers per chunk, expected %d", p.values, p.buffers, p.values.chunkBuffers())
	}
	d.meta.extent, d.content.extent = stored.buffers[0], stored.buffers[1]
	if p.dictionary != nil {
		d.items.extent = stored.buffers[2]
		if uint64(d.items.size) > maxPlain || p.dictionaryItems > maxPlain/8 {
			return nil, corrupt.Unsupported(-1, "a dictionary of %d items in %d bytes", p.dictionaryItems, d.items.size)
		}
	}
	lists := levels.path.lists(len(levels.path))
	if (lists > 0) != (p.repDepth > 0) || (lists > 0) != (p.rep != nil) {
		return nil, corrupt.At(-1, "mini-block page of %d layers of lists: repetition index of depth %d, repetition levels %v", lists, p.repDepth, p.rep != nil)
	}
	if p.repDepth > 0 {
		d.repetition.extent = stored.buffers[due-1]
	}
	if lists == 0 && p.items != d.rows {
		return nil, corrupt.At(-1, "mini-block page of %d values for %d rows", p.items, d.rows)
	}
	return d, nil
}

// ready reports whether chunks and dictionary are known, and parses them if their bytes are loaded.
func (d *miniBlock) ready() (bool, error) {
	if d.chunks == nil {
		if !d.meta.has(0, d.meta.size) || d.layout.repDepth > 0 && !d.repetition.has(0, d.repetition.size) {
			return false, nil
		}
		if err := d.readChunks(); err != nil {
			return false, err
		}
		d.meta.data, d.repetition.data = nil, nil
	}
	if d.layout.dictionary != nil && d.dictionary == nil {
		if !d.items.has(0, d.items.size) {
			return false, nil
		}
		if err := d.readDictionary(); err != nil {
			return false, corrupt.Locate(err, "", d.items.at)
		}
		d.items.data = nil
	}
	return true, nil
}

func (d *miniBlock) readChunks() error {
	meta, err := d.meta.bytes(0, d.meta.size)
	if err != nil {
		return err
	}
	size := 2
	if d.layout.large {
		size = 4
	}
	if len(meta) == 0 || len(meta)%size != 0 {
		return corrupt.At(d.meta.at, "sizes of chunks: %d bytes", len(meta))
	}
	chunks := make([]chunk, len(meta)/size)
	at, left := int64(0), d.layout.items
	for i := range chunks {
		word := readWord(meta[i*size:], size)
		c := &chunks[i]
		c.at, c.size = at, int64(word>>4+1)*8
		if at += c.size; at > d.content.size {
			return corrupt.At(d.meta.at, "chunk %d ends at %d of %d bytes", i, at, d.content.size)
		}
		if c.values = left; i < len(chunks)-1 {
			c.values = 1 << (word & 15)
		}
		if c.values > left || c.values > maxChunkValues {
			return corrupt.At(d.meta.at, "chunk %d: %d values, but %d remain", i, c.values, left)
		}
		left -= c.values
		if c.rows = c.values; d.layout.repDepth == 0 && i > 0 {
			c.first = chunks[i-1].first + chunks[i-1].rows
		}
	}
	if d.layout.repDepth > 0 {
		if err := d.readRepetition(chunks); err != nil {
			return err
		}
	}
	if last := &chunks[len(chunks)-1]; last.first+last.rows != d.rows {
		return corrupt.At(d.meta.at, "chunks of %d rows, expected %d", last.first+last.rows, d.rows)
	}
	d.chunks = chunks
	return nil
}

// readRepetition reads which rows begin in which chunk: how many end in it, and how many values are left over behind them.
func (d *miniBlock) readRepetition(chunks []chunk) error {
	index, err := d.repetition.bytes(0, d.repetition.size)
	if err != nil {
		return err
	}
	stride := (d.layout.repDepth + 1) * 8
	if d.layout.repDepth > uint64(len(d.path)) || uint64(len(index)) != stride*uint64(len(chunks)) {
		return corrupt.At(d.repetition.at, "repetition index of %d bytes and depth %d for %d chunks", len(index), d.layout.repDepth, len(chunks))
	}
	row, goesOn := uint64(0), false
	for i := range chunks {
		c, entry := &chunks[i], index[uint64(i)*stride:]
		ends := binary.LittleEndian.Uint64(entry)
		c.trails = binary.LittleEndian.Uint64(entry[8:]) > 0
		if ends > d.rows || ends == 0 && goesOn && !c.trails {
			return corrupt.At(d.repetition.at, "chunk %d: %d rows end in it, the page has %d", i, ends, d.rows)
		}
		c.first, c.rows = row, ends
		if c.trails {
			c.rows++
		}
		if goesOn {
			c.rows--
		}
		if row += c.rows; row > d.rows {
			return corrupt.At(d.repetition.at, "chunk %d: rows up to %d of %d", i, row, d.rows)
		}
		goesOn = c.trails
	}
	if goesOn {
		return corrupt.At(d.repetition.at, "the last row continues after the last chunk")
	}
	return nil
}

func (d *miniBlock) readDictionary() error {
	b, err := d.items.bytes(0, d.items.size)
	if err != nil {
		return err
	}
	t := d.t
	if ext, ok := t.(arrow.ExtensionType); ok {
		t = ext.StorageType()
	}
	if dict, ok := t.(*arrow.DictionaryType); ok {
		t = dict.ValueType
	}
	n := d.layout.dictionaryItems
	if width := nullWidth(t); n*width > maxPlain {
		return corrupt.Unsupported(-1, "a dictionary of %d items of type %s", n, t)
	}
	v, err := d.layout.dictionary.block(b, int(n))
	if err != nil {
		return err
	}
	data, err := v.arrow(t)
	if err != nil {
		return err
	}
	d.dictionary, d.widest = array.MakeFromData(data), max(v.bits/8, uint64(v.dimension)*8)
	for i := 1; i < len(v.offsets); i++ {
		d.widest = max(d.widest, v.offsets[i]-v.offsets[i-1])
	}
	return nil
}

// span is the chunks [from, to) that have rows [low, end).
func (d *miniBlock) span(low, end uint64) (from, to int) {
	find := func(row uint64) int {
		a, b := 0, len(d.chunks)
		for a < b {
			if mid := (a + b) / 2; d.chunks[mid].first+d.chunks[mid].rows > row {
				b = mid
			} else {
				a = mid + 1
			}
		}
		return a
	}
	from, to = find(low), find(end-1)
	if to < len(d.chunks) && d.chunks[to].first+d.chunks[to].rows == end {
		for d.chunks[to].trails && to+1 < len(d.chunks) {
			if to++; d.chunks[to].rows > 0 {
				break
			}
		}
	}
	return from, min(to+1, len(d.chunks))
}

func (d *miniBlock) weigh(low, end uint64) (total uint64) {
	if ready, err := d.ready(); !ready || err != nil {
		return uint64(d.content.size) / d.rows * (end - low)
	}
	from, to := d.span(low, end)
	for _, c := range d.chunks[from:to] {
		share := c.values
		if to-from == 1 && d.layout.repDepth == 0 {
			share = end - low
		}
		total += share * (d.widest + 4)
		if d.dictionary == nil {
			total += uint64(c.size)*d.growth() + share*nullWidth(d.t)/8
		}
	}
	return total
}

// growth is about how much larger values are than their bytes in a chunk.
func (d *miniBlock) growth() uint64 {
	switch d.layout.values.kind {
	case fsstCodec, generalCodec:
		return 4
	}
	return 1
}

func (d *miniBlock) request(low, end uint64, r *requests) error {
	ready, err := d.ready()
	if err != nil {
		return err
	}
	if !ready {
		if d.chunks == nil {
			d.meta.want(0, d.meta.size, r)
			d.repetition.want(0, d.repetition.size, r)
		}
		d.items.want(0, d.items.size, r)
		return nil
	}
	from, to := d.span(low, end)
	d.content.want(d.chunks[from].at, d.chunks[to-1].at+d.chunks[to-1].size, r)
	return nil
}

func (d *miniBlock) decode(low, end uint64) (entries, error) {
	from, to := d.span(low, end)
	parts := make([]entries, 0, to-from)
	for i := from; i < to; i++ {
		if i != d.keptIndex {
			e, err := d.decodeChunk(&d.chunks[i])
			if err != nil {
				return entries{}, corrupt.Locate(err, "", d.content.at+d.chunks[i].at)
			}
			d.kept, d.keptIndex = e, i
		}
		parts = append(parts, d.kept)
	}
	if d.layout.repDepth > 0 && from > 0 && d.chunks[from-1].trails {
		// What goes on from the chunk before is of no row that is wanted.
		first, lists := &parts[0], d.path.lists(len(d.path))
		skip := 0
		for skip < first.n && first.rep[skip] != lists {
			skip++
		}
		parts[0] = first.slice(d.path, skip, first.n)
	}
	all, err := joined(parts)
	if err != nil {
		return entries{}, err
	}
	return all.rowsOf(d.path, low-d.chunks[from].first, end-d.chunks[from].first)
}

// joined are entries one behind the other.
func joined(parts []entries) (entries, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	var out entries
	arrays := make([]arrow.Array, len(parts))
	for i, p := range parts {
		out.n += p.n
		out.rep, out.def = append(out.rep, p.rep...), append(out.def, p.def...)
		arrays[i] = array.MakeFromData(p.values)
	}
	all, err := array.Concatenate(arrays, memory.DefaultAllocator)
	if err != nil {
		return out, corrupt.Unsupported(-1, "values of several chunks: %v", err)
	}
	out.values = all.Data()
	return out, nil
}

// decodeChunk decodes one chunk: a header with the number of levels and the sizes of the buffers, the levels, the values.
func (d *miniBlock) decodeChunk(c *chunk) (out entries, err error) {
	b, err := d.content.bytes(c.at, c.at+c.size)
	if err != nil {
		return out, err
	}
	r := &chunkReader{b: b}
	levels := r.number(2)
	var sizes []uint64
	for _, codec := range []*codec{d.layout.rep, d.layout.def} {
		if codec != nil {
			sizes = append(sizes, r.number(2))
		}
	}
	width := 2
	if d.layout.large {
		width = 4
	}
	for range d.layout.buffers {
		sizes = append(sizes, r.number(width))
	}
	buffers := make([][]byte, len(sizes))
	for i, size := range sizes {
		buffers[i] = r.buffer(size)
	}
	if r.short {
		return out, corrupt.At(-1, "chunk of %d bytes is shorter than its buffers", len(b))
	}
	if out.rep, buffers, err = d.chunkLevels(d.layout.rep, buffers, levels); err != nil {
		return out, err
	}
	if out.def, buffers, err = d.chunkLevels(d.layout.def, buffers, levels); err != nil {
		return out, err
	}
	if out.def, err = d.definition(out.def); err != nil {
		return out, err
	}
	out.n = int(c.values)
	if out.rep != nil {
		out.n = len(out.rep)
	} else if out.def != nil {
		out.n = len(out.def)
	}
	if out.def != nil && len(out.def) != out.n {
		return out, corrupt.At(-1, "chunk of %d repetition levels and %d definition levels", out.n, len(out.def))
	}
	if n := out.visible(d.path, 0, out.n); uint64(n) != c.values {
		return out, corrupt.At(-1, "chunk with levels of %d values, expected %d", n, c.values)
	}
	v, err := d.layout.values.chunk(buffers, int(c.values))
	if err != nil {
		return out, err
	}
	if d.dictionary != nil {
		out.values, err = lookUp(d.t, d.dictionary, v)
	} else {
		out.values, err = v.arrow(d.t)
	}
	return out, err
}

// chunkLevels decodes the levels of a chunk from the first of the buffers, if there are any.
func (d *miniBlock) chunkLevels(c *codec, buffers [][]byte, n uint64) ([]uint16, [][]byte, error) {
	if c == nil {
		return nil, buffers, nil
	}
	// Some writers let 65,536 levels and more wrap around; runs show how many there are.
	if total, known := c.runTotal(buffers[0]); known && total&0xFFFF == n && total <= maxChunkValues {
		n = total
	}
	v, err := c.block(buffers[0], int(n))
	if err != nil {
		return nil, nil, err
	}
	levels, err := levelsOf(v)
	return levels, buffers[1:], err
}

// chunkReader takes numbers and buffers from a chunk. Buffers begin at multiples of 8 bytes.
type chunkReader struct {
	b     []byte
	at    uint64
	short bool
}

func (r *chunkReader) number(size int) uint64 {
	if r.short = r.short || r.at+uint64(size) > uint64(len(r.b)); r.short {
		return 0
	}
	v := readWord(r.b[r.at:], size)
	r.at += uint64(size)
	return v
}

func (r *chunkReader) buffer(size uint64) []byte {
	r.at = (r.at + 7) &^ 7
	if r.short = r.short || r.at > uint64(len(r.b)) || size > uint64(len(r.b))-r.at; r.short {
		return nil
	}
	b := r.b[r.at : r.at+size : r.at+size]
	r.at += size
	return b
}

// lookUp makes data of items of a dictionary.
func lookUp(t arrow.DataType, items arrow.Array, v *values) (arrow.ArrayData, error) {
	indices, err := v.numbers()
	if err != nil {
		return nil, err
	}
	for _, at := range indices {
		if at >= uint64(items.Len()) {
			return nil, corrupt.At(-1, "item %d of a dictionary of %d", at, items.Len())
		}
	}
	storage := t
	if ext, ok := t.(arrow.ExtensionType); ok {
		storage = ext.StorageType()
	}
	if dict, ok := storage.(*arrow.DictionaryType); ok {
		data, err := dictionaryData(dict, items, indices)
		if err == nil && storage != t {
			data = rebuild(data, t, data.Buffers(), data.NullN())
		}
		return data, err
	}
	data, err := gather(items.Data(), indices)
	if err == nil && storage != t {
		data = rebuild(data, t, data.Buffers(), data.NullN())
	}
	return data, err
}

// gather takes values by their indices. They have no nulls.
func gather(items arrow.ArrayData, indices []uint64) (arrow.ArrayData, error) {
	t := items.DataType()
	if arrow.IsBaseBinary(t.ID()) {
		starts, content := textOffsets(items)
		offsets := make([]uint64, len(indices)+1)
		var out []byte
		for i, at := range indices {
			out = append(out, content[starts(at):starts(at+1)]...)
			offsets[i+1] = uint64(len(out))
		}
		return textData(t, out, offsets, nil, 0)
	}
	if list, ok := t.(*arrow.FixedSizeListType); ok {
		wide := make([]uint64, 0, len(indices)*int(list.Len()))
		for _, at := range indices {
			for k := range uint64(list.Len()) {
				wide = append(wide, at*uint64(list.Len())+k)
			}
		}
		inner, err := gather(items.Children()[0], wide)
		if err != nil {
			return nil, err
		}
		return array.NewData(t, len(indices), []*memory.Buffer{nil}, []arrow.ArrayData{inner}, 0, 0), nil
	}
	fixed, ok := t.(arrow.FixedWidthDataType)
	if !ok || fixed.BitWidth()%8 != 0 || items.NullN() > 0 {
		return nil, corrupt.Unsupported(-1, "a dictionary of type %s", t)
	}
	size := uint64(fixed.BitWidth() / 8)
	content, out := items.Buffers()[1].Bytes(), make([]byte, 0, uint64(len(indices))*size)
	for _, at := range indices {
		out = append(out, content[at*size:][:size]...)
	}
	return array.NewData(t, len(indices), []*memory.Buffer{nil, memory.NewBufferBytes(out)}, nil, 0, 0), nil
}

// textOffsets gives where each of some texts begins, and their bytes.
func textOffsets(items arrow.ArrayData) (func(uint64) uint64, []byte) {
	offsets := items.Buffers()[1].Bytes()
	var content []byte
	if b := items.Buffers()[2]; b != nil {
		content = b.Bytes()
	}
	if isLarge(items.DataType()) {
		return func(i uint64) uint64 { return binary.NativeEndian.Uint64(offsets[8*i:]) }, content
	}
	return func(i uint64) uint64 { return uint64(binary.NativeEndian.Uint32(offsets[4*i:])) }, content
}

// dictionaryData makes data of a dictionary type.
func dictionaryData(t *arrow.DictionaryType, items arrow.Array, indices []uint64) (arrow.ArrayData, error) {
	width := t.IndexType.(arrow.FixedWidthDataType).BitWidth()
	most := uint64(1)<<(width-1) - 1
	if arrow.IsUnsignedInteger(t.IndexType.ID()) {
		most = most*2 + 1
	}
	out := make([]byte, width/8*len(indices))
	for i, at := range indices {
		if at > most {
			return nil, corrupt.Unsupported(-1, "item %d of a dictionary with indices of type %s", at, t.IndexType)
		}
		writeWord(out[i*width/8:], width/8, at)
	}
	return array.NewDataWithDictionary(t, len(indices), []*memory.Buffer{nil, memory.NewBufferBytes(out)}, 0, 0, items.Data().(*array.Data)), nil
}

// checkWidth checks that n values of bits each can be.
func checkWidth(n, bitsEach uint64) bool {
	over, total := bits.Mul64(n, bitsEach)
	return over == 0 && total <= 1<<62
}

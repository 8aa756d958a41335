package vparquet

import (
	"context"
	"math"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/opened"
)

const (
	// tailGap are zeros before the footer: readers that guess at its length read up to 512 KiB from the end.
	tailGap = 512 << 10
	// maxChunks bounds stripes times columns: a description of 100 bytes for each lies in the footer.
	maxChunks = 1 << 22
	// maxPages bounds the pages of a chunk, and with them its offset index of 23 bytes each.
	maxPages = 1 << 20
	// maxSize bounds the size of a file, so that no sum of sizes overflows; offsets in page indexes have 48 bits.
	maxSize = 1 << 47
)

var magic = []byte("PAR1")

// group is a row group: a stripe.
type group struct {
	stripe int
	// first is the position of its first row in the shard.
	first, rows int64
	chunks      []chunk
}

// chunk is a column of a row group. What is not known from the root of the shard has an upper bound.
type chunk struct {
	// start is where it lies, room the most bytes that it takes.
	start, room int64
	// index is where its offset index lies, indexRoom the most bytes that that takes.
	index, indexRoom int64
	// exact: entries and size are known from the root.
	exact         bool
	entries, size int64
	stats         chunkStats
}

// extent is what the statistics of a shard state about a chunk.
type extent struct {
	known bool
	// entries, valid and bytes are upper bounds of levels, values and the bytes of byte arrays.
	entries, valid, bytes int64
	// exact: they are not bounds but the numbers.
	exact bool
	// whole: no page is cut for its size.
	whole bool
}

// plan lays the file out.
func (f *File) plan(ctx context.Context) error {
	stripes := f.shard.Stripes()
	if len(stripes)*max(1, len(f.leaves)) > maxChunks {
		return corrupt.Unsupported(-1, "%d stripes of %d columns: too many for a Parquet file", len(stripes), len(f.leaves))
	}
	at := int64(len(magic))
	for i, st := range stripes {
		if st.Records == 0 {
			continue
		}
		if st.Records > math.MaxInt64>>16 {
			return corrupt.At(-1, "a stripe of %d records", st.Records)
		}
		g := group{stripe: i, first: int64(st.Position), rows: int64(st.Records), chunks: make([]chunk, len(f.leaves))}
		f.groups = append(f.groups, g)
		for c, l := range f.leaves {
			k := &g.chunks[c]
			if err := f.planChunk(ctx, len(f.groups)-1, c); err != nil {
				return err
			}
			k.start = at
			if at += k.room; k.room < 0 || at > maxSize {
				return corrupt.Unsupported(-1, "column %q: too large for a Parquet file", l.column)
			}
		}
		f.rows += g.rows
	}
	return f.planTail(at)
}

// planTail places the indexes and the footer.
func (f *File) planTail(at int64) error {
	f.dataEnd = at
	for g := range f.groups {
		for c := range f.groups[g].chunks {
			k := &f.groups[g].chunks[c]
			k.index = at
			if at += k.indexRoom; at > maxSize {
				return corrupt.Unsupported(-1, "%d rows: too many for a Parquet file", f.rows)
			}
		}
	}
	f.indexEnd = at
	f.footerStart = at + tailGap
	f.footerLen = int64(len(f.encodeFooter(nil)))
	if f.footerLen > math.MaxInt32 {
		return corrupt.Unsupported(-1, "a Parquet footer of %d bytes: too large", f.footerLen)
	}
	f.size = f.footerStart + f.footerLen + 8
	return nil
}

// planChunk finds out how much space a chunk takes. Where the root does not state it, the values are counted.
func (f *File) planChunk(ctx context.Context, group, column int) error {
	g, l := &f.groups[group], f.leaves[column]
	k := &g.chunks[column]
	desc, err := f.fieldStats(ctx, g.stripe, l.node.ID)
	if err != nil {
		return err
	}
	e, err := f.extentOf(ctx, g, l, desc)
	if err != nil {
		return err
	}
	k.stats = boundsOf(l, desc)
	k.stats.nulls, k.stats.counted, err = f.nullsOf(ctx, g, l, desc)
	if err != nil {
		return err
	}
	pages := ceil(g.rows, int64(l.rowsPerPage()))
	if pages > maxPages || e.entries > maxSize/int64(max(l.width, decimalMaxText)) {
		return corrupt.Unsupported(-1, "stripe %d, column %q: %d rows, up to %d entries: too many for a Parquet file", g.stripe, l.column, g.rows, e.entries)
	}
	if e.known {
		k.room, k.exact = l.chunkBytes(pages, e), e.exact
		if !e.whole {
			cuts := 2*(l.valueBytes(e.entries, e.valid, e.bytes)/f.pageBytes+1) + 1
			k.room += cuts * l.pageOverhead()
			pages += cuts
		}
		if k.exact {
			k.entries, k.size = g.rows, l.exactSize(g.rows, e)
			k.room = k.size
		}
	} else {
		counts, err := f.count(ctx, group, column)
		if err != nil {
			return err
		}
		k.room, pages = counts.bytes, int64(len(counts.pages))
	}
	k.indexRoom = indexBytes(pages)
	return nil
}

// nullsOf is the number of nulls of a flat leaf, where the root states it.
func (f *File) nullsOf(ctx context.Context, g *group, l *leaf, d *metapb.FieldDescriptor) (n int64, ok bool, err error) {
	if l.repeated() || d == nil || d.NullCount == nil || d.PositionCount != uint64(g.rows) || *d.NullCount > d.PositionCount {
		return 0, false, nil
	}
	_, direct, err := f.entriesOf(ctx, g, l)
	return int64(*d.NullCount), direct, err
}

func ceil(n, by int64) int64 { return (n + by - 1) / by }

// pageOverhead is the most bytes that a page takes beside values and full groups of levels.
func (l *leaf) pageOverhead() int64 {
	return headerBytes + 2*(4+5) + int64(l.repBits()+l.defBits()) + 1
}

// chunkBytes is the most bytes that pages take.
func (l *leaf) chunkBytes(pages int64, e extent) int64 {
	levels := ceil(e.entries, 8) * int64(l.repBits()+l.defBits())
	return pages*l.pageOverhead() + levels + l.valueBytes(e.entries, e.valid, e.bytes)
}

// exactSize is the size of a flat chunk of which all is known.
func (l *leaf) exactSize(rows int64, e extent) int64 {
	most := int64(l.rowsPerPage())
	full, rest := rows/most, rows%most
	size := func(n int64) int64 {
		if l.physical == byteArray {
			return l.pageSize(n, 0, 0)
		}
		return l.pageSize(n, n, 0)
	}
	total := full * size(most)
	if rest > 0 {
		total += size(rest)
	}
	if l.physical == byteArray {
		total += 4*e.valid + e.bytes
	}
	return total
}

// extentOf reads the size of a chunk from the descriptors of a stripe.
func (f *File) extentOf(ctx context.Context, g *group, l *leaf, desc *metapb.FieldDescriptor) (extent, error) {
	if l.uniform() {
		return extent{known: true, exact: true, whole: true, entries: g.rows, valid: g.rows}, nil
	}
	entries, direct, err := f.entriesOf(ctx, g, l)
	if entries < 0 || desc == nil || err != nil {
		return extent{}, err
	}
	e := extent{known: true, entries: entries, valid: entries}
	if l.physical == byteArray {
		e = stringExtent(l, desc, e)
	}
	values := l.valueBytes(e.entries, e.valid, e.bytes)
	e.whole = values <= f.pageBytes || !l.repeated() && l.form == asStored && longest(desc) <= uint64(max(0, f.pageBytes/pageRows-4))
	e.exact = e.exact && e.whole && direct && desc.PositionCount == uint64(g.rows) && !l.repeated()
	return e, nil
}

// stringExtent adds what a descriptor states about byte strings.
func stringExtent(l *leaf, d *metapb.FieldDescriptor, e extent) extent {
	switch {
	case l.form == asText:
		e.bytes = decimalMaxText * e.entries
		return e
	case d.RawDataSize == nil || *d.RawDataSize > maxSize:
		return extent{}
	}
	e.bytes = int64(*d.RawDataSize)
	if l.form == asJSON { // base64 in quotes at the worst
		e.bytes = 2*e.bytes + 6*e.entries
		return e
	}
	if d.NullCount == nil || *d.NullCount > d.PositionCount {
		return e
	}
	nulls := int64(*d.NullCount)
	if nulls > 0 && *d.NullCount < d.PositionCount { // a bitmap is counted in
		e.bytes -= int64((d.PositionCount + 7) / 8)
	}
	e.valid, e.exact = e.entries-nulls, e.bytes >= 0
	if !e.exact || l.repeated() {
		e.valid, e.bytes = e.entries, int64(*d.RawDataSize)
	}
	return e
}

// longest is the longest value of a field by its descriptor.
func longest(d *metapb.FieldDescriptor) uint64 {
	if s := d.GetStringStats(); s != nil {
		return s.MaxSize
	}
	if b := d.GetBinaryStats(); b != nil {
		return b.MaxLength
	}
	return math.MaxUint64
}

// entriesOf is an upper bound of the entries of a chunk, negative if there is none. direct: every row has its value in the leaf, for no
// struct above it is ever null.
func (f *File) entriesOf(ctx context.Context, g *group, l *leaf) (entries int64, direct bool, err error) {
	entries, direct = g.rows, true
	for _, st := range l.steps {
		id := st.node.ID
		switch st.kind {
		case stepStruct:
		case stepUnion:
			direct = false
			continue
		default:
			direct, id = false, st.node.Children[0].ID
		}
		d, err := f.fieldStats(ctx, g.stripe, id)
		if err != nil {
			return 0, false, err
		}
		switch {
		case d == nil || d.PositionCount > maxSize>>8:
			return -1, false, nil
		case st.kind == stepStruct:
			direct = direct && d.NullCount != nil && *d.NullCount == 0 && d.PositionCount == uint64(g.rows)
		default:
			entries += int64(d.PositionCount)
		}
	}
	return entries, direct, nil
}

// fieldStats is the descriptor of a field in a stripe, nil if there is none.
func (f *File) fieldStats(ctx context.Context, stripe int, id uint32) (*metapb.FieldDescriptor, error) {
	d, _, err := opened.Root(f.shard).StripeField(ctx, stripe, id)
	return d.GetField(), err
}

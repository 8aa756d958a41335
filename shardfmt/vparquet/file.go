package vparquet

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"sort"
	"strconv"
	"sync/atomic"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// Version is the number of the layout. It goes into the names of objects, so that no layout changes under a reader: a change of any
// byte is another number.
const Version = 1

// errRange is a range that the file does not have.
var errRange = errors.New("range outside the file")

// Options of Open. The zero value describes all columns, without a cache.
type Options struct {
	// FieldIDs are the Iceberg field ids of the nodes of the shard's schema by their number; nodes of id 0 are left out, with all below
	// them. Without ids each node has its number plus one.
	FieldIDs []int
	// Types gives Iceberg's type of the column of a field id as text ("date", "timestamp", "decimal(10, 2)"); "" stands for the type that
	// the shard's is mapped to. Other types than these three are ignored.
	Types func(id int) string
	// Cache keeps pages and counts, nil for none. One cache should serve all files.
	Cache *Cache
	// Counts keeps counts beyond the process, nil for none.
	Counts CountStore
	// Key names the shard in Cache and Counts, its URL if empty. What is a column, and of which type, is added.
	Key string
	// MaxMemory bounds the memory of one call in bytes, shardfmt.DefaultMaxMemory if 0.
	MaxMemory int64
	// Workers is how many batches are decoded at the same time, the number of processors if 0.
	Workers int
}

// File is a shard as a Parquet file. It is immutable, and safe for concurrent use.
type File struct {
	shard    *shardfmt.Shard
	o        Options
	key      string
	elements []element
	leaves   []*leaf
	groups   []group
	rows     int64
	// pageBytes is the most bytes of the values of a page of several rows.
	pageBytes int64
	// dataEnd, indexEnd and footerStart are where the parts of the file end and begin.
	dataEnd, indexEnd, footerStart, footerLen, size int64
	footer                                          atomic.Pointer[[]byte]
	flights                                         flights
	stats                                           fileStats
}

type fileStats struct{ rowsDecoded, blocksRead, pagesMade, pagesCached, chunksCounted atomic.Int64 }

// Stats counts the work that a file has made.
type Stats struct {
	// RowsDecoded are the rows of all columns that were decoded, BlocksRead blocks of 256 of them.
	RowsDecoded, BlocksRead int64
	// PagesMade were encoded, PagesCached found in the cache.
	PagesMade, PagesCached int64
	// ChunksCounted are column chunks that were decoded to find the sizes of their pages.
	ChunksCounted int64
}

// Stats returns the work so far.
func (f *File) Stats() Stats {
	s := &f.stats
	return Stats{s.rowsDecoded.Load(), s.blocksRead.Load(), s.pagesMade.Load(), s.pagesCached.Load(), s.chunksCounted.Load()}
}

// Open lays out the Parquet file of an opened shard, which must stay open. It reads metadata of the shard, and decodes a column only where
// no upper bound of its size can be found there.
func Open(ctx context.Context, shard *shardfmt.Shard, o Options) (*File, error) {
	return open(ctx, shard, o, pageBytes)
}

// open is Open with a limit of the values of a page in bytes.
func open(ctx context.Context, shard *shardfmt.Shard, o Options, limit int64) (*File, error) {
	s, err := shard.Schema(ctx)
	if err != nil {
		return nil, err
	}
	f := &File{shard: shard, o: o, key: o.Key, pageBytes: limit}
	if f.key == "" {
		f.key = shard.URL()
	}
	if err := arrowtype.Check(s); err != nil {
		return nil, f.fail(err)
	}
	ids := o.FieldIDs
	if ids == nil {
		for i := range s.Count {
			ids = append(ids, int(i)+1)
		}
	}
	if len(ids) != int(s.Count) {
		return nil, f.fail(fmt.Errorf("%d field ids for %d nodes", len(ids), s.Count))
	}
	t, err := newTree(s, ids, o.Types)
	if err != nil {
		return nil, f.fail(err)
	}
	f.elements, f.leaves = t.elements, t.leaves
	f.key += "#" + f.fingerprint()
	if err := f.plan(ctx); err != nil {
		return nil, f.fail(err)
	}
	return f, nil
}

// fingerprint is a hash of what pages depend on beside the shard: which of its fields are columns, and as what type.
func (f *File) fingerprint() string {
	h := fnv.New64a()
	fmt.Fprint(h, Version)
	for _, l := range f.leaves {
		fmt.Fprint(h, " ", l.node.ID, l.form, l.precision, l.scale)
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// fail adds the shard to an error.
func (f *File) fail(err error) error {
	return fmt.Errorf("view of %s as Parquet: %w", f.shard.URL(), err)
}

// number is the number of a chunk in the file.
func (f *File) number(group, column int) int { return group*len(f.leaves) + column }

// Size is the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// Rows is the number of rows, deleted ones included.
func (f *File) Rows() int64 { return f.rows }

// RowGroups are the offsets of the row groups, rising: Iceberg's split offsets.
func (f *File) RowGroups() []int64 {
	out := make([]int64, 0, len(f.groups))
	for i := range f.groups {
		if chunks := f.groups[i].chunks; len(chunks) > 0 {
			out = append(out, chunks[0].start)
		}
	}
	return out
}

// ColumnSizes are the bytes of each column by field id; where they are not known yet, an upper bound.
func (f *File) ColumnSizes() map[int]int64 {
	out := make(map[int]int64, len(f.leaves))
	for g := range f.groups {
		for c := range f.groups[g].chunks {
			out[f.leaves[c].id] += f.groups[g].chunks[c].room
		}
	}
	return out
}

const (
	chunkMemory = 160
	leafMemory  = 512
)

// Memory is about how many bytes the file keeps, what lies in the cache and in the shard not counted.
func (f *File) Memory() int64 {
	n := int64(leafMemory * (len(f.leaves) + len(f.elements)))
	for g := range f.groups {
		n += chunkMemory * int64(len(f.groups[g].chunks))
	}
	if b := f.footer.Load(); b != nil {
		n += int64(len(*b))
	}
	return n
}

// ReadRange fills p with the bytes from off on.
func (f *File) ReadRange(ctx context.Context, off int64, p []byte) error {
	return f.WriteRange(ctx, &sliceWriter{p}, off, int64(len(p)))
}

// sliceWriter fills a slice.
type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	n := copy(w.b, p)
	w.b = w.b[n:]
	return n, nil
}

// WriteRange writes n bytes from off on. They are the same whatever ranges are requested in which order. Only what the range covers is
// decoded.
func (f *File) WriteRange(ctx context.Context, w io.Writer, off, n int64) error {
	if off < 0 || n < 0 || off > f.size || n > f.size-off {
		return fmt.Errorf("%w: %d bytes at %d of %d", errRange, n, off, f.size)
	}
	x := &window{w: w, at: off, end: off + n}
	for _, part := range []func(context.Context, *window) error{f.writeData, f.writeIndexes, f.writeFooter} {
		if x.done() {
			return nil
		}
		if err := part(ctx, x); err != nil {
			return f.fail(err)
		}
	}
	return nil
}

// window writes the part of the file between two positions.
type window struct {
	w       io.Writer
	at, end int64
}

func (x *window) done() bool { return x.at >= x.end }

// overlaps reports whether bytes of the window that were not written yet lie in [start, end).
func (x *window) overlaps(start, end int64) bool { return x.at < end && start < x.end }

var zeros [16 << 10]byte

// put writes what of b, which lies at pos, is in the window, and zeros before it.
func (x *window) put(pos int64, b []byte) error {
	if err := x.zeros(pos); err != nil {
		return err
	}
	end := pos + int64(len(b))
	if !x.overlaps(pos, end) {
		return nil
	}
	b = b[x.at-pos : min(end, x.end)-pos]
	n, err := x.w.Write(b)
	if x.at += int64(n); err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// zeros writes zeros up to pos.
func (x *window) zeros(pos int64) error {
	for to := min(pos, x.end); x.at < to; {
		n, err := x.w.Write(zeros[:min(to-x.at, int64(len(zeros)))])
		if x.at += int64(n); err != nil {
			return err
		}
	}
	return nil
}

// writeData writes the magic and the chunks.
func (f *File) writeData(ctx context.Context, x *window) error {
	if err := x.put(0, magic); err != nil {
		return err
	}
	g := sort.Search(len(f.groups), func(i int) bool {
		chunks := f.groups[i].chunks
		return len(chunks) > 0 && chunks[len(chunks)-1].start+chunks[len(chunks)-1].room > x.at
	})
	for ; g < len(f.groups); g++ {
		for c := range f.groups[g].chunks {
			k := &f.groups[g].chunks[c]
			if k.start >= x.end {
				return x.zeros(f.dataEnd)
			}
			if !x.overlaps(k.start, k.start+k.room) {
				continue
			}
			if err := f.writeChunk(ctx, x, g, c); err != nil {
				return err
			}
		}
	}
	return x.zeros(f.dataEnd)
}

// cachedPage is a page in the cache.
type cachedPage struct {
	b    []byte
	rows int64
}

// position is a place between two pages of a chunk.
type position struct {
	page int
	row  int64
	// at is its offset in the file.
	at int64
}

// writeChunk writes what of a chunk is in the window.
func (f *File) writeChunk(ctx context.Context, x *window, group, column int) error {
	p, last, err := f.locate(ctx, x, group, column)
	if err != nil {
		return err
	}
	g := &f.groups[group]
	k := &g.chunks[column]
	var seen *counts
	if p.page == 0 && !f.leaves[column].uniform() {
		seen = &counts{}
	}
	take := func(v cachedPage, entries int) error {
		end := p.at + int64(len(v.b))
		if end > k.start+k.room || k.exact && p.row+v.rows == g.rows && end != k.start+k.size {
			return f.contradicts(group, column)
		}
		if seen != nil {
			seen.add(pageCount{uint32(v.rows), uint32(entries), uint32(len(v.b))})
		}
		err := x.put(p.at, v.b)
		p = position{p.page + 1, p.row + v.rows, end}
		return err
	}
	key := cacheKey{f.key, f.number(group, column), 0}
	for p.row < last && p.at < x.end {
		if err := ctx.Err(); err != nil {
			return err
		}
		key.page = p.page
		if v, ok := f.o.Cache.get(key); ok {
			f.stats.pagesCached.Add(1)
			seen = nil // the entries of a page are not kept with it
			if err := take(v.(cachedPage), 0); err != nil {
				return err
			}
			continue
		}
		err := f.shred(ctx, chunkRows{group, column, p.row, last}, func(made *page) error {
			v := cachedPage{made.encode(), int64(made.rows)}
			f.stats.pagesMade.Add(1)
			f.o.Cache.put(cacheKey{f.key, key.chunk, p.page}, v, int64(cap(v.b)))
			if err := take(v, made.entries); err != nil {
				return err
			}
			if _, ok := f.o.Cache.get(cacheKey{f.key, key.chunk, p.page}); ok || p.at >= x.end {
				return errEnough
			}
			return ctx.Err()
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	if seen != nil && p.row == g.rows {
		f.keep(ctx, group, column, seen)
	}
	return nil
}

// locate finds the page in which the window goes on, and the row at which the last page that it needs ends.
func (f *File) locate(ctx context.Context, x *window, group, column int) (p position, last int64, err error) {
	g, l := &f.groups[group], f.leaves[column]
	k := &g.chunks[column]
	from, to := max(0, x.at-k.start), x.end-k.start
	p.at = k.start
	if l.uniform() {
		most := int64(l.rowsPerPage())
		size := l.pageSize(most, most, 0)
		n := from / size
		p = position{int(n), min(n*most, g.rows), k.start + n*size}
		return p, min(g.rows, ceil(to, size)*most), nil
	}
	c := f.known(ctx, group, column)
	if c == nil && from == 0 {
		return p, g.rows, nil
	}
	if c == nil {
		if c, err = f.count(ctx, group, column); err != nil {
			return p, 0, err
		}
	}
	row, at := int64(0), int64(0)
	for i, n := range c.pages {
		if at >= to {
			break
		}
		if at <= from {
			p = position{i, row, k.start + at}
		}
		row, at = row+int64(n.rows), at+int64(n.size)
	}
	if at <= from { // behind the last page
		p = position{len(c.pages), row, k.start + at}
	}
	return p, row, nil
}

// writeIndexes writes the offset indexes.
func (f *File) writeIndexes(ctx context.Context, x *window) error {
	if !x.overlaps(f.dataEnd, f.indexEnd) {
		return x.zeros(f.indexEnd)
	}
	for g := range f.groups {
		for c := range f.groups[g].chunks {
			k := &f.groups[g].chunks[c]
			if !x.overlaps(k.index, k.index+k.indexRoom) {
				continue
			}
			b, err := f.offsetIndex(ctx, g, c)
			if err != nil {
				return err
			}
			if err := x.put(k.index, b); err != nil {
				return err
			}
		}
	}
	return x.zeros(f.indexEnd)
}

// writeFooter writes the gap, the footer, its length and the magic.
func (f *File) writeFooter(ctx context.Context, x *window) error {
	if err := x.zeros(f.footerStart); err != nil || x.done() {
		return err
	}
	b, err := f.footerBytes(ctx)
	if err != nil {
		return err
	}
	return x.put(f.footerStart, b)
}

// footerBytes is the footer with its length and the magic. It is kept.
func (f *File) footerBytes(ctx context.Context) ([]byte, error) {
	if b := f.footer.Load(); b != nil {
		return *b, nil
	}
	all, err := f.extents(ctx)
	if err != nil {
		return nil, err
	}
	b := f.encodeFooter(all)
	b = append(b, byte(f.footerLen), byte(f.footerLen>>8), byte(f.footerLen>>16), byte(f.footerLen>>24))
	b = slices.Clip(append(b, magic...))
	f.footer.Store(&b)
	return b, nil
}

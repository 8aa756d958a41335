package layer

import (
	"context"
	"fmt"
	"sync"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// File is an open layer file. Its methods may be called concurrently.
type File struct {
	st    fileformat.Store
	url   string
	size  int64
	t     *trailer
	types []Pair // nil if they are not known: structure only
	x     extension
	// recordBytes is the size of the block of the extension, if it has one.
	recordBytes int64

	mu     sync.Mutex
	tail   []byte // the end of the file, as it was read when opening
	blocks map[int64]any
	ahead  map[int64][]byte // stored blocks that Warm has read, until they are requested
	held   int64            // bytes of blocks
	keep   int64            // how many are kept
	stats  Stats
	table  []partition // of filters, once it is read
	filter Filter      // of the whole file, once it is read
}

// Stats counts what was read.
type Stats struct {
	// Blocks that were loaded and checked; those that were still available are not counted.
	Blocks int64
	// Bytes of them, as stored.
	Bytes int64
	// Probes of filters; a partitioned one is read 36 bytes at a time.
	Probes int64
}

// tailSize is how much of the end is read first, in bytes: the trailer, and in files of usual size the index blocks
// of the top levels, which are written last.
const tailSize = 64 << 10

// cacheBytes is how many bytes of blocks are kept, if KeepBlocks states no other number.
const cacheBytes = 32 << 20

// Open reads the trailer: one request. Types are those of the columns, which most files do not state; nil takes what the
// file states, and without that only the structure can be read.
func Open(ctx context.Context, st fileformat.Store, url string, types []Pair) (*File, error) {
	tail, info, err := st.ReadSuffix(ctx, url, tailSize)
	if err != nil {
		return nil, err
	}
	f := &File{st: st, url: url, size: info.Size, types: types, tail: tail, blocks: map[int64]any{}, keep: cacheBytes}
	if f.size < trailerSize || f.size%blockUnit != 0 {
		return nil, corrupt.Locate(corrupt.At(0, "%d bytes: the size of a layer file is a multiple of %d", f.size, blockUnit), url, 0)
	}
	if f.t, err = parseTrailer(tail[len(tail)-trailerSize:], f.size); err != nil {
		return nil, corrupt.Locate(err, url, f.size-trailerSize)
	}
	if err := f.describe(ctx, tail[len(tail)-trailerSize:]); err != nil {
		return nil, corrupt.Locate(err, url, f.size-trailerSize)
	}
	switch said := f.x.Types; {
	case types == nil:
		f.types = said
	case said != nil && TypesText(said) != TypesText(types):
		return nil, &fileformat.OptionError{Name: optionTypes, Value: TypesText(types), What: "the file has " + TypesText(said)}
	}
	if types != nil && len(types) != len(f.t.columns) {
		return nil, &fileformat.OptionError{Name: optionTypes, Value: TypesText(types), What: fmt.Sprintf("the file has %d columns", len(f.t.columns))}
	}
	return f, nil
}

// KeepBlocks bounds the bytes of blocks that are kept, for who reads a file from its start to its end.
func (f *File) KeepBlocks(bytes int64) { f.keep = bytes }

// Columns is how many columns (layers) the file has.
func (f *File) Columns() int { return len(f.t.columns) }

// Rows of a column.
func (f *File) Rows(column int) uint64 { return f.t.columns[column].rows }

// Stats reports what was read so far.
func (f *File) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// pair is the types of a column; without them the items are taken for byte-sized ones.
func (f *File) pair(column int) Pair {
	if f.types == nil {
		return Pair{}
	}
	return f.types[column]
}

// stored gives the bytes of a block as they lie in the file.
func (f *File) stored(ctx context.Context, loc location) ([]byte, error) {
	if start := f.size - int64(len(f.tail)); loc.offset >= start {
		return f.tail[loc.offset-start:][:loc.size:loc.size], nil
	}
	if loc.size > maxBlock {
		return nil, corrupt.Unsupported(loc.offset, "a block of %d bytes, more than the limit of %d", loc.size, maxBlock)
	}
	f.mu.Lock()
	b := f.ahead[loc.offset]
	delete(f.ahead, loc.offset)
	f.mu.Unlock()
	if int64(len(b)) == loc.size {
		return b, nil
	}
	b = make([]byte, loc.size)
	_, err := f.st.ReadRange(ctx, f.url, loc.offset, b)
	return b, err
}

// load gives a parsed block: one that is available, or one that is read and checked now.
func (f *File) load(ctx context.Context, loc location, magic string, parse func([]byte) (any, error)) (any, error) {
	f.mu.Lock()
	at, known := f.blocks[loc.offset]
	f.mu.Unlock()
	if known {
		return at, nil
	}
	stored, err := f.stored(ctx, loc)
	if err != nil {
		return nil, err
	}
	b, err := f.t.compression.load(stored, magic)
	if err == nil {
		at, err = parse(b)
	}
	if err != nil {
		return nil, corrupt.Locate(err, f.url, loc.offset)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Blocks++
	f.stats.Bytes += loc.size
	if f.held += int64(len(b)); f.held > f.keep {
		clear(f.blocks)
		f.held = int64(len(b))
	}
	f.blocks[loc.offset] = at
	return at, nil
}

// data loads a leaf of a column.
func (f *File) data(ctx context.Context, column int, loc location, rows uint64) (*dataBlock, error) {
	b, err := f.load(ctx, loc, magicData, func(b []byte) (any, error) {
		return parseData(b, f.pair(column), rows, column == len(f.t.columns)-1)
	})
	if err != nil {
		return nil, err
	}
	d, ok := b.(*dataBlock)
	if !ok || uint64(d.n) != rows {
		return nil, corrupt.Locate(corrupt.At(loc.offset, "a block is claimed by two parents"), f.url, 0)
	}
	return d, nil
}

// index loads an inner node of a column.
func (f *File) index(ctx context.Context, column int, loc location, rows uint64) (*indexBlock, error) {
	magic := magicIndex
	if f.keyless(column) {
		magic = magicRows
	}
	b, err := f.load(ctx, loc, magic, func(b []byte) (any, error) {
		return parseIndex(b, rows, f.size-trailerSize, f.keyless(column))
	})
	if err != nil {
		return nil, err
	}
	x, ok := b.(*indexBlock)
	if !ok || x.totals.at(x.n-1) != rows {
		return nil, corrupt.Locate(corrupt.At(loc.offset, "a block is claimed by two parents"), f.url, 0)
	}
	return x, nil
}

// node is a block of a column's tree and the rows below it.
type node struct {
	location
	index      bool
	start, end uint64
	column     int
	depth      int
}

// top is the root of a column.
func (f *File) top(column int) node {
	r := f.t.columns[column]
	return node{r.location, r.index, 0, r.rows, column, 1}
}

// child is the node of a child.
func (n node) child(x *indexBlock, i int) node {
	loc, start, end := x.child(i)
	return node{loc, x.childIndex, n.start + start, n.start + end, n.column, n.depth + 1}
}

// open loads an index node.
func (n node) open(ctx context.Context, f *File) (*indexBlock, error) {
	if n.depth > maxDepth {
		return nil, corrupt.Locate(corrupt.At(n.offset, "a tree of more than %d levels", maxDepth), f.url, 0)
	}
	return f.index(ctx, n.column, n.location, n.end-n.start)
}

// Close implements fileformat.File.
func (f *File) Close() error { return nil }

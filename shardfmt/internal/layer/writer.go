package layer

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// FilterKind is a filter over the keys of the first column.
type FilterKind string

// The filters. What Bloom collects grows with the number of keys, 8 bytes each; Roaring is exact, of integer keys
// whose span has 32 bits, and grows with how scattered they are.
const (
	NoFilter FilterKind = "none"
	Bloom    FilterKind = "bloom"
	Roaring  FilterKind = "roaring"
	// Partitioned is many filters, each over the keys of some 32,768 rows and of the index block in which the last of
	// them lie: memory does not grow with the number of keys, and a lookup reads 36 bytes. Readers that don't know it
	// pass over it.
	Partitioned FilterKind = "partitioned"
)

// WriteOptions determine how a file is written. The zero value writes what the database this format comes from does,
// without compression and filter.
type WriteOptions struct {
	// MinDataBlock and MinIndexBlock are what blocks are filled to, in bytes: 8192 if 0.
	MinDataBlock, MinIndexBlock int
	// MinBranch is the fewest items or children of a block, however large they are: 32 if 0.
	MinBranch   int
	Compression Compression
	Filter      FilterKind
	// FilterBits of a Partitioned filter for each key, 8 to 16: DefaultFilterBits if 0.
	FilterBits int
	// FilterMinKey is the fewest bytes of a key that a Partitioned filter holds.
	FilterMinKey int
	// NoValueIndex are columns whose index has row numbers only: it is smaller by far, and no key can be searched for.
	// Readers that don't know it refuse the file.
	NoValueIndex []int
	// SelfDescribing writes the types of the columns into the file.
	SelfDescribing bool
	// Name and Settings are written into the file.
	Name     string
	Settings []Setting
}

// withDefaults fills in what is zero.
func (o WriteOptions) withDefaults() WriteOptions {
	if o.MinDataBlock <= 0 {
		o.MinDataBlock = DefaultBlock
	}
	if o.MinIndexBlock <= 0 {
		o.MinIndexBlock = DefaultBlock
	}
	if o.MinBranch <= 0 {
		o.MinBranch = DefaultBranch
	}
	if o.Filter == "" {
		o.Filter = NoFilter
	}
	if o.FilterBits <= 0 {
		o.FilterBits = DefaultFilterBits
	}
	return o
}

// Defaults of WriteOptions.
const (
	DefaultBlock  = 8192
	DefaultBranch = 32
)

// Writer writes a file in one pass: nothing is written twice. It holds a data block of every column and an index
// block of every level of its tree.
type Writer struct {
	w       io.Writer
	o       WriteOptions
	p       parameters
	columns []*columnWriter
	at      int64
	err     error

	hashes []uint64    // for a Bloom filter
	parts  partitioner // for partitioned ones
	x      extension
	roar   *roar // begun with the first key
}

// columnWriter is the tree of one column on its way.
type columnWriter struct {
	data   dataBuilder
	levels []*indexBuilder
	rows   uint64
	// groupStart is the row of the next column at which the group of the next row begins, or -1 in the last column.
	groupStart int64
	// last is the key before, in a group that has one.
	last    Value
	hasLast bool
}

// Errors of Writer.
var (
	ErrOrder = errors.New("a key that is not greater than the one before")
	ErrGroup = errors.New("a row without rows in the next column")
)

// NewWriter begins a file.
func NewWriter(w io.Writer, types []Pair, o WriteOptions) (*Writer, error) {
	o = o.withDefaults()
	if len(types) == 0 || len(types) > maxColumns {
		return nil, fmt.Errorf("%d columns, where a layer file has 1 to %d", len(types), maxColumns)
	}
	if _, ok := types[0].Key.integer(Value{}); o.Filter == Roaring && !ok {
		return nil, fmt.Errorf("%w: a roaring filter over keys of type %s", corrupt.ErrUnsupported, types[0].Key)
	}
	out := &Writer{w: w, o: o, p: parameters{o.MinDataBlock, o.MinIndexBlock, o.MinBranch}}
	if err := out.describe(types); err != nil {
		return nil, err
	}
	for i, pair := range types {
		c := &columnWriter{groupStart: -1, data: dataBuilder{p: &out.p, pair: pair}}
		if i < len(types)-1 {
			c.groupStart = 0
		}
		c.data.begin(c.groupStart)
		out.columns = append(out.columns, c)
	}
	return out, nil
}

// describe prepares the record in the trailer.
func (w *Writer) describe(types []Pair) error {
	o := w.o
	w.parts = partitioner{bits: o.FilterBits, minKey: o.FilterMinKey}
	w.x = extension{Description: Description{Name: o.Name, Settings: o.Settings}, bits: uint64(o.FilterBits), minKey: uint64(o.FilterMinKey)}
	if o.SelfDescribing {
		w.x.Types = types
	}
	for _, i := range o.NoValueIndex {
		if i < 0 || i >= len(types) {
			return fmt.Errorf("no value index for column %d of %d", i, len(types))
		}
		w.x.keyless |= 1 << i
	}
	if (!w.x.empty() || o.Filter == Partitioned) && len(types) > extensionColumns {
		return fmt.Errorf("%w: %d columns are too many for a name, settings, types, partitioned filters or an index without keys, which allow at most %d", corrupt.ErrUnsupported, len(types), extensionColumns)
	}
	if o.Filter == Partitioned && w.x.keyless&1 != 0 {
		return fmt.Errorf("%w: a partitioned filter needs the value index of the first column", corrupt.ErrUnsupported)
	}
	return nil
}

// Write appends a row to a column. All rows of a group are written before the row of the column before that owns
// them, in order of their keys; each row but those of the last column must have some.
func (w *Writer) Write(column int, key, aux Value) error {
	if w.err != nil {
		return w.err
	}
	w.err = w.write(column, key, aux)
	return w.err
}

func (w *Writer) write(column int, key, aux Value) error {
	c := w.columns[column]
	if t := c.data.pair.Key; c.hasLast && t.Kind != Opaque && t.compare(c.last, key) >= 0 {
		return fmt.Errorf("row %d of column %d: %w", c.rows, column, ErrOrder)
	}
	end := uint64(0)
	if column < len(w.columns)-1 {
		next := w.columns[column+1]
		if end = next.rows; int64(end) == c.groupStart {
			return fmt.Errorf("row %d of column %d: %w", c.rows, column, ErrGroup)
		}
		next.hasLast = false
	}
	if !c.data.add(key, aux, end) {
		if err := w.emit(c); err != nil {
			return err
		}
		c.data.begin(c.groupStart)
		c.data.add(key, aux, end)
	}
	if len(c.data.b) > maxBlock {
		return fmt.Errorf("%w: row %d of column %d makes a block of more than %d bytes", corrupt.ErrUnsupported, c.rows, column, maxBlock)
	}
	if column == 0 {
		if err := w.note(key); err != nil {
			return err
		}
	}
	c.last, c.hasLast = c.data.high, true
	if c.groupStart >= 0 {
		c.groupStart = int64(end)
	}
	c.rows++
	return nil
}

// note takes a key in for the filter.
func (w *Writer) note(key Value) error {
	t := w.columns[0].data.pair.Key
	switch w.o.Filter {
	case Bloom:
		w.hashes = append(w.hashes, hashKey(t, key))
	case Partitioned:
		if filtered(t, key, w.x.minKey) {
			w.parts.pending = append(w.parts.pending, keyHash{w.columns[0].rows, hashKey(t, key)})
		}
	case Roaring:
		n, _ := t.integer(key)
		if w.roar == nil {
			w.roar = &roar{t, n, roaring.New()}
		}
		if n-w.roar.base > math.MaxUint32 {
			return fmt.Errorf("%w: a roaring filter over keys of more than 32 bits between the first and the last", corrupt.ErrUnsupported)
		}
		w.roar.bits.Add(uint32(n - w.roar.base))
	}
	return nil
}

// put writes a finished block and reports where it lies.
func (w *Writer) put(b []byte) (location, error) {
	loc := location{w.at, int64(len(b))}
	_, err := w.w.Write(b)
	w.at += int64(len(b))
	return loc, err
}

// emit writes the data block of a column and enters it into the index.
func (w *Writer) emit(c *columnWriter) error {
	e := entry{low: c.data.low, high: c.data.high, rows: uint64(len(c.data.offsets))}
	var err error
	if e.location, err = w.put(w.o.Compression.store(c.data.finish(), magicData)); err != nil {
		return err
	}
	return w.enter(c, 0, e)
}

// enter adds a block to the index block of a level, which is written when it is full.
func (w *Writer) enter(c *columnWriter, level int, e entry) error {
	if level == len(c.levels) {
		x := &indexBuilder{p: &w.p, key: c.data.pair.Key, keyless: w.keyless(c)}
		x.begin()
		c.levels = append(c.levels, x)
	}
	x := c.levels[level]
	if x.add(e) {
		return nil
	}
	if err := w.raise(c, level); err != nil {
		return err
	}
	x.begin()
	x.add(e)
	return nil
}

// raise writes the index block of a level and enters it into the next one.
func (w *Writer) raise(c *columnWriter, level int) error {
	x := c.levels[level]
	e := entry{index: true, low: x.low, high: x.high, rows: x.totals[len(x.totals)-1]}
	var err error
	magic := magicIndex
	if x.keyless {
		magic = magicRows
	}
	if e.location, err = w.put(w.o.Compression.store(x.finish(), magic)); err != nil {
		return err
	}
	if c == w.columns[0] && level == 0 && w.o.Filter == Partitioned {
		if w.parts.covered += e.rows; w.parts.covered-w.parts.start >= partitionKeys {
			if err := w.writePartition(w.parts.covered); err != nil {
				return err
			}
		}
	}
	return w.enter(c, level+1, e)
}

// keyless reports whether a column has no keys in its index.
func (w *Writer) keyless(c *columnWriter) bool {
	for i := range w.columns {
		if w.columns[i] == c {
			return w.x.keyless>>i&1 != 0
		}
	}
	return false
}

// Close writes the rest of every column, the filter and the trailer.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	t := &trailer{version: version, compression: w.o.Compression, compatible: compatibleHints}
	for i, c := range w.columns {
		if i > 0 && int64(c.rows) != w.columns[i-1].groupStart {
			return fmt.Errorf("column %d has rows that no row of the column before owns", i)
		}
		r, err := w.closeColumn(c)
		if err != nil {
			return err
		}
		t.columns = append(t.columns, r)
	}
	if err := w.closeFilter(t); err != nil {
		return err
	}
	record, err := w.record(t)
	if err != nil {
		return err
	}
	_, err = w.put(t.append(nil, record))
	return err
}

// record makes the record in the trailer and announces it; it is empty where there is nothing to say.
func (w *Writer) record(t *trailer) ([]byte, error) {
	if w.x.empty() {
		return nil, nil
	}
	w.x.Writer = writerName
	t.compatible |= compatibleRecord
	if w.x.keyless != 0 {
		t.incompatible |= incompatibleKeyless
	}
	return w.x.record(w.put)
}

// closeColumn writes the rest of a column. A top level of one block is not written: that block is the root.
func (w *Writer) closeColumn(c *columnWriter) (root, error) {
	if c.rows == 0 {
		return root{}, nil
	}
	if err := w.emit(c); err != nil {
		return root{}, err
	}
	for level := 0; ; level++ {
		x := c.levels[level]
		if level == len(c.levels)-1 && len(x.places) == 1 {
			return root{x.places[0], x.index, c.rows}, nil
		}
		if err := w.raise(c, level); err != nil {
			return root{}, err
		}
	}
}

func (w *Writer) closeFilter(t *trailer) (err error) {
	var b []byte
	switch {
	case len(w.hashes) > 0:
		f := newBloom(w.columns[0].data.pair.Key, uint64(len(w.hashes)))
		for _, h := range w.hashes {
			f.insert(h)
		}
		b = f.block()
	case w.o.Filter == Partitioned && w.columns[0].rows > 0:
		if err := w.writePartition(w.columns[0].rows); err != nil {
			return err
		}
		w.x.table, err = w.writeTable()
		return err
	case w.roar != nil:
		t.incompatible |= incompatibleRoar
		if b, err = w.roar.block(); err != nil {
			return err
		}
	default:
		return nil
	}
	t.filter, err = w.put(b)
	return err
}

package parquetcolumn

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

const (
	// MaxCodedRows is how many rows of a column of codes may be requested at once: with half as many entries of dictionaries, and
	// each row an entry of its own, codes have 16 bits.
	MaxCodedRows = 1 << 15
	// maxCodedDictionary is the longest dictionary page of a column that is worth codes, in bytes of the file: a few thousand entries.
	maxCodedDictionary = 16 << 10
)

// NewCoded gives a column of decimals, texts or byte strings as arrays of codes, of 16 bits, in dictionaries of a type, at most
// MaxCodedRows at once, and one of INT96 as these are stored. It is nil for other types, where New is, and where the footer doesn't state about all chunks that their dictionaries are short.
// An entry may come several times, and be of no row.
func NewCoded(f *file.Reader, index int, to arrow.DataType, o Options) *Column {
	switch to.ID() {
	case arrow.DECIMAL128, arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY:
	case arrow.TIMESTAMP:
		if f.MetaData().Schema.Column(index).PhysicalType() == parquet.Types.Int96 {
			return New(f, index, arrowtype.Int96, o)
		}
		return nil
	default:
		return nil
	}
	if !shortDictionaries(f, index) {
		return nil
	}
	c := New(f, index, to, o)
	if c == nil {
		return nil
	}
	c.values = &codes{
		fixed: fixed[uint16]{kind: arrow.PrimitiveTypes.Uint16, raw: arrow.Uint16Traits.CastToBytes},
		kind:  &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: to},
		entry: c.values,
	}
	return c
}

// shortDictionaries reports whether all chunks of a column have a short dictionary by the footer.
func shortDictionaries(f *file.Reader, column int) bool {
	for g := range f.NumRowGroups() {
		chunk, err := f.MetaData().RowGroup(g).ColumnChunk(column)
		if err != nil || !chunk.HasDictionaryPage() {
			return false
		}
		if size := chunk.DataPageOffset() - chunk.DictionaryPageOffset(); size <= 0 || size > maxCodedDictionary {
			return false
		}
	}
	return f.NumRowGroups() > 0
}

// codes are values as codes. The entries of a batch are the dictionaries that its rows are of, one behind the other, which many batches
// share; where a page isn't coded, or dictionaries would be more than half of the batch, each row is an entry of its own.
type codes struct {
	fixed[uint16] // the codes
	kind          *arrow.DictionaryType

	// entry makes arrays of entries. It has the row group's dictionary, of size entries; made are these as an array, nil until they are
	// requested, and first is where they begin among the entries of the batch, −1 where they aren't among them.
	entry values
	size  int
	made  arrow.Array
	first int

	// parts are the entries of the batch, n together, of which shared at most may be of dictionaries that are still to come.
	parts  []arrow.Array
	n      int
	shared int
}

func (c *codes) reset(n int, keep bool) error {
	if err := c.fixed.reset(n, keep); err != nil {
		return err
	}
	c.parts, c.n, c.shared, c.first = nil, 0, n/2, -1
	return nil
}

func (c *codes) dictionary(data []byte, n int) error {
	c.size, c.made, c.first = 0, nil, -1
	if err := c.entry.dictionary(data, n); err != nil {
		return err
	}
	if err := c.entry.reset(n, true); err != nil {
		return err
	}
	if _, err := c.entry.plain(data, n); err != nil {
		return err
	}
	made, err := c.entry.array(0, nil)
	if err == nil {
		c.size, c.made = n, made
	}
	return err
}

func (c *codes) plain(data []byte, n int) ([]byte, error) {
	if len(c.out)+n > MaxCodedRows {
		return nil, errCodedRows
	}
	if err := c.entry.reset(n, true); err != nil {
		return nil, err
	}
	rest, err := c.entry.plain(data, n)
	if err != nil {
		return nil, err
	}
	return rest, c.own(n)
}

var errCodedRows = fmt.Errorf("more than %d rows of codes", MaxCodedRows)

// own adds the n values that entry has as entries of rows of their own.
func (c *codes) own(n int) error {
	out, first := c.grow(n), c.n
	for i := range out {
		out[i] = uint16(first + i)
	}
	entries, err := c.entry.array(0, nil)
	if err == nil {
		c.add(entries)
	}
	return err
}

func (c *codes) add(entries arrow.Array) {
	c.parts, c.n = append(c.parts, entries), c.n+entries.Len()
}

func (c *codes) coded(numbers []uint32) error {
	if len(c.out)+len(numbers) > MaxCodedRows {
		return errCodedRows
	}
	if c.first < 0 && c.size > c.shared {
		if err := c.entry.reset(len(numbers), true); err != nil {
			return err
		}
		if err := c.entry.coded(numbers); err != nil {
			return err
		}
		return c.own(len(numbers))
	}
	if c.first < 0 {
		c.first, c.shared = c.n, c.shared-c.size
		c.add(c.made)
	}
	out, first, size := c.grow(len(numbers)), c.first, c.size
	for i, n := range numbers {
		if uint64(n) >= uint64(size) {
			return errCode
		}
		out[i] = uint16(first + int(n))
	}
	return nil
}

func (c *codes) array(nulls int, validity *memory.Buffer) (arrow.Array, error) {
	entries, err := c.entries()
	if err != nil {
		return nil, err
	}
	buffers := []*memory.Buffer{validity, memory.NewBufferBytes(c.raw(c.out))}
	data := array.NewDataWithDictionary(c.kind, len(c.out), buffers, nulls, 0, entries.Data().(*array.Data))
	defer data.Release()
	return array.MakeFromData(data), nil
}

// entries are those of the batch.
func (c *codes) entries() (arrow.Array, error) {
	switch len(c.parts) {
	case 0: // all rows are null
		if err := c.entry.reset(0, true); err != nil {
			return nil, err
		}
		return c.entry.array(0, nil)
	case 1:
		return c.parts[0], nil
	}
	return array.Concatenate(c.parts, memory.DefaultAllocator)
}

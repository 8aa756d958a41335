package parquetcolumn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// Column reads one column of a file, row group after row group. Not for concurrent use.
type Column struct {
	file     *file.Reader
	index    int
	name     string
	nullable bool
	keep     bool
	values   values

	// group is the row group that is opened next, pages those of the open one, which has rows behind the page.
	group  int
	pages  file.PageReader
	rows   int64
	coding bool // it has a dictionary

	// left is how many rows of the page are still to be read: by levels if there may be nulls, then of codes or plain.
	left   int
	levels hybrid
	coded  bool
	codes  hybrid
	plain  []byte

	// numbers and marks are the codes and the levels that are read at once, valid the validity of the batch.
	numbers, marks []uint32
	valid          []byte
}

// ErrEncoding is a page in an encoding that this package lacks, which the footer does not list: other readers may have it.
var ErrEncoding = errors.New("values in an encoding that the footer doesn't list")

// New gives a column of a file as arrays of a type, or nil if it isn't one of the common ones. The arrays that a column gives
// are valid until the next one, unless they are kept.
func New(f *file.Reader, index int, to arrow.DataType, keep bool) *Column {
	c := f.MetaData().Schema.Column(index)
	if len(c.ColumnPath()) != 1 || c.MaxRepetitionLevel() != 0 || c.MaxDefinitionLevel() > 1 {
		return nil
	}
	v := valuesOf(c.PhysicalType(), c.TypeLength(), to)
	if v == nil || !common(f, index, c.MaxDefinitionLevel() > 0) {
		return nil
	}
	return &Column{file: f, index: index, name: c.Name(), nullable: c.MaxDefinitionLevel() > 0, keep: keep, values: v}
}

// common reports whether the chunks of a column are, by the footer, encoded as this package knows.
func common(f *file.Reader, column int, nullable bool) bool {
	for g := range f.NumRowGroups() {
		chunk, err := f.MetaData().RowGroup(g).ColumnChunk(column)
		if err != nil || chunk.CryptoMetadata() != nil {
			return false
		}
		for _, e := range chunk.Encodings() {
			switch e {
			case parquet.Encodings.Plain, parquet.Encodings.PlainDict, parquet.Encodings.RLEDict, parquet.Encodings.RLE:
			case parquet.Encodings.BitPacked: // of levels, the way before hybrids
				if nullable && f.MetaData().Schema.Column(column).PhysicalType() != parquet.Types.Int96 { // whose pages are read here, or refused
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// valuesOf gives what collects values of a physical type as those of an Arrow type, or nil.
func valuesOf(from parquet.Type, width int, to arrow.DataType) values {
	switch to.ID() {
	case arrow.INT32, arrow.UINT32, arrow.DATE32, arrow.TIME32, arrow.FLOAT32:
		if from == parquet.Types.Int32 && to.ID() != arrow.FLOAT32 || from == parquet.Types.Float && to.ID() == arrow.FLOAT32 {
			return &fixed[uint32]{kind: to, width: 4, decode: words32, raw: arrow.Uint32Traits.CastToBytes}
		}
	case arrow.INT64, arrow.UINT64, arrow.TIME64, arrow.TIMESTAMP, arrow.FLOAT64:
		if from == parquet.Types.Int64 && to.ID() != arrow.FLOAT64 || from == parquet.Types.Double && to.ID() == arrow.FLOAT64 {
			return &fixed[uint64]{kind: to, width: 8, decode: words64, raw: arrow.Uint64Traits.CastToBytes}
		}
	case arrow.EXTENSION:
		if from == parquet.Types.Int96 {
			return &fixed[int96]{kind: to, width: parquet.Int96SizeBytes, decode: words96, raw: bytes96}
		}
	case arrow.DECIMAL128:
		return decimalsFrom(from, width, to)
	case arrow.STRING, arrow.BINARY:
		if from == parquet.Types.ByteArray {
			return &texts[int32]{kind: to, raw: arrow.Int32Traits.CastToBytes}
		}
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		if from == parquet.Types.ByteArray {
			return &texts[int64]{kind: to, raw: arrow.Int64Traits.CastToBytes}
		}
	}
	return nil
}

// Index is the ordinal of the column in the file.
func (c *Column) Index() int { return c.index }

// Coded is the type of the arrays of a column of codes, or of INT96 as they are stored, nil for any other.
func (c *Column) Coded() arrow.DataType {
	switch v := c.values.(type) {
	case *codes:
		return v.kind
	case *fixed[int96]:
		return v.kind
	}
	return nil
}

// Next gives the next n rows.
func (c *Column) Next(n int) (arrow.Array, error) {
	c.values.reset(n, c.keep)
	c.valid = c.valid[:0]
	if c.nullable {
		c.valid = slices.Grow(c.valid, int(bitutil.BytesForBits(int64(n))))[:bitutil.BytesForBits(int64(n))]
	}
	nulls := 0
	for done := 0; done < n; {
		if c.left == 0 {
			if err := c.page(); err != nil {
				return nil, c.located(err)
			}
			continue
		}
		k := min(n-done, c.left)
		missing, err := c.take(k, done)
		if err != nil {
			return nil, c.located(err)
		}
		nulls, done, c.left = nulls+missing, done+k, c.left-k
	}
	var validity *memory.Buffer
	if nulls > 0 {
		validity = memory.NewBufferBytes(c.valid)
		if c.keep {
			c.valid = nil
		}
	}
	a, err := c.values.array(nulls, validity)
	if err != nil {
		return nil, c.located(err)
	}
	return a, nil
}

// located reports which column an error is about.
func (c *Column) located(err error) error {
	return fmt.Errorf("column %q, row group %d: %w", c.name, c.group-1, err)
}

// take reads k rows of the page, behind those of the batch that are done, and gives how many of them are null.
func (c *Column) take(k, done int) (nulls int, err error) {
	if !c.nullable {
		return 0, c.dense(k)
	}
	level, all, err := c.levels.constant(k)
	if err != nil {
		return 0, err
	}
	if all && level == 1 {
		bitutil.SetBitsTo(c.valid, int64(done), int64(k), true)
		return 0, c.dense(k)
	}
	c.marks = slices.Grow(c.marks[:0], k)[:k]
	levels := c.marks
	clear(levels)
	if !all { // else all are 0
		if err := c.levels.fill(levels); err != nil {
			return 0, err
		}
	}
	here := 0
	for i, level := range levels {
		here += int(level)
		bitutil.SetBitTo(c.valid, done+i, level != 0)
	}
	if err := c.dense(here); err != nil {
		return 0, err
	}
	c.values.spread(here, levels)
	return k - here, nil
}

// dense reads the next n values, without nulls.
func (c *Column) dense(n int) (err error) {
	if !c.coded {
		c.plain, err = c.values.plain(c.plain, n)
		return err
	}
	if n == 0 {
		return nil
	}
	c.numbers = slices.Grow(c.numbers[:0], n)[:n]
	if err := c.codes.fill(c.numbers); err != nil {
		return err
	}
	return c.values.coded(c.numbers)
}

// page goes on to the next page, which may be a dictionary or without rows. The library that finds pages gives up on some by a
// panic.
func (c *Column) page() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("invalid file: %v", v)
		}
	}()
	if c.pages == nil {
		if err := c.open(); err != nil {
			return err
		}
	}
	if !c.pages.Next() {
		if err := c.pages.Err(); err != nil {
			return err
		}
		if c.rows != 0 {
			return fmt.Errorf("the pages lack %d rows", c.rows)
		}
		c.Close()
		return nil
	}
	switch p := c.pages.Page().(type) {
	case *file.DictionaryPage:
		return c.dictionary(p)
	case *file.DataPageV1:
		return c.begin1(p)
	case *file.DataPageV2:
		return c.begin2(p)
	}
	return errors.New("a page of unknown kind")
}

// open opens the next row group.
func (c *Column) open() error {
	if c.group == c.file.NumRowGroups() {
		return errors.New("no more rows")
	}
	group := c.file.RowGroup(c.group)
	c.group++
	chunk, err := group.MetaData().ColumnChunk(c.index)
	if err != nil {
		return err
	}
	if c.rows = group.NumRows(); chunk.NumValues() != c.rows {
		return fmt.Errorf("%d values in %d rows", chunk.NumValues(), c.rows)
	}
	c.coding = false
	c.pages, err = group.GetColumnPageReader(c.index)
	return err
}

// Close lets go of the open row group.
func (c *Column) Close() {
	if c.pages != nil {
		c.pages.Close()
		c.pages = nil
	}
}

func (c *Column) dictionary(p *file.DictionaryPage) error {
	if c.coding {
		return errors.New("a second dictionary")
	}
	if e := parquet.Encoding(p.Encoding()); e != parquet.Encodings.Plain && e != parquet.Encodings.PlainDict {
		return fmt.Errorf("a dictionary encoded as %v", e)
	}
	c.coding = true
	return c.values.dictionary(p.Data(), int(p.NumValues()))
}

// begin1 begins a page of version 1.
func (c *Column) begin1(p *file.DataPageV1) error {
	data := p.Data()
	if !c.nullable {
		return c.begin(p, nil, data)
	}
	if p.DefinitionLevelEncoding() != parquet.Encodings.RLE {
		return fmt.Errorf("levels encoded as %v", p.DefinitionLevelEncoding())
	}
	if len(data) < 4 {
		return errShort
	}
	size := binary.LittleEndian.Uint32(data)
	if data = data[4:]; uint64(size) > uint64(len(data)) {
		return errShort
	}
	return c.begin(p, data[:size], data[size:])
}

// begin2 begins a page of version 2.
func (c *Column) begin2(p *file.DataPageV2) error {
	data, repetition, definition := p.Data(), int(p.RepetitionLevelByteLen()), int(p.DefinitionLevelByteLen())
	if repetition < 0 || definition < 0 || repetition+definition > len(data) {
		return errShort
	}
	if p.NumRows() != p.NumValues() {
		return fmt.Errorf("a page of %d values in %d rows", p.NumValues(), p.NumRows())
	}
	return c.begin(p, data[repetition:repetition+definition], data[repetition+definition:])
}

// begin begins a page with its levels and values.
func (c *Column) begin(p file.DataPage, levels, data []byte) (err error) {
	n := int64(p.NumValues())
	if n < 0 || n > c.rows {
		return fmt.Errorf("a page of %d rows, but %d remain", n, c.rows)
	}
	c.rows, c.left = c.rows-n, int(n)
	c.levels, _ = newHybrid(levels, 1)
	switch e := parquet.Encoding(p.Encoding()); e {
	case parquet.Encodings.Plain:
		c.coded, c.plain = false, data
	case parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
		if !c.coding {
			return errors.New("codes without a dictionary")
		}
		c.coded, c.codes = true, hybrid{}
		if len(data) > 0 { // else all are null, or the codes are missed when they are read
			c.codes, err = newHybrid(data[1:], int(data[0]))
		}
	default:
		return fmt.Errorf("%w: %v", ErrEncoding, e)
	}
	return err
}

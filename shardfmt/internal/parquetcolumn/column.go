package parquetcolumn

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

// Column reads one column of a file, row group after row group. Not for concurrent use.
type Column struct {
	reader
	file  *file.Reader
	index int
	name  string
	keep  bool

	// group is the row group that is opened next, pages those of the open one, which has rows behind the page.
	group int
	pages file.PageReader
	rows  int64
}

// Options are those of a column.
type Options struct {
	// Keep: arrays that a column gives stay valid; otherwise each is valid until the next one.
	Keep bool
	// MaxPage is the most bytes of a page whose values are made plain.
	MaxPage int64
}

// New gives a column of a file as arrays of a type, or nil if it isn't one that is decoded here.
func New(f *file.Reader, index int, to arrow.DataType, o Options) *Column {
	c := f.MetaData().Schema.Column(index)
	if len(c.ColumnPath()) != 1 || c.MaxRepetitionLevel() != 0 || c.MaxDefinitionLevel() > 1 {
		return nil
	}
	leaf := parquetcodec.Leaf{Type: c.PhysicalType(), Width: c.TypeLength()}
	v := valuesOf(leaf, to, nil)
	if v == nil || encrypted(f, index) {
		return nil
	}
	return &Column{file: f, index: index, name: c.Name(), keep: o.Keep,
		reader: reader{leaf: leaf, depth: Depth{Def: uint32(c.MaxDefinitionLevel())}, values: v, take: parquetcodec.Bound(o.MaxPage)}}
}

// encrypted reports whether a chunk of a column is.
func encrypted(f *file.Reader, column int) bool {
	for g := range f.NumRowGroups() {
		if chunk, err := f.MetaData().RowGroup(g).ColumnChunk(column); err != nil || chunk.CryptoMetadata() != nil {
			return true
		}
	}
	return false
}

// valuesOf gives what collects values of a leaf as those of an Arrow type, or nil.
func valuesOf(from parquetcodec.Leaf, kind arrow.DataType, mem *charged) values {
	t, to := from.Type, kind
	if x, ok := kind.(arrow.ExtensionType); ok {
		if to = x.StorageType(); t == parquet.Types.Int96 {
			return &wide{kind: kind, width: parquet.Int96SizeBytes, mem: mem}
		}
	}
	switch to.ID() {
	case arrow.BOOL:
		if t == parquet.Types.Boolean {
			return &fixed[uint8]{kind: kind, width: 1, decode: bytes8, raw: packed, dict: []uint8{0, 1}, mem: mem}
		}
	case arrow.INT8, arrow.UINT8:
		if t == parquet.Types.Int32 {
			return &fixed[uint8]{kind: kind, width: 4, decode: words8, raw: arrow.Uint8Traits.CastToBytes, mem: mem}
		}
	case arrow.INT16, arrow.UINT16:
		if t == parquet.Types.Int32 {
			return &fixed[uint16]{kind: kind, width: 4, decode: words16, raw: arrow.Uint16Traits.CastToBytes, mem: mem}
		}
	case arrow.INT32, arrow.UINT32, arrow.DATE32, arrow.TIME32, arrow.FLOAT32:
		if t == parquet.Types.Int32 && to.ID() != arrow.FLOAT32 || t == parquet.Types.Float && to.ID() == arrow.FLOAT32 {
			return &fixed[uint32]{kind: kind, width: 4, decode: words32, raw: arrow.Uint32Traits.CastToBytes, mem: mem}
		}
	case arrow.INT64, arrow.UINT64, arrow.TIME64, arrow.TIMESTAMP, arrow.FLOAT64:
		if t == parquet.Types.Int64 && to.ID() != arrow.FLOAT64 || t == parquet.Types.Double && to.ID() == arrow.FLOAT64 {
			return &fixed[uint64]{kind: kind, width: 8, decode: words64, raw: arrow.Uint64Traits.CastToBytes, mem: mem}
		}
	case arrow.DECIMAL128:
		f := &fixed[decimal128.Num]{kind: kind, raw: arrow.Decimal128Traits.CastToBytes, mem: mem}
		switch t {
		case parquet.Types.Int32:
			f.width, f.decode = 4, decimals32
		case parquet.Types.Int64:
			f.width, f.decode = 8, decimals64
		default:
			return decimalsOfBytes(from, f, 16, decimals128)
		}
		return f
	case arrow.DECIMAL256:
		return decimalsOfBytes(from, &fixed[decimal256.Num]{kind: kind, raw: arrow.Decimal256Traits.CastToBytes, mem: mem}, 32, decimals256)
	case arrow.FIXED_SIZE_BINARY, arrow.FLOAT16:
		if width := to.(arrow.FixedWidthDataType).Bytes(); t == parquet.Types.FixedLenByteArray && width == from.Width && width > 0 {
			return &wide{kind: kind, width: width, mem: mem}
		}
	case arrow.STRING, arrow.BINARY:
		if t == parquet.Types.ByteArray {
			return &texts[int32]{kind: kind, raw: arrow.Int32Traits.CastToBytes, mem: mem}
		}
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		if t == parquet.Types.ByteArray {
			return &texts[int64]{kind: kind, raw: arrow.Int64Traits.CastToBytes, mem: mem}
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
	case *wide:
		if v.kind == arrowtype.Int96 {
			return v.kind
		}
	}
	return nil
}

// Next gives the next n rows.
func (c *Column) Next(n int) (arrow.Array, error) {
	if err := c.reset(n, c.keep); err != nil {
		return nil, c.located(err)
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
		missing, err := c.read(k, done)
		if err != nil {
			return nil, c.located(err)
		}
		nulls, done = nulls+missing, done+k
	}
	a, err := c.array(nulls, c.keep)
	if err != nil {
		return nil, c.located(err)
	}
	return a, nil
}

// located reports which column an error is about.
func (c *Column) located(err error) error {
	return fmt.Errorf("column %q, row group %d: %w", c.name, c.group-1, err)
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
	p, err := pageOf(c.pages.Page())
	if err != nil {
		return err
	}
	if p.Kind == parquetcodec.DictionaryPage {
		return c.dictionary(&p)
	}
	if int64(p.Values) > c.rows {
		return fmt.Errorf("a page of %d rows, but %d remain", p.Values, c.rows)
	}
	c.rows -= int64(p.Values)
	return c.begin(&p)
}

// pageOf is a page as Arrow's reader has it.
func pageOf(from file.Page) (p parquetcodec.Page, err error) {
	p = parquetcodec.Page{Kind: int(from.Type()), Values: int(from.NumValues()), Encoding: parquet.Encoding(from.Encoding()), Data: from.Data()}
	switch from := from.(type) {
	case *file.DictionaryPage:
	case *file.DataPageV1:
		p.RepEncoding, p.DefEncoding = parquet.Encoding(from.RepetitionLevelEncoding()), parquet.Encoding(from.DefinitionLevelEncoding())
	case *file.DataPageV2:
		p.RepSize, p.DefSize = int(from.RepetitionLevelByteLen()), int(from.DefinitionLevelByteLen())
		if p.RepSize < 0 || p.DefSize < 0 || p.RepSize+p.DefSize > len(p.Data) {
			return p, errLevels
		}
		if from.NumRows() != from.NumValues() {
			return p, fmt.Errorf("a page of %d values in %d rows", from.NumValues(), from.NumRows())
		}
		p.Levels, p.Data = p.Data[:p.RepSize+p.DefSize], p.Data[p.RepSize+p.DefSize:]
	default:
		return p, errors.New("a page of unknown kind")
	}
	if p.Values < 0 {
		return p, errors.New("a page of less than no values")
	}
	return p, nil
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

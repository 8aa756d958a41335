package parquetchunk

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

// Chunk is one column chunk, as the footer of its file describes it.
type Chunk struct {
	// Rows of the chunk: its positions. Of a column below a list they are no more than so many; the page map reports how many.
	Rows uint64
	// Dictionary and Pages are the bytes of its dictionary page, empty if it has none, and of its data pages.
	Dictionary, Pages ranges.Range
	// File is the path of the file that holds the chunk, as the footer has it; "" is the file of the footer.
	File string

	storage metapb.ParquetStorageType
	codec   compress.Compression
	column  *pqschema.Column
	element uint32
	depth   depth
	// entries are how many values, nulls and empty lists the pages have.
	entries uint64
	// misflagged: pages may be compressed that are reported not to be.
	misflagged bool
}

// InList reports whether the column is below a list or map, so that nothing but the page map reports how many positions it has.
func (c *Chunk) InList() bool { return c.depth.Rep > 0 }

// Chunk gives a column chunk of a row group.
func (f *Footer) Chunk(group, column int) (*Chunk, error) {
	if group < 0 || group >= f.RowGroups() || column < 0 || column >= f.Columns() {
		return nil, corrupt.At(f.body, "column chunk %d of row group %d: the file has %d columns and %d row groups",
			column, group, f.Columns(), f.RowGroups())
	}
	c := f.meta.Schema.Column(column)
	if err := known(c); err != nil {
		return nil, err
	}
	var m *metadata.ColumnChunkMetaData
	err := guarded(func() (err error) {
		m, err = f.meta.RowGroup(group).ColumnChunk(column)
		return err
	})
	if err != nil {
		return nil, damaged(f.body, err)
	}
	if m.CryptoMetadata() != nil {
		return nil, corrupt.Unsupported(f.body, "column %q is encrypted", c.Path())
	}
	out := &Chunk{storage: metapb.ParquetStorageType(m.Type()), codec: m.Compression(), column: c, element: f.elements[column], File: m.FilePath(), depth: depthOf(c),
		misflagged: m.Compression() != compress.Codecs.Uncompressed && parquetcodec.MayMisflag(f.meta)}
	return out, f.place(out, m, f.Rows(group))
}

// place checks where a chunk lies.
func (f *Footer) place(c *Chunk, m *metadata.ColumnChunkMetaData, rows int64) error {
	data, dict, size := m.DataPageOffset(), m.DictionaryPageOffset(), m.TotalCompressedSize()
	start := data
	if m.HasDictionaryPage() && dict > 0 && dict < data {
		start = dict
	}
	end := start + size
	switch {
	case rows < 0 || m.NumValues() < rows || m.NumValues() > rows && !c.InList():
		return corrupt.At(f.body, "column %q has %d values in a row group of %d rows", c.column.Path(), m.NumValues(), rows)
	case parquet.Type(c.column.PhysicalType()) != m.Type():
		return corrupt.At(f.body, "column %q is of type %v, its chunk of type %v", c.column.Path(), c.column.PhysicalType(), m.Type())
	case start < int64(len(magic)) || size < 0 || end < start || data > end || c.File == "" && end > f.body:
		return corrupt.At(f.body, "column %q: pages in [%d, %d), data from %d, in a file whose footer starts at %d",
			c.column.Path(), start, end, data, f.body)
	}
	c.Rows, c.entries = uint64(m.NumValues()), uint64(m.NumValues())
	c.Dictionary = ranges.Range{Start: uint64(start), End: uint64(data)}
	c.Pages = ranges.Range{Start: uint64(data), End: uint64(end)}
	return nil
}

// Reference is the chunk as a shard refers to it.
func (c *Chunk) Reference(group, column int) *metapb.ParquetColumnChunkRef {
	ref := &metapb.ParquetColumnChunkRef{
		StorageType: c.storage, SchemaElementId: c.element, RowGroupId: uint32(group), ColumnChunkId: uint32(column),
	}
	c.SetRanges(ref)
	return ref
}

// SetRanges states in a reference where the pages are.
func (c *Chunk) SetRanges(ref *metapb.ParquetColumnChunkRef) {
	ref.DataPagesRange, ref.DictionaryRange = rangeOf(c.Pages), nil
	if c.Dictionary.Len() > 0 {
		ref.DictionaryRange = rangeOf(c.Dictionary)
	}
}

func rangeOf(r ranges.Range) *metapb.UInt64Range {
	return &metapb.UInt64Range{Start: r.Start, End: r.End}
}

// Referred gives the chunk that a shard refers to, and holds the reference to what the footer states. Chunks are referred
// to as a whole.
func (f *Footer) Referred(ref *metapb.ParquetColumnChunkRef) (*Chunk, error) {
	c, err := f.Chunk(int(ref.RowGroupId), int(ref.ColumnChunkId))
	if err != nil {
		return nil, err
	}
	pages, dict := ref.GetDataPagesRange(), ref.GetDictionaryRange()
	if first := c.Dictionary.Start; dict.GetStart() == first && dict.GetEnd() > first && dict.GetEnd() == pages.GetStart() &&
		pages.GetEnd() >= pages.GetStart() && pages.GetEnd() == c.Pages.End {
		// The footers of many writers don't report where the dictionary ends, or that there is one; see FindDictionary.
		c.Dictionary, c.Pages.Start = ranges.Range{Start: first, End: dict.GetEnd()}, pages.GetStart()
	}
	switch {
	case ref.StorageType != c.storage:
		return nil, c.disagrees("storage type %v", "%v", ref.StorageType, c.storage)
	case ref.SchemaElementId != c.element:
		return nil, c.disagrees("schema element %d", "%d", ref.SchemaElementId, c.element)
	case pages.GetStart() != c.Pages.Start || pages.GetEnd() != c.Pages.End:
		return nil, c.disagrees("data pages %v", "%v (chunks are referred to as a whole)",
			ranges.Range{Start: pages.GetStart(), End: pages.GetEnd()}, c.Pages)
	case dict.GetEnd()-dict.GetStart() != c.Dictionary.Len() || c.Dictionary.Len() > 0 && dict.GetStart() != c.Dictionary.Start:
		return nil, c.disagrees("dictionary %v", "%v", ranges.Range{Start: dict.GetStart(), End: dict.GetEnd()}, c.Dictionary)
	}
	return c, nil
}

// disagrees is a reference that states something else than the footer.
func (c *Chunk) disagrees(what, instead string, said, is any) error {
	return corrupt.At(-1, "column %q: the reference says "+what+", the footer of the Parquet file "+instead, c.column.Path(), said, is)
}

// guarded makes an error of a panic of the library that reads footers.
func guarded(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("invalid file: %v", v)
		}
	}()
	return do()
}

// damaged is an error of the library about the bytes at an offset.
func damaged(at int64, err error) error {
	return &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: at, What: "Parquet", Err: err}
}

package parquetchunk

import (
	"errors"
	"math"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

// maxPageRows bounds the rows of a page: those of known writers have up to 1 MiB of values, or 20,000 rows.
const maxPageRows = 1 << 24

var errDictionary = errors.New("a dictionary among data pages")

// FindDictionary looks where the dictionary of a chunk ends, given all bytes of the chunk: the footers of parquet-cpp up to 1.5, of Polars and
// others have no dictionary_page_offset, and those of old releases of DuckDB a data_page_offset that is off by the length of a page header.
func (c *Chunk) FindDictionary(data []byte) error {
	size := 0
	err := c.eachPage(data, c.Pages.Start, nil, func(page *parquetcodec.Page, end int) (more bool, err error) {
		if page.Kind == parquetcodec.DictionaryPage {
			size = end
		}
		return false, nil
	})
	if err != nil || size == 0 {
		return err
	}
	c.Dictionary.End = c.Dictionary.Start + uint64(size)
	c.Pages.Start = c.Dictionary.End
	return nil
}

// Map finds the data pages of a chunk, given all their bytes: rows and bytes of each, as a block map has them. It is
// what a shard stores as data_page_map. The blocks of a nested column have its positions; the levels of each of its pages are given to take, if
// that is not nil.
func (c *Chunk) Map(pages []byte, mem *budget.Account, take func(Levels) error) (*colstream.MapBuilder, error) {
	if c.depth.nested {
		return c.mapNested(pages, mem, take)
	}
	out, rows, at := new(colstream.MapBuilder), uint64(0), 0
	err := c.eachPage(pages, c.Pages.Start, nil, func(page *parquetcodec.Page, end int) (more bool, err error) {
		n := page.Values
		if page.Kind == parquetcodec.DictionaryPage {
			return false, errDictionary
		}
		if n <= 0 || n > maxPageRows || uint64(n) > c.Rows-rows || end-at > math.MaxUint32 {
			return false, corrupt.At(int64(at), "column %q: a page of %d values after %d of %d", c.column.Path(), n, rows, c.Rows)
		}
		out.Add(uint32(n), uint32(end-at))
		rows, at = rows+uint64(n), end
		return rows < c.Rows, nil
	})
	if err == nil && (rows != c.Rows || at != len(pages)) {
		err = corrupt.At(int64(c.Pages.Start)+int64(at), "column %q: the pages hold %d of %d values, %d bytes remain", c.column.Path(), rows, c.Rows, len(pages)-at)
	}
	return out, err
}

// eachPage calls do with the pages of a chunk and where each ends in data, unpacked if there is something to do so, until it wants no more. Errors
// are located in the file, in which data starts at base.
func (c *Chunk) eachPage(data []byte, base uint64, unpack *parquetcodec.Unpacker, do func(page *parquetcodec.Page, end int) (more bool, err error)) error {
	if unpack != nil {
		unpack.Codec, unpack.Misflagged = c.codec, c.misflagged
	}
	for at, more := 0, true; more && at < len(data); {
		page, err := parquetcodec.ParsePage(data[at:])
		if err == nil && page.Size() > len(data)-at {
			err = errors.New("a page beyond the end of its column chunk")
		}
		if err == nil && unpack != nil && page.HasValues() {
			err = unpack.Unpack(&page, data[at:])
		}
		if err != nil {
			return c.located(err, int64(base)+int64(at))
		}
		start := at
		at += page.Size()
		if !page.HasValues() {
			continue
		}
		if more, err = do(&page, at); err != nil {
			var stored *corrupt.Error
			if errors.As(err, &stored) { // about an offset in data
				return c.located(err, int64(base))
			}
			return c.located(err, int64(base)+int64(start))
		}
	}
	return nil
}

// located is an error about the bytes of a file from base on.
func (c *Chunk) located(err error, base int64) error {
	var stored *corrupt.Error
	switch {
	case err == nil || errors.Is(err, budget.ErrExceeded):
		return err
	case errors.As(err, &stored):
		return corrupt.Locate(err, "", base)
	case errors.Is(err, parquetcodec.ErrEncoding):
		return corrupt.Unsupported(base, "column %q has an encoding that is not read for its type, which the footer does not list: select other columns, or write the file with other encodings", c.column.Path())
	}
	return damaged(base, err)
}

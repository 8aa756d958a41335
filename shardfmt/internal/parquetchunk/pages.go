package parquetchunk

import (
	"bytes"
	"errors"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

// maxPageRows bounds the rows of a page: those of known writers have up to 1 MiB of values, or 20,000 rows.
const maxPageRows = 1 << 24

// FindDictionary looks where the dictionary of a chunk ends, given all bytes of the chunk: the footers of parquet-cpp up to 1.5, of Polars and
// others have no dictionary_page_offset, and those of old releases of DuckDB a data_page_offset that is off by the length of a page header.
func (c *Chunk) FindDictionary(data []byte, mem *budget.Account) error {
	if len(data) == 0 {
		return nil
	}
	size := 0
	err := c.eachPage(data, mem, func(page file.Page, end int) (more bool, err error) {
		if page.Type() == file.PageTypeDictionaryPage {
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
	err := c.eachPage(pages, mem, func(page file.Page, end int) (more bool, err error) {
		n := int64(page.NumValues())
		if n <= 0 || n > maxPageRows || uint64(n) > c.Rows-rows {
			return false, corrupt.At(int64(at), "column %q: a page of %d values after %d of %d", c.column.Path(), n, rows, c.Rows)
		}
		out.Add(uint32(n), uint32(end-at))
		rows, at = rows+uint64(n), end
		return true, nil
	})
	if err == nil && (rows != c.Rows || at != len(pages)) {
		err = corrupt.At(int64(c.Pages.Start)+int64(at), "column %q: the pages hold %d of %d values, %d bytes remain", c.column.Path(), rows, c.Rows, len(pages)-at)
	}
	return out, err
}

// eachPage calls do with the pages of a chunk and where each ends in data, until it wants no more. Errors are located in the file.
func (c *Chunk) eachPage(data []byte, mem *budget.Account, do func(page file.Page, end int) (more bool, err error)) error {
	alloc := &charged{mem: mem}
	err := guarded(func() error {
		alloc.take(len(data))
		if c.misflagged {
			data = parquetcodec.FixFlags(data)
		}
		source, err := newCounted(data)
		if err != nil {
			return err
		}
		//lint:ignore SA1019 no other reader of pages has the end of each
		r, err := file.NewPageReader(source, int64(c.entries), c.codec, alloc, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			if more, err := do(r.Page(), source.read); !more || err != nil {
				return err
			}
		}
		return r.Err()
	})
	if alloc.refused != nil {
		return alloc.refused
	}
	return c.located(err, int64(c.Pages.Start))
}

// located is an error about the bytes of a chunk from base on.
func (c *Chunk) located(err error, base int64) error {
	if err == nil {
		return nil
	}
	var stored *corrupt.Error
	if errors.As(err, &stored) {
		return corrupt.Locate(err, "", base)
	}
	return damaged(base, err)
}

// counted are pages in memory, as the page reader wants them, with how much of them it has read.
type counted struct {
	parquet.BufferedReader
	read int
}

func newCounted(pages []byte) (*counted, error) {
	r, err := new(parquet.ReaderProperties).GetStream(bytes.NewReader(pages), 0, int64(len(pages)))
	return &counted{BufferedReader: r}, err
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.BufferedReader.Read(b)
	c.read += n
	return n, err
}

// Discard skips bytes.
func (c *counted) Discard(n int) (int, error) {
	n, err := c.BufferedReader.Discard(n)
	c.read += n
	return n, err
}

package parquetchunk

import (
	"bytes"
	"errors"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
)

// maxPageRows bounds the rows of a page: those of known writers have up to 1 MiB of values, or 20,000 rows.
const maxPageRows = 1 << 24

// FindDictionary looks whether the first page of a chunk, given all its bytes, is a dictionary of which the footer does not tell: files of
// parquet-cpp up to 1.5, of Polars and others have no dictionary_page_offset.
func (c *Chunk) FindDictionary(data []byte, mem *budget.Account) error {
	if c.Dictionary.Len() > 0 || len(data) == 0 {
		return nil
	}
	alloc, size := &charged{mem: mem}, 0
	err := guarded(func() error {
		alloc.take(len(data))
		source, err := newCounted(data)
		if err != nil {
			return err
		}
		//lint:ignore SA1019 no other reader of pages tells where each of them ends
		r, err := file.NewPageReader(source, int64(c.Rows), c.codec, alloc, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		if r.Next() && r.Page().Type() == file.PageTypeDictionaryPage {
			size = source.read
		}
		return r.Err()
	})
	if alloc.refused != nil {
		return alloc.refused
	}
	if err != nil {
		return c.located(err, int64(c.Pages.Start))
	}
	c.Dictionary = ranges.Range{Start: c.Pages.Start, End: c.Pages.Start + uint64(size)}
	c.Pages.Start += uint64(size)
	return nil
}

// Map finds the data pages of a chunk, given all their bytes: rows and bytes of each, as a block map has them. It is
// what a shard stores as data_page_map.
func (c *Chunk) Map(pages []byte, mem *budget.Account) (*colstream.MapBuilder, error) {
	out, rows, at := new(colstream.MapBuilder), uint64(0), 0
	alloc := &charged{mem: mem}
	err := guarded(func() error {
		alloc.take(len(pages))
		source, err := newCounted(pages)
		if err != nil {
			return err
		}
		//lint:ignore SA1019 no other reader of pages tells where each of them ends
		r, err := file.NewPageReader(source, int64(c.Rows), c.codec, alloc, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			n := int64(r.Page().NumValues())
			if n <= 0 || n > maxPageRows || uint64(n) > c.Rows-rows {
				return corrupt.At(int64(at), "column %q: a page of %d values behind %d of %d", c.column.Path(), n, rows, c.Rows)
			}
			out.Add(uint32(n), uint32(source.read-at))
			rows, at = rows+uint64(n), source.read
		}
		return r.Err()
	})
	if alloc.refused != nil {
		return nil, alloc.refused
	}
	if err == nil && (rows != c.Rows || at != len(pages)) {
		err = corrupt.At(int64(at), "column %q: the pages hold %d of %d values, %d bytes are left", c.column.Path(), rows, c.Rows, len(pages)-at)
	}
	return out, c.located(err, int64(c.Pages.Start))
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

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
)

// parquetGo is a way to write a column with parquet-go.
type parquetGo struct {
	name     string
	encoding encoding.Encoding
	codec    compress.Codec
}

// ParquetGo reads the column from Parquet files written by parquet-go in several encodings.
func ParquetGo(c *Column) ([]Contestant, error) {
	ways := []parquetGo{
		{"PLAIN", &parquet.Plain, &parquet.Uncompressed},
		{"dictionary", &parquet.RLEDictionary, &parquet.Uncompressed},
		{"PLAIN, zstd", &parquet.Plain, &parquet.Zstd},
	}
	if c.Ints != nil {
		ways = append(ways, parquetGo{"DELTA_BINARY_PACKED", &parquet.DeltaBinaryPacked, &parquet.Uncompressed},
			parquetGo{"DELTA_BINARY_PACKED, zstd", &parquet.DeltaBinaryPacked, &parquet.Zstd})
	}
	var list []Contestant
	for _, w := range ways {
		file, err := w.write(c)
		if err != nil {
			return nil, fmt.Errorf("parquet-go %s: %w", w.name, err)
		}
		list = append(list, Contestant{Name: "parquet-go " + w.name, Size: len(file), Open: func() (func() error, error) {
			return w.open(c, file)
		}})
	}
	return list, nil
}

// write makes a file of one required column.
func (w parquetGo) write(c *Column) ([]byte, error) {
	node, value := parquet.Leaf(parquet.Int64Type), func(i int) parquet.Value { return parquet.Int64Value(c.Ints[i]) }
	n := len(c.Ints)
	switch {
	case c.Floats != nil:
		node, n = parquet.Leaf(parquet.DoubleType), len(c.Floats)
		value = func(i int) parquet.Value { return parquet.DoubleValue(c.Floats[i]) }
	case c.Strings != nil:
		node, n = parquet.Leaf(parquet.ByteArrayType), len(c.Strings)
		value = func(i int) parquet.Value { return parquet.ByteArrayValue([]byte(c.Strings[i])) }
	}
	schema := parquet.NewSchema("column", parquet.Group{
		"v": parquet.Required(parquet.Compressed(parquet.Encoded(node, w.encoding), w.codec))})
	var out bytes.Buffer
	file := parquet.NewWriter(&out, schema)
	rows := make([]parquet.Row, 0, 1024)
	for i := range n {
		rows = append(rows, parquet.Row{value(i).Level(0, 0, 0)})
		if len(rows) == cap(rows) || i == n-1 {
			if _, err := file.WriteRows(rows); err != nil {
				return nil, err
			}
			rows = rows[:0]
		}
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// open gives the function that reads the column with the typed readers of its pages.
func (w parquetGo) open(c *Column, b []byte) (func() error, error) {
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	out := &Column{}
	read := func() error {
		*out = Column{Ints: out.Ints[:0], Floats: out.Floats[:0], Strings: out.Strings[:0]}
		for _, g := range f.RowGroups() {
			if err := readPages(out, g.ColumnChunks()[0], c); err != nil {
				return err
			}
		}
		return nil
	}
	if err := read(); err != nil {
		return nil, err
	}
	return read, same(w.name, out, c)
}

// same compares the values of two columns.
func same(name string, got, want *Column) error {
	switch {
	case want.Ints != nil:
		return verify(name, got.Ints, want.Ints)
	case want.Floats != nil:
		return verify(name, got.Floats, want.Floats)
	}
	return verify(name, got.Strings, want.Strings)
}

// readPages appends the values of a column chunk.
func readPages(out *Column, chunk parquet.ColumnChunk, want *Column) error {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		p, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := readPage(out, p, want); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		parquet.Release(p)
	}
}

// readPage appends the values of a page, by the reader of its type where there is one.
func readPage(out *Column, p parquet.Page, want *Column) error {
	n, values := int(p.NumValues()), p.Values()
	switch r := values.(type) {
	case parquet.Int64Reader:
		at := len(out.Ints)
		out.Ints = grow(out.Ints, n, len(want.Ints))
		_, err := r.ReadInt64s(out.Ints[at:])
		return err
	case parquet.DoubleReader:
		at := len(out.Floats)
		out.Floats = grow(out.Floats, n, len(want.Floats))
		_, err := r.ReadDoubles(out.Floats[at:])
		return err
	}
	var some [1024]parquet.Value
	for {
		n, err := values.ReadValues(some[:])
		for _, v := range some[:n] {
			switch {
			case want.Ints != nil:
				out.Ints = append(out.Ints, v.Int64())
			case want.Floats != nil:
				out.Floats = append(out.Floats, v.Double())
			default:
				out.Strings = append(out.Strings, string(v.ByteArray()))
			}
		}
		if err != nil || n == 0 {
			return err
		}
	}
}

// grow makes s longer by n, in a slice that has room for all.
func grow[T any](s []T, n, all int) []T {
	if cap(s) < len(s)+n {
		s = append(make([]T, 0, max(all, len(s)+n)), s...)
	}
	return s[:len(s)+n]
}

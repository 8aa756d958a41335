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

// open gives the function that scans the column with the typed readers of its pages.
func (w parquetGo) open(c *Column, b []byte) (func() error, error) {
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	switch {
	case c.Ints != nil:
		return scan(w.name, c.Ints, func(see func([]int64)) error {
			return scanPages(f, see, parquet.Value.Int64, func(v parquet.ValueReader, dst []int64) (int, bool, error) {
				r, ok := v.(parquet.Int64Reader)
				if !ok {
					return 0, false, nil
				}
				n, err := r.ReadInt64s(dst)
				return n, true, err
			})
		})
	case c.Floats != nil:
		return scan(w.name, c.Floats, func(see func([]float64)) error {
			return scanPages(f, see, parquet.Value.Double, func(v parquet.ValueReader, dst []float64) (int, bool, error) {
				r, ok := v.(parquet.DoubleReader)
				if !ok {
					return 0, false, nil
				}
				n, err := r.ReadDoubles(dst)
				return n, true, err
			})
		})
	}
	return scan(w.name, c.Strings, func(see func([]string)) error {
		return scanPages(f, see, func(v parquet.Value) string { return string(v.ByteArray()) },
			func(parquet.ValueReader, []string) (int, bool, error) { return 0, false, nil })
	})
}

// scanPages reads all pages of the column in batches: with typed, where the page has a reader of the type,
// else as parquet.Value.
func scanPages[T any](f *parquet.File, see func([]T), of func(parquet.Value) T,
	typed func(parquet.ValueReader, []T) (int, bool, error)) error {
	dst, values := make([]T, batch), make([]parquet.Value, batch)
	next := func(r parquet.ValueReader) (int, error) {
		n, ok, err := typed(r, dst)
		if ok {
			return n, err
		}
		n, err = r.ReadValues(values)
		for i, v := range values[:n] {
			dst[i] = of(v)
		}
		return n, err
	}
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[0].Pages()
		for {
			p, err := pages.ReadPage()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			for r := p.Values(); err == nil; {
				var n int
				if n, err = next(r); n > 0 {
					see(dst[:n])
				}
			}
			parquet.Release(p)
			if !errors.Is(err, io.EOF) {
				return err
			}
		}
		if err := pages.Close(); err != nil {
			return err
		}
	}
	return nil
}

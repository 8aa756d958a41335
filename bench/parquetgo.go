package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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

// ParquetGo reads the column from Parquet files below dir, written by parquet-go in every encoding that suits it, without compression
// and with zstd.
func ParquetGo(c *Column, dir string) ([]Contestant, error) {
	encodings := []struct {
		name     string
		encoding encoding.Encoding
	}{{"PLAIN", &parquet.Plain}, {"dictionary", &parquet.RLEDictionary}}
	switch {
	case c.Ints != nil:
		encodings = append(encodings, encodings[0])
		encodings[2].name, encodings[2].encoding = "DELTA_BINARY_PACKED", &parquet.DeltaBinaryPacked
	case c.Floats != nil:
		encodings = append(encodings, encodings[0])
		encodings[2].name, encodings[2].encoding = "BYTE_STREAM_SPLIT", &parquet.ByteStreamSplit
	default:
		encodings = append(encodings, encodings[0], encodings[0])
		encodings[2].name, encodings[2].encoding = "DELTA_LENGTH_BYTE_ARRAY", &parquet.DeltaLengthByteArray
		encodings[3].name, encodings[3].encoding = "DELTA_BYTE_ARRAY", &parquet.DeltaByteArray
	}
	var list []Contestant
	for _, e := range encodings {
		for _, w := range []parquetGo{{e.name, e.encoding, &parquet.Uncompressed}, {e.name + ", zstd", e.encoding, &parquet.Zstd}} {
			b, err := w.write(c)
			if err != nil {
				return nil, fmt.Errorf("parquet-go %s: %w", w.name, err)
			}
			name := filepath.Join(dir, "parquet-go "+w.name)
			if err := os.WriteFile(name, b, 0o644); err != nil {
				return nil, err
			}
			list = append(list, Contestant{Name: "parquet-go " + w.name, Size: len(b), Open: func() (func() error, error) {
				return w.open(c, name)
			}})
		}
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

// open gives the function that scans the column: pages of codes are looked up in their dictionary, others read by the typed readers,
// texts as bytes and offsets.
func (w parquetGo) open(c *Column, name string) (func() error, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return nil, err
	}
	dst := make([]int64, batch)
	switch {
	case c.Ints != nil:
		return scan(w.name, c.Ints, func(see func([]int64)) error {
			return eachPage(f, func(p parquet.Page) error {
				if d := p.Dictionary(); d != nil {
					entries, codes := d.Page().Data(), p.Data()
					lookUp(dst, entries.Int64(), codes.Int32(), see)
					return nil
				}
				r, ok := p.Values().(parquet.Int64Reader)
				return readPage(dst, ok, func() (int, error) { return r.ReadInt64s(dst) }, see)
			})
		})
	case c.Floats != nil:
		dst := make([]float64, batch)
		return scan(w.name, c.Floats, func(see func([]float64)) error {
			return eachPage(f, func(p parquet.Page) error {
				if d := p.Dictionary(); d != nil {
					entries, codes := d.Page().Data(), p.Data()
					lookUp(dst, entries.Double(), codes.Int32(), see)
					return nil
				}
				r, ok := p.Values().(parquet.DoubleReader)
				return readPage(dst, ok, func() (int, error) { return r.ReadDoubles(dst) }, see)
			})
		})
	}
	texts := new(byteRows)
	read := func(see func(*byteRows)) error {
		return eachPage(f, func(p parquet.Page) error { texts.page(p, see); return nil })
	}
	var got []string
	if err := read(func(t *byteRows) {
		for i := range len(t.offsets) - 1 {
			got = append(got, string(t.data[t.offsets[i]:t.offsets[i+1]]))
		}
	}); err != nil {
		return nil, err
	}
	return func() error { return read(func(*byteRows) {}) }, verify(w.name, got, c.Strings)
}

// eachPage reads all pages of the column.
func eachPage(f *parquet.File, do func(parquet.Page) error) error {
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
			err = do(p)
			parquet.Release(p)
			if err != nil {
				return err
			}
		}
		if err := pages.Close(); err != nil {
			return err
		}
	}
	return nil
}

// lookUp gives the values that codes name, a batch at a time.
func lookUp[T any](dst, dict []T, codes []int32, see func([]T)) {
	for len(codes) > 0 {
		n := min(len(codes), len(dst))
		for i, code := range codes[:n] {
			dst[i] = dict[code]
		}
		see(dst[:n])
		codes = codes[n:]
	}
}

// readPage reads a page with the reader of its type, a batch at a time.
func readPage[T any](dst []T, ok bool, read func() (int, error), see func([]T)) error {
	if !ok {
		return fmt.Errorf("no reader of %T", dst)
	}
	for {
		n, err := read()
		see(dst[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// byteRows is texts as bytes and offsets.
type byteRows struct {
	data    []byte
	offsets []uint32
	room    []byte
	ends    []uint32
}

// page gives the texts of a page: as they lie there, or those that its codes name.
func (t *byteRows) page(p parquet.Page, see func(*byteRows)) {
	d := p.Dictionary()
	if d == nil {
		values := p.Data()
		t.data, t.offsets = values.ByteArray()
		see(t)
		return
	}
	entries, codes := d.Page().Data(), p.Data()
	data, offsets := entries.ByteArray()
	t.room, t.ends = t.room[:0], append(t.ends[:0], 0)
	for _, code := range codes.Int32() {
		t.room = append(t.room, data[offsets[code]:offsets[code+1]]...)
		t.ends = append(t.ends, uint32(len(t.room)))
	}
	t.data, t.offsets = t.room, t.ends
	see(t)
}

package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// arrowGo is a way to write a column with arrow-go's Parquet.
type arrowGo struct {
	name       string
	encoding   parquet.Encoding
	dictionary bool
	codec      compress.Compression
}

// ArrowGo reads the column, by buffered streams, from Parquet files below dir written by arrow-go in several encodings.
func ArrowGo(c *Column, dir string) ([]Contestant, error) {
	ways := []arrowGo{
		{"PLAIN", parquet.Encodings.Plain, false, compress.Codecs.Uncompressed},
		{"dictionary", parquet.Encodings.Plain, true, compress.Codecs.Uncompressed},
		{"PLAIN, zstd", parquet.Encodings.Plain, false, compress.Codecs.Zstd},
		{"dictionary, zstd", parquet.Encodings.Plain, true, compress.Codecs.Zstd},
	}
	if c.Ints != nil {
		ways = append(ways, arrowGo{"DELTA_BINARY_PACKED", parquet.Encodings.DeltaBinaryPacked, false, compress.Codecs.Uncompressed},
			arrowGo{"DELTA_BINARY_PACKED, zstd", parquet.Encodings.DeltaBinaryPacked, false, compress.Codecs.Zstd})
	}
	if c.Floats != nil {
		ways = append(ways, arrowGo{"BYTE_STREAM_SPLIT", parquet.Encodings.ByteStreamSplit, false, compress.Codecs.Uncompressed},
			arrowGo{"BYTE_STREAM_SPLIT, zstd", parquet.Encodings.ByteStreamSplit, false, compress.Codecs.Zstd})
	}
	if c.Strings != nil {
		ways = append(ways, arrowGo{"DELTA_LENGTH_BYTE_ARRAY, zstd", parquet.Encodings.DeltaLengthByteArray, false, compress.Codecs.Zstd},
			arrowGo{"DELTA_BYTE_ARRAY, zstd", parquet.Encodings.DeltaByteArray, false, compress.Codecs.Zstd})
	}
	var list []Contestant
	for _, w := range ways {
		b, err := w.write(c)
		if err != nil {
			return nil, fmt.Errorf("arrow-go %s: %w", w.name, err)
		}
		name := filepath.Join(dir, "arrow-go "+w.name)
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return nil, err
		}
		list = append(list, Contestant{Name: "arrow-go " + w.name, Size: len(b), Open: func() (func() error, error) {
			return w.open(c, name)
		}})
	}
	return list, nil
}

// write makes a file of one required column.
func (w arrowGo) write(c *Column) ([]byte, error) {
	typ := parquet.Types.Int64
	switch {
	case c.Floats != nil:
		typ = parquet.Types.Double
	case c.Strings != nil:
		typ = parquet.Types.ByteArray
	}
	leaf, err := schema.NewPrimitiveNode("v", parquet.Repetitions.Required, typ, -1, -1)
	if err != nil {
		return nil, err
	}
	root, err := schema.NewGroupNode("column", parquet.Repetitions.Required, schema.FieldList{leaf}, -1)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	f := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(
		parquet.WithDictionaryDefault(w.dictionary), parquet.WithEncoding(w.encoding), parquet.WithCompression(w.codec))))
	chunk, err := f.AppendRowGroup().NextColumn()
	if err != nil {
		return nil, err
	}
	switch wr := chunk.(type) {
	case *file.Int64ColumnChunkWriter:
		_, err = wr.WriteBatch(c.Ints, nil, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = wr.WriteBatch(c.Floats, nil, nil)
	case *file.ByteArrayColumnChunkWriter:
		vals := make([]parquet.ByteArray, len(c.Strings))
		for i, s := range c.Strings {
			vals[i] = parquet.ByteArray(s)
		}
		_, err = wr.WriteBatch(vals, nil, nil)
	}
	if err != nil {
		return nil, err
	}
	if err := chunk.Close(); err != nil {
		return nil, err
	}
	return closed(f, &out)
}

func closed(f *file.Writer, out *bytes.Buffer) ([]byte, error) {
	if err := f.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// batcher is a column chunk reader of one type.
type batcher[T any] interface {
	ReadBatch(batchSize int64, values []T, defLvls, repLvls []int16) (total int64, valuesRead int, err error)
}

// open gives the function that scans the column with the reader of its type.
func (w arrowGo) open(c *Column, name string) (func() error, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	props := parquet.NewReaderProperties(memory.DefaultAllocator)
	props.BufferedStreamEnabled = true
	f, err := file.NewParquetReader(in, file.WithReadProps(props))
	if err != nil {
		return nil, err
	}
	switch {
	case c.Ints != nil:
		return scan(w.name, c.Ints, func(see func([]int64)) error { return scanGroups(f, see) })
	case c.Floats != nil:
		return scan(w.name, c.Floats, func(see func([]float64)) error { return scanGroups(f, see) })
	}
	arrays := func(see func([]parquet.ByteArray)) error { return scanGroups(f, see) }
	var got []string
	if err := arrays(func(b []parquet.ByteArray) {
		for _, v := range b {
			got = append(got, string(v))
		}
	}); err != nil {
		return nil, err
	}
	return func() error { return arrays(func([]parquet.ByteArray) {}) }, verify(w.name, got, c.Strings)
}

// scanGroups reads all row groups in batches.
func scanGroups[T any](f *file.Reader, see func([]T)) error {
	dst := make([]T, batch)
	for g := range f.NumRowGroups() {
		chunk, err := f.RowGroup(g).Column(0)
		if err != nil {
			return err
		}
		r, ok := chunk.(batcher[T])
		if !ok {
			return fmt.Errorf("no reader of %T", dst)
		}
		for {
			_, n, err := r.ReadBatch(batch, dst, nil, nil)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			see(dst[:n])
		}
	}
	return nil
}

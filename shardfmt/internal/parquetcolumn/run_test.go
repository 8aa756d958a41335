package parquetcolumn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcolumn"
)

// encoded are the types with the encodings that Arrow writes for them, plain and by a dictionary aside.
var encoded = []struct {
	kind      arrow.DataType
	encodings []parquet.Encoding
}{
	{arrow.FixedWidthTypes.Boolean, []parquet.Encoding{parquet.Encodings.RLE}},
	{arrow.PrimitiveTypes.Int8, numbers}, {arrow.PrimitiveTypes.Uint8, numbers}, {arrow.PrimitiveTypes.Int16, numbers}, {arrow.PrimitiveTypes.Uint16, numbers},
	{arrow.PrimitiveTypes.Int32, numbers}, {arrow.PrimitiveTypes.Uint32, numbers}, {arrow.FixedWidthTypes.Date32, numbers}, {arrow.FixedWidthTypes.Time32ms, numbers},
	{arrow.PrimitiveTypes.Int64, numbers}, {arrow.PrimitiveTypes.Uint64, numbers}, {arrow.FixedWidthTypes.Timestamp_us, numbers},
	{arrow.PrimitiveTypes.Float32, numbers[1:]}, {arrow.PrimitiveTypes.Float64, numbers[1:]},
	{arrow.BinaryTypes.String, byteArrays}, {arrow.BinaryTypes.Binary, byteArrays},
	{&arrow.FixedSizeBinaryType{ByteWidth: 5}, numbers[1:]}, {arrow.FixedWidthTypes.Float16, numbers[1:]},
	{&arrow.Decimal128Type{Precision: 7, Scale: 2}, nil}, {&arrow.Decimal128Type{Precision: 15, Scale: 2}, nil}, {&arrow.Decimal128Type{Precision: 38, Scale: 10}, nil},
	{&arrow.Decimal256Type{Precision: 50, Scale: 3}, nil},
}

var (
	numbers    = []parquet.Encoding{parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.ByteStreamSplit}
	byteArrays = []parquet.Encoding{parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray}
)

// appendAny appends a value of any type.
func appendAny(r *rand.Rand, b array.Builder, v int64) {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v&3 == 0)
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Uint8Builder:
		b.Append(uint8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Uint16Builder:
		b.Append(uint16(v))
	case *array.Float16Builder:
		b.Append(float16.New(float32(v % 1000)))
	case *array.FixedSizeBinaryBuilder:
		b.Append(fmt.Appendf(nil, "%05d", uint64(v)%100_000))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromI64(v))
	case *array.StringBuilder:
		b.Append(strings.Repeat("same ", r.IntN(4)) + text(v))
	case *array.ListBuilder:
		b.Append(true)
		for range r.IntN(4) {
			if r.IntN(4) == 0 {
				b.ValueBuilder().AppendNull()
			} else {
				appendAny(r, b.ValueBuilder(), v+r.Int64N(9))
			}
		}
	default:
		appendValue(b, v)
	}
}

// TestRunsAsArrow decodes the pages of random columns, of each type in each encoding and codec, required, nullable and in lists, as Arrow's reader does.
func TestRunsAsArrow(t *testing.T) {
	codecs := []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Lz4Raw}
	r := rand.New(rand.NewPCG(5, 8))
	for _, of := range encoded {
		for _, e := range append([]parquet.Encoding{parquet.Encodings.Plain, parquet.Encodings.RLEDict}, of.encodings...) {
			for _, codec := range codecs {
				for _, nullable := range []bool{false, true} {
					for _, list := range []bool{false, true} {
						s := random(r)
						s.rows = 1 + r.IntN(400)
						kind := of.kind
						if list {
							kind = arrow.ListOf(kind)
						}
						dictionary := e == parquet.Encodings.RLEDict
						s.options = append(s.options, parquet.WithCompression(codec), parquet.WithDictionaryDefault(dictionary))
						if !dictionary {
							s.options = append(s.options, parquet.WithEncoding(e))
						}
						if err := s.runs(t, r, kind, nullable); err != nil {
							t.Fatalf("%v in %v, %v, nullable %v: %v", kind, e, codec, nullable, err)
						}
					}
				}
			}
		}
	}
}

// runs writes a column, and compares what is decoded of its pages with what Arrow reads.
func (s shape) runs(t *testing.T, r *rand.Rand, kind arrow.DataType, nullable bool) error {
	b := array.NewBuilder(memory.DefaultAllocator, kind)
	for range s.rows {
		if nullable && r.Float64() < s.nulls {
			b.AppendNull()
		} else {
			appendAny(r, b, int64(r.IntN(s.distinct))*2654435761-int64(s.distinct/2))
		}
	}
	types := arrow.NewSchema([]arrow.Field{{Name: "a", Type: kind, Nullable: nullable}}, nil)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(types, &out, parquet.NewWriterProperties(s.options...), pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.WriteBuffered(array.NewRecordBatch(types, []arrow.Array{b.NewArray()}, int64(s.rows)))
	}
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	table, err := pqarrow.ReadTable(context.Background(), bytes.NewReader(out.Bytes()), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	want, err := array.Concatenate(table.Column(0).Data().Chunks(), memory.DefaultAllocator)
	if err != nil {
		return err
	}
	list, isList := want.(*array.List)
	f, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		return err
	}
	if !isList {
		if err := compare(r, f, 0, want); err != nil {
			return err
		}
		return sameRuns(f, out.Bytes(), want, false)
	}
	// Lists that are null, or empty, have no positions.
	return sameRuns(f, out.Bytes(), list.ListValues(), true)
}

// sameRuns compares the pages of a file, each row group a run, with what they should hold.
func sameRuns(f *file.Reader, b []byte, want arrow.Array, list bool) error {
	c := f.MetaData().Schema.Column(0)
	depth := parquetcolumn.Depth{Def: uint32(c.MaxDefinitionLevel()), Rep: uint32(c.MaxRepetitionLevel())}
	if list {
		depth.Element = depth.Def - 1
	}
	leaf := parquetcodec.Leaf{Type: c.PhysicalType(), Width: c.TypeLength()}
	mem := budget.New(1 << 30).Account()
	for _, group := range f.MetaData().RowGroups {
		m := group.Columns[0].MetaData
		start := m.DataPageOffset
		if m.DictionaryPageOffset != nil {
			start = *m.DictionaryPageOffset
		}
		chunk := b[start:][:m.TotalCompressedSize]
		mem.Fetched(1 << 40)
		mem.NextBatch(true)
		got, err := runOf(chunk, compress.Compression(m.Codec), leaf, depth, want.DataType(), mem)
		if err != nil {
			return err
		}
		if got.Len() > want.Len() || !array.Equal(got, array.NewSlice(want, 0, int64(got.Len()))) {
			return fmt.Errorf("%v where Arrow has %v", got, want)
		}
		want = array.NewSlice(want, int64(got.Len()), int64(want.Len()))
	}
	if want.Len() > 0 {
		return fmt.Errorf("%d positions are missing", want.Len())
	}
	return nil
}

// runOf decodes the pages of a chunk, which are counted first.
func runOf(chunk []byte, codec compress.Compression, leaf parquetcodec.Leaf, depth parquetcolumn.Depth, to arrow.DataType, mem *budget.Account) (arrow.Array, error) {
	run := parquetcolumn.NewRun(leaf, depth, to, mem)
	if run == nil {
		return nil, fmt.Errorf("%v isn't decoded as %v", leaf, to)
	}
	defer run.Release()
	n := 0
	each := func(do func(p *parquetcodec.Page) error) error {
		for at := 0; at < len(chunk); {
			p, err := parquetcodec.ParsePage(chunk[at:])
			if err == nil {
				u := &parquetcodec.Unpacker{Codec: codec, Take: mem.Take}
				err = u.Unpack(&p, chunk[at:])
			}
			if err == nil && p.HasValues() {
				err = do(&p)
			}
			if err != nil {
				return err
			}
			at += p.Size()
		}
		return nil
	}
	err := each(func(p *parquetcodec.Page) error {
		if p.Kind == parquetcodec.DictionaryPage {
			return run.Dictionary(p)
		}
		parts, err := parquetcolumn.Split(p, depth)
		if err != nil || p.Values > 1<<20 {
			return errors.Join(err, errPages)
		}
		reps, defs := make([]uint32, p.Values), make([]uint32, p.Values)
		for i := range defs {
			defs[i] = depth.Def
		}
		if err := parts.Levels(reps, defs); err != nil {
			return err
		}
		for _, def := range defs {
			if def >= depth.Element {
				n++
			}
		}
		return nil
	})
	if err == nil {
		err = run.Begin(n)
	}
	if err == nil {
		err = each(func(p *parquetcodec.Page) error {
			if p.Kind == parquetcodec.DictionaryPage {
				return nil
			}
			return run.Add(p)
		})
	}
	if err != nil {
		return nil, err
	}
	return run.Array()
}

var errPages = errors.New("pages of too many entries")

// Decimals as byte arrays have any length, and as many bytes as they need in others.
func TestDecimalsAsByteArrays(t *testing.T) {
	for _, precision := range []int32{38, 60} {
		leaf, err := pqschema.NewPrimitiveNodeLogical("a", parquet.Repetitions.Optional, pqschema.NewDecimalLogicalType(precision, 2), parquet.Types.ByteArray, -1, -1)
		if err != nil {
			t.Fatal(err)
		}
		root, err := pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{leaf}, -1)
		if err != nil {
			t.Fatal(err)
		}
		for _, dictionary := range []bool{false, true} {
			var out bytes.Buffer
			w := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(parquet.WithDictionaryDefault(dictionary))))
			group, err := w.AppendRowGroupChecked()
			if err != nil {
				t.Fatal(err)
			}
			c, err := group.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			values := []parquet.ByteArray{{1}, {0xFF}, {0x80, 0}, {0, 0, 0, 7}, bytes.Repeat([]byte{0xFF}, 16), {1, 2, 3, 4, 5, 6, 7, 8, 9}}
			if precision > 38 {
				values = append(values, bytes.Repeat([]byte{0x81}, 25), bytes.Repeat([]byte{0x11}, 32))
			}
			levels := make([]int16, len(values)+1)
			for i := range values {
				levels[i] = 1
			}
			if _, err := c.(*file.ByteArrayColumnChunkWriter).WriteBatch(values, levels, nil); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			table, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(out.Bytes()), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			f, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := sameRuns(f, out.Bytes(), table.Column(0).Data().Chunk(0), false); err != nil {
				t.Errorf("precision %d: %v", precision, err)
			}
		}
	}
}

// FuzzRun decodes pages that are anything, in bounded memory.
func FuzzRun(f *testing.F) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, of := range encoded {
		for _, e := range of.encodings {
			s := shape{rows: 30, distinct: 9, options: []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithEncoding(e)}}
			types := arrow.NewSchema([]arrow.Field{{Name: "a", Type: of.kind, Nullable: true}}, nil)
			b := array.NewBuilder(memory.DefaultAllocator, of.kind)
			for i := range s.rows {
				appendAny(r, b, int64(i*i))
			}
			var out bytes.Buffer
			w, err := pqarrow.NewFileWriter(types, &out, parquet.NewWriterProperties(s.options...), pqarrow.DefaultWriterProps())
			if err == nil {
				err = w.Write(array.NewRecordBatch(types, []arrow.Array{b.NewArray()}, int64(s.rows)))
			}
			if err != nil {
				f.Fatal(err)
			}
			if err := w.Close(); err != nil {
				f.Fatal(err)
			}
			m, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
			if err != nil {
				f.Fatal(err)
			}
			chunk := m.MetaData().RowGroups[0].Columns[0].MetaData
			f.Add(out.Bytes()[chunk.DataPageOffset:][:chunk.TotalCompressedSize], uint8(chunk.Type), uint8(0b0001), uint8(5))
		}
	}
	f.Fuzz(func(t *testing.T, chunk []byte, physical, levels, width uint8) {
		leaf := parquetcodec.Leaf{Type: parquet.Type(physical % 8), Width: int(width)}
		depth := parquetcolumn.Depth{Def: uint32(levels & 3), Rep: uint32(levels >> 2 & 3)}
		if depth.Rep > 0 {
			depth.Element = min(uint32(levels>>4&3), depth.Def)
		}
		all := append([]arrow.DataType{&arrow.FixedSizeBinaryType{ByteWidth: max(int(width), 1)}, arrowtype.Int96}, kinds...)
		for _, of := range encoded {
			all = append(all, of.kind)
		}
		for _, kind := range all {
			mem := budget.New(16 << 20).Account()
			if parquetcolumn.NewRun(leaf, depth, kind, mem) == nil {
				continue
			}
			mem.Fetched(uint64(len(chunk)))
			a, err := runOf(chunk, compress.Codecs.Uncompressed, leaf, depth, kind, mem)
			if err != nil {
				continue
			}
			s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: kind, Nullable: true}}, nil)
			if err := arrowtype.Validate(array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len()))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Pages that are anything are refused: codes, levels and values beyond what there is, and memory beyond the account's.
func TestRunRefuses(t *testing.T) {
	type page = parquetcodec.Page
	fixed := func(width int) parquetcodec.Leaf {
		return parquetcodec.Leaf{Type: parquet.Types.FixedLenByteArray, Width: width}
	}
	three, flat, optional := &arrow.FixedSizeBinaryType{ByteWidth: 3}, parquetcolumn.Depth{}, parquetcolumn.Depth{Def: 1}
	int32s := parquetcodec.Leaf{Type: parquet.Types.Int32}
	list := parquetcolumn.Depth{Def: 3, Rep: 1, Element: 2}
	byteArray, dec := parquetcodec.Leaf{Type: parquet.Types.ByteArray}, &arrow.Decimal128Type{Precision: 9}
	two, plain, rle := &page{Kind: 2, Values: 2, Data: []byte("abcdef")}, parquet.Encodings.Plain, parquet.Encodings.RLE
	for name, c := range map[string]struct {
		leaf  parquetcodec.Leaf
		depth parquetcolumn.Depth
		to    arrow.DataType
		dict  *page
		n     int
		page  page
		ok    bool
	}{
		"values":                {fixed(3), flat, three, nil, 2, page{Values: 2, Data: []byte("abcdef")}, true},
		"codes":                 {fixed(3), flat, three, two, 2, page{Values: 2, Encoding: parquet.Encodings.RLEDict, Data: []byte{1, 4, 1}}, true},
		"nulls":                 {fixed(3), optional, three, nil, 3, page{Values: 3, DefEncoding: rle, Data: []byte{2, 0, 0, 0, 3, 0b101, 'a', 'b', 'c', 'd', 'e', 'f'}}, true},
		"packed levels":         {fixed(3), optional, three, nil, 3, page{Values: 3, DefEncoding: parquet.Encodings.BitPacked, Data: []byte{0b10100000, 'a', 'b', 'c', 'd', 'e', 'f'}}, true},
		"list":                  {fixed(3), list, three, nil, 3, page{Kind: 3, Values: 5, RepSize: 2, DefSize: 4, Levels: []byte{10, 0, 3, 0b11101100, 0b10, 0}, Data: []byte("abcdef")}, false},
		"too few values":        {fixed(3), flat, three, nil, 2, page{Values: 2, Data: []byte("abcde")}, false},
		"codes, no dictionary":  {fixed(3), flat, three, nil, 2, page{Values: 2, Encoding: parquet.Encodings.RLEDict, Data: []byte{1, 4, 1}}, false},
		"a code beyond":         {fixed(3), flat, three, two, 2, page{Values: 2, Encoding: parquet.Encodings.RLEDict, Data: []byte{2, 4, 2}}, false},
		"an encoding of others": {fixed(3), flat, three, nil, 2, page{Values: 2, Encoding: parquet.Encodings.DeltaBinaryPacked, Data: []byte("abcdef")}, false},
		"more positions":        {int32s, flat, arrow.PrimitiveTypes.Int32, nil, 1, page{Values: 2, Data: make([]byte, 8)}, false},
		"fewer positions":       {fixed(3), flat, three, nil, 3, page{Values: 2, Data: []byte("abcdef")}, false},
		"more positions, list":  {int32s, list, arrow.PrimitiveTypes.Int32, nil, 1, page{Kind: 3, Values: 2, RepSize: 2, DefSize: 2, Levels: []byte{4, 0, 4, 3}, Data: make([]byte, 8)}, false},
		"levels beyond":         {fixed(3), optional, three, nil, 3, page{Values: 3, DefEncoding: rle, Data: []byte{9, 0, 0, 0, 3, 0b101, 'a', 'b', 'c'}}, false},
		"levels beyond, v2":     {fixed(3), optional, three, nil, 3, page{Kind: 3, Values: 3, DefSize: 9, Levels: []byte{3, 0b101}, Data: []byte("abcdef")}, false},
		"too few packed levels": {fixed(3), optional, three, nil, 9, page{Values: 9, DefEncoding: parquet.Encodings.BitPacked, Data: []byte{0}}, false},
		"levels of values":      {fixed(3), optional, three, nil, 3, page{Values: 3, DefEncoding: plain, Data: []byte{2, 0, 0, 0, 3, 0b101, 'a', 'b', 'c', 'd', 'e', 'f'}}, false},
		"a level above":         {fixed(3), parquetcolumn.Depth{Def: 2, Rep: 1, Element: 1}, three, nil, 1, page{Kind: 3, Values: 1, RepSize: 2, DefSize: 2, Levels: []byte{2, 0, 2, 3}, Data: []byte("abc")}, false},
		"a decimal of no bytes": {byteArray, flat, dec, nil, 1, page{Values: 1, Data: make([]byte, 4)}, false},
		"a decimal too long":    {byteArray, flat, dec, nil, 1, page{Values: 1, Data: append([]byte{17, 0, 0, 0}, make([]byte, 17)...)}, false},
		"runs of booleans":      {parquetcodec.Leaf{Type: parquet.Types.Boolean}, flat, arrow.FixedWidthTypes.Boolean, nil, 4, page{Values: 4, Encoding: rle, Data: []byte{9, 0, 0, 0, 8, 1}}, false},
		"more than memory":      {fixed(3), flat, three, nil, 150_000, page{Values: 150_000, Data: make([]byte, 3*150_000)}, false},
		"levels and no memory":  {fixed(3), list, three, nil, 0, page{Kind: 3, Values: 1 << 19, RepSize: 4, DefSize: 4, Levels: []byte{0x80, 0x80, 0x40, 0, 0x80, 0x80, 0x40, 1}}, false},
		"a text over and over":  {byteArray, flat, arrow.BinaryTypes.String, &page{Kind: 2, Values: 1, Data: append([]byte{0, 1, 0, 0}, make([]byte, 256)...)}, 1 << 13, page{Values: 1 << 13, Encoding: parquet.Encodings.RLEDict, Data: []byte{0, 0x80, 0x80, 1}}, false},
	} {
		mem := budget.New(4 << 20).Account()
		run := parquetcolumn.NewRun(c.leaf, c.depth, c.to, mem)
		if run == nil {
			t.Fatal(name)
		}
		err := run.Begin(c.n)
		if c.dict != nil {
			err = errors.Join(err, run.Dictionary(c.dict))
			if run.Dictionary(c.dict) == nil {
				t.Errorf("%s: a second dictionary", name)
			}
		}
		if err == nil {
			err = run.Add(&c.page)
		}
		var a arrow.Array
		if err == nil {
			a, err = run.Array()
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
	for _, leaf := range []parquetcodec.Leaf{fixed(4), {Type: parquet.Types.Int32}} {
		if parquetcolumn.NewRun(leaf, flat, three, nil) != nil {
			t.Errorf("%v isn't read as %v", leaf, three)
		}
	}
	if parquetcolumn.NewRun(fixed(17), flat, dec, nil) != nil {
		t.Error("a decimal of 17 bytes")
	}
}

package fileio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// lend answers a reader process that runs here, and gives the stream that comes from it.
func lend(t *testing.T, file []byte, q readerRequest) []byte {
	t.Helper()
	requests, toReader := io.Pipe()
	fromReader, answers := io.Pipe()
	q.Size, q.Memory = int64(len(file)), 1<<30
	go func() {
		c := &frames{r: bufio.NewReader(requests), w: answers}
		err := sendBatches(q.input(c), q.output(c), q)
		if err == nil {
			err = c.write(frameEnd, nil)
		}
		answers.CloseWithError(err)
	}()
	c, stream := &frames{r: bufio.NewReader(fromReader), w: toReader}, []byte(nil)
	for {
		kind, payload, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case frameEnd:
			return stream
		case frameData:
			stream = append(stream, payload...)
		case frameRead:
			off, n := binary.LittleEndian.Uint64(payload), binary.LittleEndian.Uint64(payload[8:])
			if err := c.write(frameBytes, file[off:off+n]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What a reader process sends as codes has the types of the file, takes fewer bytes, and has the same values, across row groups.
func TestCodedStream(t *testing.T) {
	b, want := mixed(t, 1000, true)
	for _, rows := range []int{7, 256, 5000} {
		plain, coded := lend(t, b, readerRequest{BatchRows: rows}), lend(t, b, readerRequest{BatchRows: rows, Coded: true})
		if rows == 256 && len(coded) >= len(plain) {
			t.Errorf("%d bytes as codes, %d plain", len(coded), len(plain))
		}
		s, err := newArrowStream(io.NopCloser(nil), bufio.NewReader(bytes.NewReader(coded)), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		types, err := toldTypes(s.schema())
		if err != nil || !types.Equal(mixedTypes) && !arrow.TypeEqual(arrow.StructOf(types.Fields()...), arrow.StructOf(mixedTypes.Fields()...)) {
			t.Fatalf("%v: %v", types, err)
		}
		at := int64(0)
		for {
			batch, err := s.next(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range batch.Columns() {
				_, is := c.(*array.Dictionary)
				if name := batch.ColumnName(i); is != (name == "name") {
					t.Fatalf("column %s is %v", name, c.DataType())
				}
				for row := range c.Len() {
					if got, right := c.ValueStr(row), want.Column(i).ValueStr(int(at)+row); got != right {
						t.Fatalf("row %d of %s is %s, not %s", at, batch.ColumnName(i), got, right)
					}
				}
			}
			at += batch.NumRows()
		}
		if at != 1000 {
			t.Errorf("%d rows of 1000", at)
		}
	}
}

// A stream that states its batches to be of other types than they are, or does not state, is damage.
func TestCodedStreamOfOtherTypes(t *testing.T) {
	b, _ := mixed(t, 10, false)
	f, err := newParquet(t.Context(), inMemory{bytes.NewReader(b)}, SourceOptions{coded: true}.withDefaults(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := toldTypes(f.stored); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("nothing is said: %v", err)
	}
	if err := f.tellTypes(); err != nil {
		t.Fatal(err)
	}
	if types, err := toldTypes(f.stored); err != nil || !arrow.TypeEqual(arrow.StructOf(types.Fields()...), arrow.StructOf(f.types.Fields()...)) {
		t.Fatalf("%v: %v", types, err)
	}
	metadata, fields := f.stored.Metadata(), f.stored.Fields()
	for i := range fields {
		was := fields[i].Type
		for _, other := range []arrow.DataType{arrow.PrimitiveTypes.Int8, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.PrimitiveTypes.Int8}} {
			fields[i].Type = other
			if _, err := toldTypes(arrow.NewSchema(fields, &metadata)); !errors.Is(err, corrupt.ErrCorrupt) || !strings.Contains(err.Error(), fields[i].Name) {
				t.Errorf("column %d is %v: %v", i, other, err)
			}
		}
		fields[i].Type = was
	}
	if _, err := toldTypes(arrow.NewSchema(fields[1:], &metadata)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("a column is missing: %v", err)
	}
}

// A source gives codes to the caller, and values to who doesn't; a code that the dictionary of a damaged file has no entry for is refused with
// the object's name.
func TestSourceOfCodes(t *testing.T) {
	b, want := mixed(t, 1000, true)
	open := func(b []byte) Source {
		src, err := OpenSource(t.Context(), new(blobio.Client), []string{Stdin}, SourceOptions{Format: Parquet, Stdin: bytes.NewReader(b), BatchRows: 300})
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	coded, plain := open(b).(codedSource), open(b)
	defer coded.Close()
	defer plain.Close()
	dictionaries, rows := 0, int64(0)
	for {
		c, err := coded.NextCoded(t.Context())
		p, err2 := plain.Next(t.Context())
		if err == io.EOF && err2 == io.EOF {
			break
		}
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		rows += p.NumRows()
		for i := range c.Columns() {
			if d, ok := c.Column(i).(*array.Dictionary); ok {
				dictionaries++
				for row := range d.Len() {
					if got, right := d.ValueStr(row), p.Column(i).ValueStr(row); got != right {
						t.Fatalf("%s where %s is right", got, right)
					}
				}
			} else if !array.Equal(c.Column(i), p.Column(i)) {
				t.Fatalf("%v where %v is right", c.Column(i), p.Column(i))
			}
			if _, ok := p.Column(i).(*array.Dictionary); ok {
				t.Error("a dictionary among plain values")
			}
		}
	}
	if dictionaries == 0 || rows != want.NumRows() {
		t.Errorf("%d coded columns, %d rows", dictionaries, rows)
	}
}

// Batches that come as codes come in the same memory, those of Next in memory of their own.
func TestSourceReusesMemory(t *testing.T) {
	const rows = 20_000
	open := func() Source {
		src, err := OpenSource(t.Context(), new(blobio.Client), []string{Stdin}, SourceOptions{Format: Parquet, Stdin: bytes.NewReader(manyColumns(t, rows)), BatchRows: 1000})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { src.Close() })
		return src
	}
	check := func(b arrow.RecordBatch, first int) {
		for i, c := range b.Columns() {
			for row, v := range c.(*array.Int64).Int64Values() {
				if v != int64((first+row)*i) {
					t.Fatalf("row %d of column %d is %d", first+row, i, v)
				}
			}
		}
	}
	places, src := map[*int64]bool{}, open().(codedSource)
	for at := 0; at < rows; at += 1000 {
		b, err := src.NextCoded(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(b, at)
		places[&b.Column(3).(*array.Int64).Int64Values()[0]] = true
	}
	if len(places) > 3 { // a message grows by some bytes where its numbers of rows do
		t.Errorf("batches came in %d memories", len(places))
	}
	var kept []arrow.RecordBatch
	for plain := open(); ; {
		b, err := plain.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, b)
	}
	for i, b := range kept {
		check(b, i*1000)
	}
}

package fileio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// manyColumns is a Parquet file of 24 columns of integers.
func manyColumns(t *testing.T, rows int) []byte {
	t.Helper()
	fields := make([]arrow.Field, 24)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.PrimitiveTypes.Int64}
	}
	types := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, types)
	for i := range fields {
		for row := range rows {
			b.Field(i).(*array.Int64Builder).Append(int64(row * i))
		}
	}
	var file bytes.Buffer
	w, err := pqarrow.NewFileWriter(types, &file, nil, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What the Parquet process reads comes in pieces of a quarter of a megabyte, not column by column, and is read into memory that is
// used again.
func TestReaderSendsLargePieces(t *testing.T) {
	const rows = 30_000
	file := manyColumns(t, rows)
	requests, toReader := io.Pipe()
	fromReader, answers := io.Pipe()
	go func() {
		c := &frames{r: bufio.NewReader(requests), w: answers}
		q := readerRequest{Size: int64(len(file)), BatchRows: 5000, Memory: 1 << 30}
		err := sendBatches(q.input(c), q.output(c), q)
		if err == nil {
			err = c.write(frameEnd, nil)
		}
		answers.CloseWithError(err)
	}()
	c := &frames{r: bufio.NewReader(fromReader), w: toReader}
	pieces, size, memories := 0, 0, map[*byte]bool{}
	for {
		kind, payload, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		if kind == frameEnd {
			break
		}
		if kind == frameData {
			pieces, size = pieces+1, size+len(payload)
			memories[unsafe.SliceData(payload)] = true
			continue
		}
		off, n := binary.LittleEndian.Uint64(payload), binary.LittleEndian.Uint64(payload[8:])
		if err := c.write(frameBytes, file[off:off+n]); err != nil {
			t.Fatal(err)
		}
	}
	if size < rows*24*8 {
		t.Fatalf("%d bytes of %d rows", size, rows)
	}
	if most := size/(pipeBytes/4) + 1; pieces > most {
		t.Errorf("%d bytes came in %d pieces, %d are enough", size, pieces, most)
	}
	if len(memories) > 3 {
		t.Errorf("the pieces were read into %d different memories", len(memories))
	}
}

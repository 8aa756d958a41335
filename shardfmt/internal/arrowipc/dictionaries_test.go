package arrowipc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var errTooLarge = errors.New("too large")

// coded writes batches of dictionary-encoded columns, whose dictionaries have a value of width bytes each. Those of the batches differ.
func coded(t *testing.T, columns, batches, width int) []byte {
	t.Helper()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.Binary}
	var fields []arrow.Field
	for i := range columns {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: typ})
	}
	var out bytes.Buffer
	s := arrow.NewSchema(fields, nil)
	w := ipc.NewWriter(&out, ipc.WithSchema(s), ipc.WithZstd())
	for i := range batches {
		var arrays []arrow.Array
		for range columns {
			values, codes := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary), array.NewInt8Builder(memory.DefaultAllocator)
			values.Append(bytes.Repeat([]byte{byte(i)}, width))
			codes.Append(0)
			arrays = append(arrays, array.NewDictionaryArray(typ, codes.NewArray(), values.NewArray()))
		}
		if err := w.Write(array.NewRecordBatch(s, arrays, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Dictionaries stay while a stream is read, so that all of them together are bounded, not each; one that replaces another takes its place.
func TestDictionariesAreBoundedTogether(t *testing.T) {
	const width, limit = 1 << 20, 8 << 20
	for _, c := range []struct {
		columns, batches int
		want             error
	}{{1, 1, nil}, {3, 1, nil}, {20, 1, errTooLarge}, {1, 20, nil}, {3, 5, nil}, {20, 5, errTooLarge}} {
		m, err := Open(bufio.NewReader(bytes.NewReader(coded(t, c.columns, c.batches, width))), Limits{
			Message: limit, Window: 8 << 20, TooLarge: func(int64, int64) error { return errTooLarge },
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(m.Memory()))
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for r.Next() {
			rows += int(r.RecordBatch().NumRows())
		}
		r.Release()
		if err := m.Err(); !errors.Is(err, c.want) || c.want == nil && (rows != c.batches || r.Err() != nil && r.Err() != io.EOF) {
			t.Errorf("%d columns, %d batches: %d rows, %v, %v", c.columns, c.batches, rows, err, r.Err())
		}
	}
}

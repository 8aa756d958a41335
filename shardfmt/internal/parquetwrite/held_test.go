package parquetwrite

import (
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestHeldOfManyColumns: a row group of few bytes counts as few, however many columns they are in. Else files of many columns that are open
// together would end row groups for what they do not hold.
func TestHeldOfManyColumns(t *testing.T) {
	const columns, rows = 256, stepRows
	var fields []arrow.Field
	var arrays []arrow.Array
	for c := range columns {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for r := range rows { // all different, so that there is no dictionary
			b.Append(int64(r))
		}
		fields, arrays = append(fields, arrow.Field{Name: fmt.Sprint("c", c), Type: arrow.PrimitiveTypes.Int64}), append(arrays, b.NewArray())
	}
	s := arrow.NewSchema(fields, nil)
	w, err := New(io.Discard, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(array.NewRecordBatch(s, arrays, rows)); err != nil {
		t.Fatal(err)
	}
	out, memory := int64(0), int64(0)
	for _, e := range w.group {
		f := e.(*flat)
		if f.plain == nil {
			t.Fatal("a column has a dictionary")
		}
		out += f.plain.out.size
		memory += int64(len(f.plain.out.blocks) * f.plain.out.block)
	}
	if w.Held() != out {
		t.Errorf("%d bytes held, want the %d that were written", w.Held(), out)
	}
	if over := memory - out; over > pagesBytes/blocksOfPage {
		t.Errorf("%d bytes of blocks are empty, want at most %d", over, pagesBytes/blocksOfPage)
	}
	t.Logf("%d bytes in %d of memory", out, memory)
}

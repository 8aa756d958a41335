package shardfmt_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt"
)

func TestSelectRows(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	types := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.LargeString, Nullable: true}}, nil)
	build := array.NewRecordBuilder(mem, types)
	defer build.Release()
	build.Field(0).(*array.Int64Builder).AppendValues([]int64{10, 11, 12, 13, 14, 15, 16, 17, 18}, nil)
	build.Field(1).(*array.LargeStringBuilder).AppendValues([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i"},
		[]bool{true, false, true, true, true, true, true, true, false})
	whole := build.NewRecordBatch()
	defer whole.Release()
	part := whole.NewSlice(1, 9)
	defer part.Release()
	for _, c := range []struct {
		batch  arrow.RecordBatch
		rows   []byte
		n      int64
		values [2]string
	}{
		{whole, []byte{0b10000010, 1}, 3, [2]string{"[11 17 18]", `[(null) "h" (null)]`}},
		{part, []byte{0b10000010}, 2, [2]string{"[12 18]", `["c" (null)]`}},
		{part, []byte{0}, 0, [2]string{"[]", "[]"}},
		{part, []byte{0xff}, 8, [2]string{"[11 12 13 14 15 16 17 18]", `[(null) "c" "d" "e" "f" "g" "h" (null)]`}},
	} {
		got := shardfmt.SelectRows(c.batch, c.rows)
		if got.NumRows() != c.n || got.Column(0).String() != c.values[0] || got.Column(1).String() != c.values[1] || !got.Schema().Equal(types) {
			t.Errorf("rows %b of %d: %v", c.rows, c.batch.NumRows(), got)
		}
		got.Release()
	}
}

package shardfmt_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
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

// TestTakeRows: rows of every kind of column come in any order, and as often as they are listed.
func TestTakeRows(t *testing.T) {
	s, err := schema.Parse(`n: Int64, small: Int16, b: Boolean, s: String, d: Decimal, g: Guid, u: Union<Int64, String>, l: List<Struct<a: Int32, s: String>>, ` +
		`f: FixedSizeList(2)<Int64>, m: Map<String, Int64>`)
	if err != nil {
		t.Fatal(err)
	}
	var types []arrow.Field
	for _, f := range arrowtype.Schema(s).Fields() {
		if f.Name == "d" || f.Name == "g" {
			f.Type = f.Type.(arrow.ExtensionType).StorageType()
		}
		types = append(types, f)
	}
	var lines strings.Builder
	for i := range 9 {
		wide := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%016d", i)))
		choice := `[0,7]`
		if i%2 == 1 {
			choice = fmt.Sprintf(`[1,"v%d"]`, i)
		}
		fmt.Fprintf(&lines, `{"n":%d,"small":%d,"b":%t,"s":"s%d","d":"%s","g":"%s","u":%s,"l":[{"a":%d,"s":null},{"a":null,"s":"x%d"}],"f":[%d,null],"m":[{"key":"k%d","value":%d}]}`+"\n",
			i, -i, i%3 == 0, i, wide, wide, choice, i, i, i, i, i)
		if i == 5 {
			lines.WriteString(`{"n":null,"small":null,"b":null,"s":null,"d":null,"g":null,"u":[0,null],"l":null,"f":null,"m":null}` + "\n")
		}
	}
	r := array.NewJSONReader(strings.NewReader(lines.String()), arrow.NewSchema(types, nil), array.WithChunk(10))
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	whole := r.RecordBatch()
	for _, b := range []arrow.RecordBatch{whole, whole.NewSlice(1, 9)} {
		last := b.NumRows() - 1
		for _, rows := range [][]int64{{3, 0, last, 5, 5, 4, 1, 2}, {0, 1, 2, 6, 7, 3, 4}, {last}, {}, {2, 2, 3, 2, 3}} {
			got := shardfmt.TakeRows(b, rows)
			if got.NumRows() != int64(len(rows)) || !got.Schema().Equal(b.Schema()) {
				t.Fatalf("rows %v: %v", rows, got)
			}
			for c, a := range got.Columns() {
				for i, row := range rows {
					if want := b.Column(c).ValueStr(int(row)); a.ValueStr(i) != want {
						t.Errorf("rows %v of %s: row %d is %s, want %s", rows, types[c].Name, i, a.ValueStr(i), want)
					}
				}
			}
		}
	}
}

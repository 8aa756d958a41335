package shardfmt_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/testkit/seed"
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

// TestTakeRowsOfRandomLists: rows whose lists are empty, null, short and long, taken and selected at random, are what they were.
func TestTakeRowsOfRandomLists(t *testing.T) {
	number, _ := seed.Of(t)
	random := rand.New(rand.NewPCG(number, 1))
	list := func(value func(i int) string, i int) string {
		n := random.IntN(5) - 1
		if n < 0 {
			return "null"
		}
		items := make([]string, n)
		for k := range items {
			if items[k] = value(10*i + k); random.IntN(3) == 0 {
				items[k] = "null"
			}
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	integer := func(i int) string { return fmt.Sprint(i) }
	fields := []arrow.Field{
		{Name: "numbers", Type: arrow.LargeListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
		{Name: "small", Type: arrow.LargeListOf(arrow.PrimitiveTypes.Int16), Nullable: true},
		{Name: "flags", Type: arrow.LargeListOf(arrow.FixedWidthTypes.Boolean), Nullable: true},
		{Name: "texts", Type: arrow.LargeListOf(arrow.BinaryTypes.LargeString), Nullable: true},
		{Name: "deep", Type: arrow.LargeListOf(arrow.LargeListOf(arrow.PrimitiveTypes.Float64)), Nullable: true},
		{Name: "pairs", Type: arrow.LargeListOf(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int64)), Nullable: true},
		{Name: "structs", Type: arrow.LargeListOf(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true})), Nullable: true},
	}
	values := []func(int) string{
		integer, integer, func(i int) string { return fmt.Sprint(i%2 == 0) }, func(i int) string { return fmt.Sprintf("%q", strings.Repeat("x", i%4)) },
		func(i int) string { return list(integer, i) }, func(i int) string { return fmt.Sprintf("[%d,null]", i) }, func(i int) string { return fmt.Sprintf(`{"a":%d}`, i) },
	}
	for range 300 {
		n := 1 + random.IntN(12)
		var lines strings.Builder
		for i := range n {
			var members []string
			for k, f := range fields {
				members = append(members, fmt.Sprintf("%q:%s", f.Name, list(values[k], i)))
			}
			lines.WriteString("{" + strings.Join(members, ",") + "}\n")
		}
		r := array.NewJSONReader(strings.NewReader(lines.String()), arrow.NewSchema(fields, nil), array.WithChunk(n))
		if !r.Next() {
			t.Fatal(r.Err())
		}
		b := r.RecordBatch()
		if n > 2 && random.IntN(2) == 0 {
			b = b.NewSlice(1, int64(n))
		}
		var rows, ascending []int64
		bitmap := make([]byte, (b.NumRows()+7)/8)
		for i := range b.NumRows() {
			if random.IntN(2) == 0 {
				ascending, bitmap[i/8] = append(ascending, i), bitmap[i/8]|1<<(i%8)
			}
			rows = append(rows, random.Int64N(b.NumRows()))
		}
		for name, c := range map[string]struct {
			got  arrow.RecordBatch
			rows []int64
		}{"taken": {shardfmt.TakeRows(b, rows), rows}, "selected": {shardfmt.SelectRows(b, bitmap), ascending}} {
			if c.got.NumRows() != int64(len(c.rows)) {
				t.Fatalf("%s: %d rows, want %d", name, c.got.NumRows(), len(c.rows))
			}
			for i, row := range c.rows {
				got, want := c.got.NewSlice(int64(i), int64(i)+1), b.NewSlice(row, row+1)
				if !array.RecordEqual(got, want) {
					t.Fatalf("%s: row %d is %v, want %v, of %v of\n%s", name, i, got, want, c.rows, lines.String())
				}
				got.Release()
				want.Release()
			}
			c.got.Release()
		}
		r.Release()
	}
	for _, f := range fields { // as libraries make them, without buffers of values
		nothing := array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 5)
		b := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{f}, nil), []arrow.Array{nothing}, 5)
		if got := shardfmt.TakeRows(b, []int64{4, 2, 2}); got.NumRows() != 3 || got.Column(0).NullN() != 3 {
			t.Errorf("%s of nulls: %v", f.Type, got)
		}
	}
}

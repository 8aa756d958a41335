package rowsort

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// everyShape has a key, the number of the row, and a column of each way in which types nest.
func everyShape(t testing.TB) *arrow.Schema {
	t.Helper()
	s, err := schema.Parse(`k: Int64, n: Int64, s: String, u: Union<Int64, String>, l: List<Union<Int64, String>>, ` +
		`st: Struct<a: Int64, u: Union<Int64, String>>, m: Map<String, Int64>, t: DateTime`)
	if err != nil {
		t.Fatal(err)
	}
	return arrowtype.Schema(s)
}

// batchOf makes rows with numbers from first on; every fifth key is null.
func batchOf(t testing.TB, s *arrow.Schema, first, rows int, random *rand.Rand) arrow.RecordBatch {
	t.Helper()
	var lines strings.Builder
	for i := range rows {
		n, key := first+i, fmt.Sprint(random.IntN(50))
		if random.IntN(5) == 0 {
			key = "null"
		}
		choice, value := i%2, fmt.Sprint(n)
		if choice == 1 {
			value = fmt.Sprintf("%q", value)
		}
		u := fmt.Sprintf("[%d,%s]", choice, value)
		fmt.Fprintf(&lines, `{"k":%s,"n":%d,"s":"s%d","u":%s,"l":[%s,%s],"st":{"a":%d,"u":%s},"m":[{"key":"x","value":%d}],"t":%d}`+"\n",
			key, n, n, u, u, u, n, u, n, n)
	}
	r := array.NewJSONReader(strings.NewReader(lines.String()), s, array.WithChunk(rows))
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	b := r.RecordBatch()
	b.Retain()
	return b
}

// rowTexts gives each row as JSON.
func rowTexts(t testing.TB, b arrow.RecordBatch) []string {
	t.Helper()
	out := make([]string, b.NumRows())
	for i := range out {
		for _, c := range b.Columns() {
			if e, ok := c.(array.ExtensionArray); ok {
				c = e.Storage()
			}
			out[i] += "|" + c.ValueStr(i)
		}
	}
	return out
}

func TestSortSpillsAndKeepsEveryRow(t *testing.T) {
	ctx, s := context.Background(), everyShape(t)
	for name, o := range map[string]Options{
		"in memory": {}, "spilled": {Memory: 20_000}, "many runs": {Memory: 1}, "first rows": {Memory: 20_000, Limit: 40},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			o.Dir = t.TempDir()
			sorter, err := New(s, []Key{{Path: []string{"k"}, Descending: true}}, o)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			keys := map[string]int64{}
			for i := range 100 {
				b := batchOf(t, s, i*20, 20, random)
				for r, text := range rowTexts(t, b) {
					want = append(want, text)
					keys[text] = -1
					if k := b.Column(0).(*array.Int64); k.IsValid(r) {
						keys[text] = k.Value(r)
					}
				}
				if err := sorter.Add(ctx, b); err != nil {
					t.Fatal(err)
				}
			}
			// Descending, nulls last, and rows of one key as they came.
			slices.SortStableFunc(want, func(a, b string) int { return int(keys[b] - keys[a]) })
			if o.Limit > 0 {
				want = want[:o.Limit]
			}
			var got []string
			for b, err := range sorter.Sorted(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if !b.Schema().Equal(s) {
					t.Fatalf("schema %s", b.Schema())
				}
				got = append(got, rowTexts(t, b)...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d; first %.200v, want %.200v", len(got), len(want), got[:1], want[:1])
			}
			if (o.Memory != 0 && o.Limit == 0) != (sorter.Spilled > 0) {
				t.Errorf("%d runs were spilled", sorter.Spilled)
			}
			if err := sorter.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(o.Dir); len(left) > 0 {
				t.Errorf("files left: %v", left)
			}
		})
	}
}

func TestOrderOfValues(t *testing.T) {
	s, err := schema.Parse("f: Float64, st: Struct<b: Boolean>, d: Dynamic, l: List<Int64>")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"l", "st", "x", "f.x", "st.x"} {
		if _, err := New(arrowtype.Schema(s), []Key{{Path: strings.Split(path, ".")}}, Options{}); !errors.Is(err, errKey) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// Dynamic values: numbers by value, then the others by their text.
	dynamic := []string{"-1e3", "9", "10", `"10"`, `"A"`, `"Avatar"`, `"Avatar!"`, `"\u0042"`, `"b"`, "true", `{"a":1}`}
	for i, x := range dynamic {
		for j, y := range dynamic {
			if got := compareDynamic([]byte(x), []byte(y)); got != cmp.Compare(i, j) {
				t.Errorf("%s and %s compare as %d", x, y, got)
			}
		}
	}
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	nan := math.NaN()
	if compareFloats(nan, 2) <= 0 || compareFloats(2, nan) >= 0 || compareFloats(nan, nan) != 0 {
		t.Error("NaN does not come last")
	}
	b.AppendValues([]float64{3, 1, 2}, []bool{true, true, false})
	a := b.NewFloat64Array()
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true}}, nil), []arrow.Array{a}, 3)
	for _, tc := range []struct {
		key  Key
		want string
	}{
		{Key{}, "1 3 (null)"}, {Key{Descending: true}, "3 1 (null)"},
		{Key{NullsFirst: true}, "(null) 1 3"}, {Key{Descending: true, NullsFirst: true}, "(null) 3 1"},
	} {
		tc.key.Path = []string{"f"}
		sorter, err := New(batch.Schema(), []Key{tc.key}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := sorter.Add(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		var got []string
		for out, err := range sorter.Sorted(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(out.NumRows()) {
				got = append(got, out.Column(0).ValueStr(i))
			}
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%+v: %s", tc.key, text)
		}
	}
}

// TestCodes: codes never contradict the order of a key's values, whatever its type, direction and place of nulls; types without codes are compared.
func TestCodes(t *testing.T) {
	decimals := []string{"NaN", "-Infinity", "1E+3", "1000", "0.3", "0.30", "-0.3", "0", "-0", "9007199254740991", "12345678901234567890", "1E-25", "0.1", "0.10000000000000001"}
	for _, c := range []struct {
		typ    string
		values []string
		coded  bool
	}{
		{"Boolean", []string{"true", "false"}, true},
		{"Int8", []string{"-128", "0", "127"}, true}, {"Int16", []string{"-9", "0", "300"}, true}, {"Int32", []string{"-70000", "7"}, true},
		{"Int64", []string{"-9223372036854775808", "9223372036854775807", "0", "-1"}, true},
		{"UInt8", []string{"0", "255"}, true}, {"UInt16", []string{"0", "65535"}, true}, {"UInt32", []string{"0", "4294967295"}, true},
		{"UInt64", []string{"0", "18446744073709551615", "9223372036854775808"}, true},
		{"Float32", []string{`"NaN"`, "-0.0", "0", "-1.5", "3e38"}, true}, {"Float64", []string{`"NaN"`, `"Infinity"`, `"-Infinity"`, "-0.0", "0", "1e-300", "-2"}, true},
		{"DateTime", []string{"-5", "0", "638448048000000001"}, true},
		{"String", []string{`""`, `"a"`, `"a\u0000"`, `"abcdefgh"`, `"abcdefghi"`, `"é"`}, true},
		{"Dynamic", []string{`"MQ=="`, `"Ig=="`}, false},
		{"Decimal", decimalJSON(t, decimals[4:10]), true}, {"Decimal", decimalJSON(t, decimals), false},
	} {
		s, err := schema.Parse("k: " + c.typ)
		if err != nil {
			t.Fatal(err)
		}
		var lines strings.Builder
		for _, v := range append(c.values, "null") {
			fmt.Fprintf(&lines, `{"k":%s}`, v)
		}
		read := array.NewJSONReader(strings.NewReader(lines.String()), arrowtype.Schema(s), array.WithChunk(-1))
		if !read.Next() {
			t.Fatal(c.typ, read.Err())
		}
		b := read.RecordBatch()
		for _, k := range []Key{{}, {Descending: true}, {NullsFirst: true}, {Descending: true, NullsFirst: true}} {
			k.Path = []string{"k"}
			o, err := newOrder(b, []Key{k})
			if err != nil {
				t.Fatal(err)
			}
			codes := o[0].codes(int(b.NumRows()))
			if (codes != nil) != c.coded {
				t.Errorf("%s %v: has codes %t, want %t", c.typ, c.values, codes != nil, c.coded)
			}
			for i := range codes {
				for j := range codes {
					if codes[i] < codes[j] && o.compare(i, o, j) >= 0 || codes[i] > codes[j] && o.compare(i, o, j) <= 0 {
						t.Errorf("%s %+v: rows %d and %d have the codes %x and %x, and compare as %d", c.typ, k, i, j, codes[i], codes[j], o.compare(i, o, j))
					}
				}
			}
		}
	}
}

// decimalJSON are decimals as arrow-go's reader of JSON takes them: their bytes in base64.
func decimalJSON(t *testing.T, texts []string) (out []string) {
	t.Helper()
	for _, text := range texts {
		d, err := decimal.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, `"`+base64.StdEncoding.EncodeToString(d[:])+`"`)
	}
	return out
}

// TestFirstRowsCompareLittle: the first rows of many are found by their codes, in data of any order: values are compared where codes
// are equal.
func TestFirstRowsCompareLittle(t *testing.T) {
	const rows, limit = 50_000, 10
	random := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func(i int) int64{
		"rising": func(i int) int64 { return int64(i) }, "falling": func(i int) int64 { return int64(-i) }, "random": func(int) int64 { return random.Int64N(1 << 30) },
		"equal": func(int) int64 { return 7 },
	} {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range rows {
			b.Append(value(i))
		}
		batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{b.NewInt64Array()}, rows)
		for _, descending := range []bool{false, true} {
			o, err := newOrder(batch, []Key{{Path: []string{"k"}, Descending: descending}})
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			plain := o[0].compare
			o[0].compare = func(i int, other arrow.Array, j int) int {
				compared++
				return plain(i, other, j)
			}
			got := newRanking(o, rows).first(rows, limit)
			want := make([]int64, rows)
			for i := range want {
				want[i] = int64(i)
			}
			slices.SortStableFunc(want, func(a, b int64) int {
				if descending {
					return plain(int(b), batch.Column(0), int(a))
				}
				return plain(int(a), batch.Column(0), int(b))
			})
			if !slices.Equal(got, want[:limit]) {
				t.Errorf("%s, descending %t: %v, want %v", name, descending, got, want[:limit])
			}
			if most := map[bool]int{true: 2 * rows, false: 100}[name == "equal"]; compared > most {
				t.Errorf("%s, descending %t: %d comparisons of values whose codes don't tell, want at most %d", name, descending, compared, most)
			}
		}
	}
}

// TestNoKeys: rows of an order without keys stay as they come, the first ones where there is a limit.
func TestNoKeys(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{3, 1, 2}, nil)
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{b.NewInt64Array()}, 3)
	for limit, want := range map[int64][]int64{0: {3, 1, 2, 3, 1, 2}, 2: {3, 1}} {
		sorter, err := New(batch.Schema(), nil, Options{Limit: limit, Memory: 1})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for range 2 {
			if err := sorter.Add(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		for out, err := range sorter.Sorted(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, out.Column(0).(*array.Int64).Int64Values()...)
		}
		if err := sorter.Close(); err != nil || !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v: %v", limit, got, want, err)
		}
	}
}

// TestMergedRunsKeepFirstRows: runs that are merged into one keep as many rows as are wanted, so that temporary files stay small
// however many rows come.
func TestMergedRunsKeepFirstRows(t *testing.T) {
	ctx, s := context.Background(), everyShape(t)
	random := rand.New(rand.NewPCG(1, 2))
	sorter, err := New(s, []Key{{Path: []string{"n"}, Descending: true}}, Options{Memory: 1, Limit: 40, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxRuns + 1 {
		if err := sorter.Add(ctx, batchOf(t, s, i*20, 20, random)); err != nil {
			t.Fatal(err)
		}
	}
	sizes := make([]int64, len(sorter.runs))
	for i, r := range sorter.runs {
		info, err := r.file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		sizes[i] = info.Size()
	}
	if len(sizes) != 2 || sizes[0] > 3*sizes[1] {
		t.Errorf("runs of %d bytes, want one of 40 rows and one of 20", sizes)
	}
	rows := 0
	for b, err := range sorter.Sorted(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			if got, want := b.Column(1).(*array.Int64).Value(i), int64((maxRuns+1)*20-1-rows); got != want {
				t.Fatalf("row %d is %d, want %d", rows, got, want)
			}
			rows++
		}
	}
	if err := sorter.Close(); rows != 40 || err != nil {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// BenchmarkSort sorts a million rows of numbers, texts and floats by a random key, in memory and with runs in files.
func BenchmarkSort(b *testing.B) {
	ctx, random := context.Background(), rand.New(rand.NewPCG(1, 2))
	s, err := schema.Parse("k: Int64, n: Int64, s: String, f: Float64, short: String")
	if err != nil {
		b.Fatal(err)
	}
	types := arrowtype.Schema(s)
	var batches []arrow.RecordBatch
	for range 16 {
		r := array.NewRecordBuilder(memory.DefaultAllocator, types)
		for range 65536 {
			n := random.Int64()
			r.Field(0).(*array.Int64Builder).Append(n)
			r.Field(1).(*array.Int64Builder).Append(n >> 32)
			r.Field(2).(*array.LargeStringBuilder).Append(fmt.Sprintf("a text of a row, of %d", n))
			if n%7 == 0 {
				r.Field(3).AppendNull()
			} else {
				r.Field(3).(*array.Float64Builder).Append(float64(n))
			}
			r.Field(4).(*array.LargeStringBuilder).Append(fmt.Sprint(n % 100))
		}
		batches = append(batches, r.NewRecordBatch())
	}
	for name, memory := range map[string]int64{"memory": 1 << 30, "files": 8 << 20} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sorter, err := New(types, []Key{{Path: []string{"k"}}}, Options{Memory: memory, Dir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				for _, batch := range batches {
					if err := sorter.Add(ctx, batch); err != nil {
						b.Fatal(err)
					}
				}
				for _, err := range sorter.Sorted(ctx) {
					if err != nil {
						b.Fatal(err)
					}
				}
				sorter.Close()
			}
		})
	}
}

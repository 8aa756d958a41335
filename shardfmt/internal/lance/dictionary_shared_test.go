package lance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// repetitive are batches of n rows of strings that few differ of, of texts that change from page to page, and of dictionaries with
// more items than their indices count.
func repetitive(t testing.TB, n int) (*arrow.Schema, []arrow.RecordBatch) {
	t.Helper()
	small := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	s := arrow.NewSchema([]arrow.Field{
		{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "drifts", Type: arrow.BinaryTypes.String},
		{Name: "kind", Type: small, Nullable: true},
		{Name: "many", Type: small},
		{Name: "number", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Int64}, Nullable: true},
	}, nil)
	var out []arrow.RecordBatch
	for from := 0; from < n; from += 100 {
		var rows []string
		for i := from; i < min(from+100, n); i++ {
			city := fmt.Sprintf(`"city %d"`, i%9)
			if i%11 == 0 {
				city = "null"
			}
			drifts := fmt.Sprintf("from %d", i/40)
			if i%3000 > 2500 {
				drifts = fmt.Sprintf("only %d", i) // pages of nothing but different values lie between
			}
			rows = append(rows, fmt.Sprintf(`{"city":%s,"drifts":%q,"kind":%s,"many":"m%d","number":%d}`, city, drifts, city, i/10, i%5))
		}
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader("["+strings.Join(rows, ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return s, out
}

// Items that pages have in common are stored once, in buffers of the column, and begin again when no more fit; the values are the
// same as with items of each page.
func TestSharedDictionary(t *testing.T) {
	if o, err := WriteSettings(fileformat.SinkOptions{Settings: fileformat.Settings{"shared-dictionary": "true"}}); err != nil || !o.SharedDictionary {
		t.Errorf("the setting: %+v, %v", o, err)
	}
	schema, batches := repetitive(t, 6000)
	size := map[bool]int64{}
	for _, shared := range []bool{false, true} {
		data := written(t, schema, batches, WriteOptions{PageBytes: 2000, SharedDictionary: shared})
		f, err := open(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []ReadOptions{{}, {BatchRows: 77, WindowBytes: 3000}} {
			if what, err := differs(f, schema, batches, o); what != "" || err != nil {
				t.Errorf("shared %v, %+v: %s %v", shared, o, what, err)
			}
		}
		size[shared] = int64(len(data))
		// The buffers of a column are those of strings, two each, or of numbers: one dictionary where the items are few.
		for i, want := range []struct{ least, most int }{{2, 2}, {4, 12}, {2, 2}, {8, 12}, {1, 1}} {
			c := f.columns[i]
			if !shared {
				want.least, want.most = 0, 0
			}
			if n := len(c.buffers); n < want.least || n > want.most || len(c.pages) < 4 {
				t.Errorf("shared %v, column %s: %d buffers for %d pages", shared, schema.Field(i).Name, n, len(c.pages))
			}
			encodings, err := f.encodings(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			places := map[place]int{}
			plain := 0
			for _, e := range encodings {
				if e.kind != dictionaryKind {
					plain++
					continue
				}
				leaf, _ := leafOf(e.more)
				places[leaf.place]++
			}
			if shared != (places[ofColumn] > 0) || shared == (places[ofPage] > 0) || (plain > 0) != (i == 1) {
				t.Errorf("shared %v, column %s: items by place %v, %d pages without", shared, schema.Field(i).Name, places, plain)
			}
		}
	}
	if size[true] >= size[false] {
		t.Errorf("%d bytes with items in common, %d without", size[true], size[false])
	}
}

// Items in common end when they take as much as a page, so that memory is bounded.
func TestSharedDictionaryIsBounded(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "d", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}}}, nil)
	var rows []string
	for i := range 3000 {
		rows = append(rows, fmt.Sprintf(`{"d":"value %d"}`, i))
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := open(written(t, s, []arrow.RecordBatch{b}, WriteOptions{PageBytes: 4000, SharedDictionary: true}))
	if err != nil {
		t.Fatal(err)
	}
	if what, err := differs(f, s, []arrow.RecordBatch{b}, ReadOptions{}); what != "" || err != nil {
		t.Error(what, err)
	}
	if n := len(f.columns[0].buffers); n < 4 {
		t.Errorf("%d buffers of items", n)
	}
}

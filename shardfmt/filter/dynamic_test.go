package filter

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestDynamicIsComparedByItsText compares Dynamic values with text, numbers and booleans; statistics over the stored bytes rule
// nothing out.
func TestDynamicIsComparedByItsText(t *testing.T) {
	s := &schema.Schema{Fields: []*schema.Node{{Name: "d", Nullable: true, Basic: schema.Binary, Ext: &schema.Extension{Label: schema.LabelDynamic}}}}
	s.Number()
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	for _, text := range []string{`"Inception"`, `"Avatar"`, `300`, `true`, `{"a":1}`, `"say \"hi\" \u00e4"`, `12345678901234567890123456789012345`, `"300"`} {
		b.Append([]byte(text))
	}
	b.AppendNull()
	column := b.NewArray()
	for _, c := range []struct{ where, rows string }{
		{`d = 'Inception'`, "[0]"},
		{`d != 'Inception'`, "[1 2 3 4 5 6 7]"},
		{`d = '300'`, "[2 7]"},
		{`d = 300`, "[2]"},
		{`d = 300.0`, "[2]"},
		{`d > 299 AND d < 301`, "[2]"},
		{`d > 12345678901234567890123456789012`, "[6]"},
		{`d != 300`, "[0 1 3 4 5 6 7]"},
		{`d = true`, "[3]"},
		{`d = 'true'`, "[3]"},
		{`d = '{"a":1}'`, "[4]"},
		{`d = 'say "hi" ä'`, "[5]"},
		{`d = '"Inception"'`, "[]"},
		{`d < 'B'`, "[1 2 6 7]"},
		{`d >= 'Avatar' AND d <= 'Inception'`, "[0 1]"},
		{`d BETWEEN 'A' AND 'B'`, "[1]"},
		{`d IN ('Inception', 300, 'no')`, "[0 2]"},
		{`d NOT IN ('Inception', 300)`, "[1 3 4 5 6 7]"},
		{`d IN ('Inception', NULL)`, "[0]"},
		{`d NOT IN ('Inception', NULL)`, "[]"},
		{`d = NULL`, "[]"},
		{`NOT (d = 'Inception')`, "[1 2 3 4 5 6 7]"},
		{`d LIKE 'Inc%'`, "[0]"},
		{`d LIKE '%r'`, "[1]"},
		{`d LIKE 'say "hi" _'`, "[5]"},
		{`d HAS 'inception'`, "[0]"},
		{`d = X'333030'`, "[2]"},
	} {
		e, err := Parse(c.where)
		if err != nil {
			t.Fatal(c.where, err)
		}
		bound, err := Bind(e, s)
		if err != nil {
			t.Fatal(c.where, err)
		}
		selected := make([]byte, 2)
		if err := bound.SelectOf(column, selected); err != nil {
			t.Fatal(c.where, err)
		}
		rows := []int{}
		for i := range column.Len() {
			if selected[i/8]>>(i%8)&1 == 1 {
				rows = append(rows, i)
			}
		}
		if got := fmt.Sprint(rows); got != c.rows {
			t.Errorf("%s: rows %s, want %s", c.where, got, c.rows)
		}
		stats := &Stats{Positions: 9, Nulls: 1, NullsKnown: true, Min: &Value{Bytes: []byte(`"`)}, Max: &Value{Bytes: []byte(`{`)}, MayContain: func(Value) bool { return false }}
		if may := bound.MayMatch(func(uint32) *Stats { return stats }); !may && c.rows != "[]" && c.where != `d = X'333030'` {
			t.Errorf("%s: ruled out by statistics of the stored bytes", c.where)
		}
	}
}

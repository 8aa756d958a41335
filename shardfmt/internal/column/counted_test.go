package column

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// texts makes an array of strings; a null where ok is false.
func texts(n int, value func(i int) (v string, ok bool)) arrow.Array {
	b := array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range n {
		if v, ok := value(i); ok {
			b.Append(v)
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// The statistics of a field that has a dictionary, for the whole time, for a while, or several, are those of its values one by one,
// however they are cut into arrays.
func TestStatisticsByDictionaryAreThoseOfValues(t *testing.T) {
	const n = 3*dictionaryTrial + 17
	asDecimal := func(a *array.FixedSizeBinary) arrow.Array { return asDecimals(a) }
	few := texts(n, func(i int) (string, bool) { return []string{"", "a", "bé", "a longer text"}[i%7%4], i%5 > 0 })
	for name, c := range map[string]struct {
		node   *schema.Node
		values arrow.Array
		limit  int
	}{
		"few":                      {textNode, few, 0},
		"all null":                 {textNode, texts(n, func(int) (string, bool) { return "", false }), 0},
		"one":                      {textNode, texts(n, func(int) (string, bool) { return "same", true }), 0},
		"1,100":                    {textNode, texts(n, func(i int) (string, bool) { return fmt.Sprint("value ", i*7%1100), true }), 0},
		"all different":            {textNode, texts(n, func(i int) (string, bool) { return fmt.Sprint("value ", i), i%3 > 0 }), 0},
		"two dictionaries":         {textNode, drifting(n), 64},
		"bounded, and doesn't pay": {textNode, texts(n, func(i int) (string, bool) { return fmt.Sprint(i), true }), 100},
		"decimals":                 {decimalNode(), asDecimal(oddDecimals(n)), 0},
		"many decimals": {decimalNode(), asDecimal(decimalArray(n, func(i int) (decimal.Value, bool) {
			v, err := decimal.Parse(fmt.Sprintf("%d.%02d", i*31, i%100))
			if err != nil {
				t.Error(err)
			}
			return v, i%10 == 0
		})), 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Options{}
			if c.limit > 0 {
				o.DictionaryEntries = map[uint32]int{c.node.ID: c.limit}
			}
			e, err := NewEncoder(c.node, o)
			if err != nil {
				t.Fatal(err)
			}
			collector := stats.NewCollector(c.node, stats.Options{})
			for at := 0; at < n; at += 7000 {
				part := array.NewSlice(c.values, int64(at), int64(min(at+7000, n)))
				collector.Add(part)
				if err := e.Add(part); err != nil {
					t.Fatal(err)
				}
			}
			want := collector.Descriptor()
			err = e.Finish(func(got *Encoded) error {
				d := got.Descriptor
				d.DictionarySize = nil // what a dictionary states besides
				if x := d.Cardinality; x != nil && want.Cardinality != nil {
					x.Count, x.IsEstimate = want.Cardinality.Count, want.Cardinality.IsEstimate
				}
				if !proto.Equal(d, want) {
					t.Errorf("got %v\nwant %v", d, want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A text of few values is looked up in the map once a value, and nothing is allocated for a row.
func TestDictionaryLooksUpFewTexts(t *testing.T) {
	words := []string{"AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK", "DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN", "N", "R", "A", "O", "F", ""}
	d := newDictionaryBuilder(0)
	const rows = 100_000
	var values byteViews
	values.ends = append(values.ends, 0)
	for i := range rows {
		values.data = append(values.data, words[i*13%len(words)]...)
		values.ends = append(values.ends, int64(len(values.data)))
	}
	for i := 0; i < rows; i += 10_000 {
		d.addAll(&values, i, i+10_000)
	}
	if d.looks > 2*len(words) {
		t.Errorf("%d looks into the map for %d distinct texts of %d rows", d.looks, len(words), rows)
	}
	for i, id := range d.codes {
		if got := string(d.value(id)); got != words[i*13%len(words)] {
			t.Fatalf("row %d is %q", i, got)
		}
	}
}

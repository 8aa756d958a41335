package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Texts report the same by arrays as one by one, those too that begin alike, hold zeros or repeat.
func TestTextsByArrayAndOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	starts := []string{"", "a", "abcdefgh", "abcdefgh\x00", "abcdefg", "\x00", "\xff\xff\xff\xff\xff\xff\xff\xff", "zebra, é", "zebra, e"}
	for _, words := range []int{1, 3, 40, 5000} {
		whole, single := NewCollector(&schema.Node{Basic: schema.String}, Options{}), NewCollector(&schema.Node{Basic: schema.String}, Options{})
		for range 4 {
			b := array.NewLargeStringBuilder(memory.DefaultAllocator)
			for range 700 {
				b.Append(starts[r.IntN(len(starts))] + fmt.Sprint(r.IntN(words))[:r.IntN(2)])
				if words == 5000 {
					b.Append(starts[r.IntN(len(starts))] + fmt.Sprint(r.IntN(words)))
				}
			}
			all := b.NewLargeStringArray()
			from := int64(r.IntN(9))
			a := array.NewSlice(all, from, int64(all.Len())-3).(*array.LargeString)
			whole.Add(a)
			for i := range a.Len() {
				single.AddCounted([]byte(a.Value(i)), 1)
			}
		}
		if got, want := whole.Descriptor(), single.Descriptor(); !proto.Equal(got, want) {
			t.Errorf("%d words: got %v\nwant %v", words, got, want)
		}
	}
}

// Numbers and texts with nulls between them report the same by arrays as one by one.
func TestValuesBetweenNulls(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, share := range []float64{0.01, 0.2, 0.5, 0.999} {
		ints, floats := array.NewInt16Builder(memory.DefaultAllocator), array.NewFloat64Builder(memory.DefaultAllocator)
		texts := array.NewLargeStringBuilder(memory.DefaultAllocator)
		for range 5000 {
			if r.Float64() < share {
				ints.AppendNull()
				floats.AppendNull()
				texts.AppendNull()
				continue
			}
			ints.Append(int16(r.IntN(3000)) - 1500)
			floats.Append(r.NormFloat64())
			texts.Append([]string{"", "é", "item "}[r.IntN(3)] + fmt.Sprint(r.IntN(3000)))
		}
		for _, c := range []struct {
			node *schema.Node
			all  arrow.Array
		}{
			{&schema.Node{Basic: schema.Int16, Signed: true}, ints.NewArray()}, {&schema.Node{Basic: schema.Float64}, floats.NewArray()},
			{&schema.Node{Basic: schema.String}, texts.NewArray()},
		} {
			a := array.NewSlice(c.all, 5, 4990)
			whole, single := NewCollector(c.node, Options{}), NewCollector(c.node, Options{})
			whole.Add(a)
			for i := range int64(a.Len()) {
				single.Add(array.NewSlice(a, i, i+1))
			}
			if got, want := whole.Descriptor(), single.Descriptor(); !proto.Equal(got, want) {
				t.Errorf("%v, %v null: got %v\nwant %v", c.node.Basic, share, got, want)
			}
		}
	}
}

// TestBoundsBehindEqualHeads: bounds are decided by more than the first eight bytes, which are compared first.
func TestBoundsBehindEqualHeads(t *testing.T) {
	const head = "12345678"
	for _, texts := range [][]string{{"b", "a", "c"}, {"b", "c", "a"}, {"b", "ab", "bb"}, {"a", "", "b"}, {"c", "a", "b"}, {"a", "c", "b"}} {
		s := &byteStrings{}
		s.begin([]byte(head + texts[0]))
		for _, text := range texts[1:] {
			b := []byte(head + text)
			s.bound(b, textHead(b, 0, len(b)))
		}
		if least, most := head+slices.Min(texts), head+slices.Max(texts); string(s.min) != least || string(s.max) != most {
			t.Errorf("%q: %q to %q, want %q to %q", texts, s.min, s.max, least, most)
		}
	}
}

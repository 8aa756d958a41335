package column

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Entries of a dictionary go by value where the rows go about by what they say, in the profiles that code steps by how often each
// occurs, and codes take a third of what they do in no order then; else entries go by frequency.
func TestOrderOfEntries(t *testing.T) {
	const n, hours = 150_000, 700
	r := rand.New(rand.NewPCG(1, 2))
	about, mixed := array.NewLargeStringBuilder(memory.DefaultAllocator), array.NewLargeStringBuilder(memory.DefaultAllocator)
	start := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	text := func(hour int) string { return start.Add(time.Duration(hour) * time.Hour).Format(time.RFC3339) }
	for i := range n {
		if i%97 == 3 {
			about.AppendNull()
			mixed.AppendNull()
			continue
		}
		about.Append(text(i*hours/n + r.IntN(4)))
		mixed.Append(text(r.IntN(hours)))
	}
	inOrder, inNone := about.NewLargeStringArray(), mixed.NewLargeStringArray()
	for _, c := range []struct {
		name    string
		a       *array.LargeString
		profile encode.Profile
		byValue bool
		most    int
	}{
		{"about in order", inOrder, encode.HighCompression, true, 66_000},
		{"about in order", inOrder, encode.MinimalSize, true, 66_000},
		{"about in order", inOrder, encode.Balanced, false, n},
		{"in no order", inNone, encode.HighCompression, false, 200_000},
	} {
		node := &schema.Node{Name: "d", Basic: schema.String, Nullable: true}
		f := store(t, node, c.a, &Options{Profile: c.profile}, 3)
		dicts := buffersOf(f, metapb.BufferKind_VALUE_DICTIONARY)
		if len(dicts) != 1 {
			t.Fatalf("%s, %v: %d dictionaries", c.name, c.profile, len(dicts))
		}
		d, err := colstream.ParseDictionary(dicts[0], schema.String, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		ascending := true
		for id := 1; id < d.Count; id++ {
			ascending = ascending && bytes.Compare(d.Value(uint32(id-1)), d.Value(uint32(id))) < 0
		}
		codes := 0
		for _, b := range buffersOf(f, metapb.BufferKind_DATA) {
			codes += len(b)
		}
		t.Logf("%s, %v: %d bytes of codes", c.name, c.profile, codes)
		if ascending != c.byValue || codes > c.most {
			t.Errorf("%s, %v: ascending %v, %d bytes of codes, not %v and %d at most", c.name, c.profile, ascending, codes, c.byValue, c.most)
		}
		f.check(t, node, c.a, colstream.Range{Start: 0, End: n})
		f.check(t, node, c.a, colstream.Range{Start: 65_000, End: 66_031})
	}
}

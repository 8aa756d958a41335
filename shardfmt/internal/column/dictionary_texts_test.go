package column

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Texts that repeat in runs, of which many are distinct, have no dictionary in high-compression: what Zstd makes of them is smaller than the
// dictionary alone. A few texts have one.
func TestRunsOfTextsHaveNoDictionary(t *testing.T) {
	const n = 100_000
	hours, few := array.NewLargeStringBuilder(memory.DefaultAllocator), array.NewLargeStringBuilder(memory.DefaultAllocator)
	start := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		if i%97 == 3 {
			hours.AppendNull()
		} else {
			hours.Append(start.Add(time.Duration(i/45+i%3/2) * time.Hour).Format(time.RFC3339))
		}
		few.Append(fmt.Sprint("service ", i*i%7))
	}
	runs := hours.NewLargeStringArray()
	for _, c := range []struct {
		name         string
		a            *array.LargeString
		profile      encode.Profile
		dictionaries int
		most         int
	}{
		{"hours", runs, encode.Balanced, 1, 110_000},
		{"hours", runs, encode.HighCompression, 0, 65_000},
		{"few", few.NewLargeStringArray(), encode.HighCompression, 1, n / 2},
	} {
		node := &schema.Node{Name: "d", Basic: schema.String, Nullable: true}
		f := store(t, node, c.a, &Options{Profile: c.profile}, 3)
		size := 0
		for _, kind := range []metapb.BufferKind{metapb.BufferKind_DATA, metapb.BufferKind_VALUE_DICTIONARY} {
			for _, b := range buffersOf(f, kind) {
				size += len(b)
			}
		}
		t.Logf("%s, %v: %d bytes", c.name, c.profile, size)
		if got := len(buffersOf(f, metapb.BufferKind_VALUE_DICTIONARY)); got != c.dictionaries || size > c.most {
			t.Errorf("%s, %v: %d dictionaries, %d bytes, not %d and %d at most", c.name, c.profile, got, size, c.dictionaries, c.most)
		}
		f.check(t, node, c.a, colstream.Range{Start: 0, End: n})
		f.check(t, node, c.a, colstream.Range{Start: 65_000, End: 66_031})
	}
}

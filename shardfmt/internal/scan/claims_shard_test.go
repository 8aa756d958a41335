package scan

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestConstantStripesCount: a stripe that stores nothing of a column, whose first row stands for all, counts among the positions and nulls that the
// shard's own statistics are compared with.
func TestConstantStripesCount(t *testing.T) {
	s, err := schema.Parse("k: Int64")
	if err != nil {
		t.Fatal(err)
	}
	n := s.Fields[0]
	shard := newShardClaims(nil)
	for text, sampled := range map[string]bool{`[1,null,3]`: false, `[7]`: true, `[null]`: true} {
		values, _, err := array.FromJSON(memory.DefaultAllocator, arrowtype.Type(n), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		d := &metapb.FieldDescriptor{PositionCount: 3}
		if sampled {
			d.PositionCount = 50
		}
		x := &claim{node: n, descriptor: d, seen: stats.NewCollector(n, stats.Options{Bloom: stats.BloomNever})}
		x.seen.Add(values)
		if err := (&claims{sampled: sampled, shard: shard, node: n}).checkField(x); err != nil {
			t.Fatal(err)
		}
	}
	got := shard.counted[n.ID]
	if got.GetPositionCount() != 103 || got.NullCount == nil || got.GetNullCount() != 51 {
		t.Fatalf("%v, want 51 nulls in 103 positions", got)
	}
	nulls := uint64(1) << 62
	if what := differs(got, &metapb.FieldDescriptor{PositionCount: 103, NullCount: &nulls}); !strings.Contains(what, "51 nulls") {
		t.Errorf("a count that lies: %q", what)
	}
	nulls = 51
	if !shard.nullsOnly[n.ID] {
		t.Error("the rest counts as known")
	}
	if what := differs(got, &metapb.FieldDescriptor{PositionCount: 103, NullCount: &nulls}); what != "" {
		t.Errorf("the truth: %q", what)
	}
}

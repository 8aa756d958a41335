package stats

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestFoldOfGoldenShards folds the stripes of every golden shard to the bytes that the reference wrote for the
// shard, and of every merged root to what was proven to be read by it.
func TestFoldOfGoldenShards(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	several := 0
	for _, path := range goldenRoots(t) {
		r, err := meta.OpenRoot(ctx, client, "file://"+path, meta.Options{})
		if err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		s, err := r.Schema(ctx)
		if err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		stripes, err := r.Stripes(ctx)
		if err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		for id := range s.Count {
			var sum *metapb.FieldDescriptor
			for i := range stripes {
				d, _, err := r.StripeField(ctx, i, id)
				if err != nil {
					t.Fatalf("%v: %v", path, err)
				}
				sum = Fold(sum, d.GetField())
			}
			want, err := r.ShardField(ctx, id)
			if err != nil {
				t.Fatalf("%v: %v", path, err)
			}
			if want, got := prototext.Format(want), prototext.Format(sum); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, field %d: got %v, want %v", path, id, got, want)
			}
			if len(stripes) > 1 && want.GetPositionCount() > 0 {
				several++
			}
		}
	}
	if a, b := several, 100; a <= b {
		t.Fatalf("several is %v, want more than %v", a, b)
	}
}

func goldenRoots(t *testing.T) []string {
	dir := interop.Dir(t)
	var roots []string
	for _, pattern := range []string{"*/shard.amudai.shard", "merged/*/shard.amudai.shard"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, found...)
	}
	if len(roots) == 0 {
		t.Fatalf("roots is empty")
	}
	_, err := os.Stat(roots[0])
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

func u64(n uint64) *uint64 { return &n }

func TestFoldRules(t *testing.T) {
	ranged := func(n uint64, min, max *metapb.AnyValue, minIn, maxIn bool) *metapb.FieldDescriptor {
		return &metapb.FieldDescriptor{PositionCount: n, NullCount: u64(0), RawDataSize: u64(8 * n),
			RangeStats: &metapb.RangeStats{MinValue: min, MinInclusive: minIn, MaxValue: max, MaxInclusive: maxIn}}
	}
	fold := func(all ...*metapb.FieldDescriptor) *metapb.FieldDescriptor {
		var sum *metapb.FieldDescriptor
		for _, d := range all {
			before := proto.CloneOf(d)
			sum = Fold(sum, d)
			if !proto.Equal(before, d) {
				t.Fatalf("a stripe's descriptor was changed: proto.Equal(before, d) is false")
			}
		}
		return sum
	}

	t.Run("bounds widen with their flags", func(t *testing.T) {
		d := fold(ranged(2, meta.Int(3), meta.Int(9), true, false), ranged(3, meta.Int(-1), meta.Int(9), false, true))
		if !proto.Equal(ranged(5, meta.Int(-1), meta.Int(9), false, true), d) {
			t.Fatalf("%v: proto.Equal(ranged(5, meta.Int(-1), meta.Int(9), false, true), d) is false", d)
		}
	})
	t.Run("a missing bound takes the other", func(t *testing.T) {
		d := fold(ranged(1, nil, nil, true, true), ranged(1, meta.Uint(1), meta.Uint(2), true, true))
		if want, got := uint64(1), d.RangeStats.MinValue.GetU64Value(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
	t.Run("what can't be compared is dropped", func(t *testing.T) {
		if got := fold(ranged(1, meta.Int(1), meta.Int(2), true, true), ranged(1, meta.Uint(1), meta.Uint(2), true, true)).RangeStats; got != nil {
			t.Fatalf("got %v, want nil", got)
		}
		nan := meta.Double(math.NaN())
		if got := fold(ranged(1, nan, nan, true, true), ranged(1, meta.Double(1), meta.Double(2), true, true)).RangeStats; got != nil {
			t.Fatalf("got %v, want nil", got)
		}
	})
	t.Run("what one stripe lacks stays gone", func(t *testing.T) {
		full := ranged(1, meta.Int(1), meta.Int(1), true, true)
		bare := &metapb.FieldDescriptor{PositionCount: 4}
		d := fold(full, bare, full)
		if !(proto.Equal(&metapb.FieldDescriptor{PositionCount: 6}, d)) {
			t.Fatalf("%v: (proto.Equal(&metapb.FieldDescriptor{PositionCount: 6}, d)) is false", d)
		}
	})
	t.Run("stripes without positions change nothing", func(t *testing.T) {
		full := ranged(1, meta.Int(1), meta.Int(1), true, true)
		empty := &metapb.FieldDescriptor{}
		if !proto.Equal(full, fold(empty, full, empty)) {
			t.Fatalf("proto.Equal(full, fold(empty, full, empty)) is false")
		}
		if !proto.Equal(empty, fold(empty)) {
			t.Fatalf("proto.Equal(empty, fold(empty)) is false")
		}
		if got := fold(); got != nil {
			t.Fatalf("got %v, want nil", got)
		}
	})
	t.Run("filters and dictionaries belong to a stripe", func(t *testing.T) {
		d := fold(&metapb.FieldDescriptor{PositionCount: 1, DictionarySize: u64(3),
			MembershipFilters: &metapb.MembershipFilters{Sbbf: &metapb.SplitBlockBloomFilter{NumBlocks: 1}}})
		if !(proto.Equal(&metapb.FieldDescriptor{PositionCount: 1}, d)) {
			t.Fatalf("(proto.Equal(&metapb.FieldDescriptor{PositionCount: 1}, d)) is false")
		}
	})
	t.Run("constants", func(t *testing.T) {
		constant := func(v *metapb.AnyValue) *metapb.FieldDescriptor {
			return &metapb.FieldDescriptor{PositionCount: 1, ConstantValue: v}
		}
		if fold(constant(meta.Text("a")), constant(meta.Text("a"))).ConstantValue == nil {
			t.Fatalf("fold(constant(meta.Text(\"a\")), constant(meta.Text(\"a\"))).ConstantValue is nil")
		}
		if got := fold(constant(meta.Text("a")), constant(meta.Text("b"))).ConstantValue; got != nil {
			t.Fatalf("got %v, want nil", got)
		}
		if got := fold(constant(meta.Text("a")), constant(nil), constant(meta.Text("a"))).ConstantValue; got != nil {
			t.Fatalf("got %v, want nil", got)
		}
		nan := meta.Double(math.NaN())
		if got := fold(constant(nan), constant(nan)).ConstantValue; got != nil {
			t.Fatalf("got %v, want nil", got)
		}
		if fold(constant(meta.Null()), constant(meta.Null())).ConstantValue == nil {
			t.Fatalf("fold(constant(meta.Null()), constant(meta.Null())).ConstantValue is nil")
		}
	})
	t.Run("counts of the type need every stripe that has values", func(t *testing.T) {
		yes := &metapb.FieldDescriptor{PositionCount: 1, NullCount: u64(0),
			TypeSpecific: &metapb.FieldDescriptor_BooleanStats{BooleanStats: &metapb.BooleanStats{TrueCount: 1}}}
		nulls := &metapb.FieldDescriptor{PositionCount: 5, NullCount: u64(5)}
		values := &metapb.FieldDescriptor{PositionCount: 5, NullCount: u64(4)}
		if want, got := uint64(2), fold(yes, nulls, yes).GetBooleanStats().GetTrueCount(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if got := fold(yes, values, yes).TypeSpecific; got != nil {
			t.Fatalf("got %v, want nil", got)
		}
	})
	t.Run("cardinality", func(t *testing.T) {
		one, two := new(sketch), new(sketch)
		one.add([]byte("hello"))
		two.add([]byte("world"))
		d := fold(&metapb.FieldDescriptor{PositionCount: 1, Cardinality: one.info()},
			&metapb.FieldDescriptor{PositionCount: 1, Cardinality: two.info()})
		if want, got := uint64(2), d.Cardinality.GetCount(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		exact := &metapb.FieldDescriptor{PositionCount: 1, Cardinality: &metapb.CardinalityInfo{Count: u64(1)}}
		d = fold(exact, exact)
		if d.Cardinality == nil {
			t.Fatalf("d.Cardinality is nil")
		}
		if got := d.Cardinality.Count; got != nil {
			t.Fatalf("got %v, want nil", got)
		}
	})
	t.Run("exact counts", func(t *testing.T) {
		number := func(v ...any) *metapb.FieldDescriptor { return describe(signed(schema.Int64), Options{}, v...) }
		float := func(v ...any) *metapb.FieldDescriptor { return describe(leaf(schema.Float64), Options{}, v...) }
		text := func(v ...any) *metapb.FieldDescriptor { return describe(leaf(schema.String), Options{}, v...) }
		flag := func(v ...any) *metapb.FieldDescriptor { return describe(leaf(schema.Boolean), Options{}, v...) }
		long := strings.Repeat("x", 200)
		for name, c := range map[string]struct {
			stripes []*metapb.FieldDescriptor
			want    uint64
			exact   bool
		}{
			"ranges apart":            {[]*metapb.FieldDescriptor{number(1, 2, 2), number(7, 9), number(-5, nil)}, 5, true},
			"one value in common":     {[]*metapb.FieldDescriptor{number(1, 2), number(2, 3)}, 3, false},
			"the same constant":       {[]*metapb.FieldDescriptor{number(4, 4), number(4)}, 1, true},
			"one of them an estimate": {[]*metapb.FieldDescriptor{estimateOf(number(1, 2)), number(7, 9)}, 4, false},
			"both have NaN":           {[]*metapb.FieldDescriptor{float(1.0, nan), float(2.0, nan)}, 3, false},
			"one has NaN":             {[]*metapb.FieldDescriptor{float(1.0, nan), float(2.0)}, 3, true},
			"zeros are equal":         {[]*metapb.FieldDescriptor{float(-1.0, negativeZero), float(0.0, 1.0)}, 3, false},
			"strings":                 {[]*metapb.FieldDescriptor{text("a", "b"), text("c")}, 3, true},
			"bounds that were cut":    {[]*metapb.FieldDescriptor{text(long+"a", long+"b"), text(long + "c")}, 3, false},
			"booleans":                {[]*metapb.FieldDescriptor{flag(true), flag(true, false), flag(nil, true)}, 2, true},
		} {
			d := fold(c.stripes...)
			if want, got := c.want, d.Cardinality.GetCount(); !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: got %v, want %v", name, got, want)
			}
			if want, got := c.exact, IsExact(d.Cardinality); !reflect.DeepEqual(got, want) {
				t.Fatalf("%v: got %v, want %v", name, got, want)
			}
		}
	})
}

// estimateOf is a descriptor whose cardinality is only known by its sketch.
func estimateOf(d *metapb.FieldDescriptor) *metapb.FieldDescriptor {
	d.Cardinality.IsEstimate = true
	return d
}

// TestExactTogether: a count of different values of two parts is exact only where nothing can be in both.
func TestExactTogether(t *testing.T) {
	value := func(n int64) *metapb.AnyValue { return &metapb.AnyValue{Kind: &metapb.AnyValue_I64Value{I64Value: n}} }
	part := func(count uint64, least int64, leastIn bool, most int64, mostIn bool) *metapb.FieldDescriptor {
		return &metapb.FieldDescriptor{Cardinality: exactCount(count),
			RangeStats: &metapb.RangeStats{MinValue: value(least), MinInclusive: leastIn, MaxValue: value(most), MaxInclusive: mostIn}}
	}
	constant := func(n int64, count uint64) *metapb.FieldDescriptor {
		d := part(count, n, true, n, true)
		d.ConstantValue = value(n)
		return d
	}
	booleans := func(yes, no uint64) *metapb.FieldDescriptor {
		return &metapb.FieldDescriptor{Cardinality: exactCount(min(yes, 1) + min(no, 1)),
			TypeSpecific: &metapb.FieldDescriptor_BooleanStats{BooleanStats: &metapb.BooleanStats{TrueCount: yes, FalseCount: no}}}
	}
	estimate := part(3, 0, true, 4, true)
	estimate.Cardinality.IsEstimate = true
	for name, c := range map[string]struct {
		a, b *metapb.FieldDescriptor
		want uint64 // 0: not exact
	}{
		"apart":                      {part(3, 0, true, 4, true), part(2, 5, true, 9, true), 5},
		"apart, the other way":       {part(2, 5, true, 9, true), part(3, 0, true, 4, true), 5},
		"they touch":                 {part(3, 0, true, 5, true), part(2, 5, true, 9, true), 0},
		"they touch, one open":       {part(3, 0, true, 5, false), part(2, 5, true, 9, true), 5},
		"they touch, the other open": {part(3, 0, true, 5, true), part(2, 5, false, 9, true), 5},
		"they overlap":               {part(3, 0, true, 6, false), part(2, 5, false, 9, true), 0},
		"the same constant":          {constant(7, 1), constant(7, 1), 1},
		"two constants":              {constant(7, 1), constant(8, 1), 2},
		"a constant counted twice":   {constant(7, 1), constant(7, 2), 0},
		"the other counted twice":    {constant(7, 2), constant(7, 1), 0},
		"a constant and more":        {constant(7, 1), part(2, 7, true, 9, true), 0},
		"one value, no constant":     {constant(7, 1), part(1, 7, true, 7, true), 0},
		"no constants":               {part(1, 7, true, 7, true), part(1, 7, true, 7, true), 0},
		"booleans":                   {booleans(3, 0), booleans(1, 2), 2},
		"the same boolean":           {booleans(3, 0), booleans(1, 0), 1},
		"booleans of one side":       {booleans(3, 0), part(1, 7, true, 7, true), 0},
		"an estimate":                {estimate, part(2, 5, true, 9, true), 0},
	} {
		if got, ok := exactTogether(c.a, c.b); got != c.want || ok != (c.want > 0) {
			t.Errorf("%s: %d, %v, want %d", name, got, ok, c.want)
		}
	}
}

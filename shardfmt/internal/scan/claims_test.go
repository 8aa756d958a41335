package scan

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// claimed is a type with ranks of values: value gives one that stands above those of lower ranks, or is equal to the one before in
// another form. nan is what has no order, nil if all have one.
type claimed struct {
	of    string
	value func(rank int) any
	nan   any
}

// ranks are how many values of a type there are.
const ranks = 60

func claimedTypes() []claimed {
	scaled := func(rank, scale int) decimal.Value {
		v, _ := decimal.FromInt128(int64(rank-30)>>63, uint64(int64(rank-30)), scale)
		return v
	}
	return []claimed{
		{of: "Int8", value: func(i int) any { return int8(4*i - 128) }},
		{of: "UInt8", value: func(i int) any { return uint8(4 * i) }},
		{of: "Int16", value: func(i int) any { return int16(1000*i - 30000) }},
		{of: "UInt16", value: func(i int) any { return uint16(1000 * i) }},
		{of: "Int32", value: func(i int) any { return int32(7e7*i - 2e9) }},
		{of: "UInt32", value: func(i int) any { return uint32(7e7 * i) }},
		{of: "Int64", value: func(i int) any { return int64(i-30) << 58 >> 1 }},
		{of: "UInt64", value: func(i int) any { return uint64(i) << 58 }},
		{of: "DateTime", value: func(i int) any { return int64(i) * 1e16 }},
		{of: "TimeSpan", value: func(i int) any { return int64(i-30) * 1e16 }},
		{of: "Float32", value: func(i int) any { return float32(i-30) / 4 }, nan: float32(math.NaN())},
		{of: "Float64", value: func(i int) any { return float64(i-30) / 3 }, nan: math.NaN()},
		{of: "Float64", value: func(i int) any {
			return [...]float64{math.Inf(-1), math.Copysign(0, -1), 0, math.Inf(1)}[min(i, 1)+i/30+i/(ranks-1)]
		}, nan: math.NaN()},
		{of: "Boolean", value: func(i int) any { return i >= 30 }},
		{of: "String", value: func(i int) any {
			return strings.Repeat("\x00", i%3) + fmt.Sprintf("%02d", i) + strings.Repeat("é", i/3*2)
		}},
		{of: "String", value: func(i int) any { return strings.Repeat("a", i) }},
		{of: "Binary", value: func(i int) any { return []byte("\xff common" + strings.Repeat("\x00", i)) }},
		{of: "Dynamic", value: func(i int) any { return fmt.Appendf(nil, `{"a":"%0*d"}`, 40+i/8, i) }},
		{of: "Guid", value: func(i int) any { return fmt.Appendf(nil, "a guid %09d", i) }},
		{of: "FixedSizeBinary(3)", value: func(i int) any { return []byte{255, byte(i / 7), byte(i)} }},
		{of: "Decimal", value: func(i int) any { return scaled(i, 2) }, nan: decimal.NaN},
		{of: "Decimal", value: func(i int) any { return scaled(i, i%7-3) }, nan: decimal.NaN}, // not in order; see sorted
	}
}

// sorted gives the values of a type in order.
func (c *claimed) sorted(n *schema.Node) []any {
	out := make([]any, ranks)
	for i := range out {
		out[i] = c.value(i)
	}
	return sortedValues(n, out)
}

func sortedValues(n *schema.Node, vals []any) []any {
	a := storageOf(n, vals)
	get, order := valuesOf(a), make([]int, len(vals))
	for i := range order {
		order[i] = i
		for k := i; k > 0 && compareValues(n, get(order[k-1]), get(order[k])) > 0; k-- {
			order[k-1], order[k] = order[k], order[k-1]
		}
	}
	out := make([]any, len(vals))
	for i, k := range order {
		out[i] = vals[k]
	}
	return out
}

// storageOf makes an array of a node of values, nil for null.
func storageOf(n *schema.Node, vals []any) arrow.Array {
	typ := arrowtype.Type(n)
	if e, ok := typ.(arrow.ExtensionType); ok {
		typ = e.StorageType()
	}
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	for _, v := range vals {
		switch v := v.(type) {
		case nil:
			b.AppendNull()
		case decimal.Value:
			b.(*array.FixedSizeBinaryBuilder).Append(v[:])
		case []byte:
			b.(interface{ Append([]byte) }).Append(v)
		case string:
			b.(interface{ Append(string) }).Append(v)
		case bool:
			b.(interface{ Append(bool) }).Append(v)
		case int8:
			b.(interface{ Append(int8) }).Append(v)
		case uint8:
			b.(interface{ Append(uint8) }).Append(v)
		case int16:
			b.(interface{ Append(int16) }).Append(v)
		case uint16:
			b.(interface{ Append(uint16) }).Append(v)
		case int32:
			b.(interface{ Append(int32) }).Append(v)
		case uint32:
			b.(interface{ Append(uint32) }).Append(v)
		case int64:
			b.(interface{ Append(int64) }).Append(v)
		case uint64:
			b.(interface{ Append(uint64) }).Append(v)
		case float32:
			b.(interface{ Append(float32) }).Append(v)
		case float64:
			b.(interface{ Append(float64) }).Append(v)
		}
	}
	return b.NewArray()
}

// rawBytes are a value as a range index has it, nil if it can't be in one.
func rawBytes(v any) []byte {
	switch v := v.(type) {
	case decimal.Value:
		return v[:]
	case bool, string, []byte:
		return nil
	}
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

// claimTest is a column with its true claims.
type claimTest struct {
	node   *schema.Node
	values []any // in order, see ranks
	rows   []int // the rank of each, −1 for null and −2 for NaN
	array  arrow.Array
	stats  func() *filter.Stats
	index  func() *colstream.RangeIndex // nil if there is none
}

// indexBlock is an odd size of blocks, so that they end anywhere in a batch.
const indexBlock = 100

func newClaimTest(t *testing.T, c claimed, nullable, nans bool) *claimTest {
	t.Helper()
	s, err := schema.Parse("v: " + c.of)
	if err != nil {
		t.Fatal(err)
	}
	x := &claimTest{node: s.Fields[0]}
	x.values = c.sorted(x.node)
	r := rand.New(rand.NewPCG(1, 2))
	cells := []any{}
	for i := range 1337 {
		rank := 1 + r.IntN(ranks-2)
		switch {
		case i == 500:
			rank = 0 // the extremes come once
		case i == 911:
			rank = ranks - 1
		case nullable && (r.IntN(5) == 0 || i >= 3*indexBlock && i < 4*indexBlock):
			rank = -1
		case nans && c.nan != nil && r.IntN(5) == 0:
			rank = -2
		}
		x.rows = append(x.rows, rank)
		switch rank {
		case -1:
			cells = append(cells, nil)
		case -2:
			cells = append(cells, c.nan)
		default:
			cells = append(cells, x.values[rank])
		}
	}
	x.array = array.NewSlice(storageOf(x.node, append([]any{x.values[9], nil, x.values[7]}, cells...)), 3, int64(3+len(cells)))
	x.stats = func() *filter.Stats { return x.described() }
	if rawBytes(x.values[0]) != nil {
		x.index = x.ranged
	}
	return x
}

// described are the statistics of the column with a Bloom filter.
func (x *claimTest) described() *filter.Stats {
	seen := stats.NewCollector(x.node, stats.Options{Bloom: stats.BloomAlways})
	seen.Add(x.array)
	d := seen.Descriptor()
	if x.node.Basic == schema.Boolean { // no writer of ours gives them bounds
		d.RangeStats = &metapb.RangeStats{MinInclusive: true, MaxInclusive: true, MinValue: boolValue(false), MaxValue: boolValue(true)}
	}
	return statsOf(x.node, d, d.PositionCount)
}

func boolValue(b bool) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_BoolValue{BoolValue: b}}
}

// ranged is the range index of the column.
func (x *claimTest) ranged() *colstream.RangeIndex {
	width := len(rawBytes(x.values[0]))
	out := &colstream.RangeIndex{Type: x.node.Basic, Span: uint64(len(x.rows)), BlockSize: indexBlock, Width: width}
	for from := 0; from < len(x.rows); from += indexBlock {
		least, greatest, invalid := -1, 0, 0
		for _, rank := range x.rows[from:min(from+indexBlock, len(x.rows))] {
			if rank < 0 {
				invalid++
				continue
			}
			if least < 0 || rank < least {
				least = rank
			}
			greatest = max(greatest, rank)
		}
		out.Min = append(out.Min, rawBytes(x.values[max(least, 0)])...)
		out.Max = append(out.Max, rawBytes(x.values[greatest])...)
		out.Invalid = append(out.Invalid, uint16(invalid))
	}
	return out
}

// claim makes a claim of the column; lie changes it.
func (x *claimTest) claim(lie func(c *claim)) *claim {
	c := &claim{node: x.node, stats: [2]*filter.Stats{x.stats(), x.stats()}}
	if x.index != nil {
		c.index = &indexClaim{node: x.node, index: x.index()}
	}
	lie(c)
	return c
}

// holds gives the first contradiction, with hold or holdEach of batches of a size, and how many batches had to be looked at value by value.
func (x *claimTest) holds(c *claim, batch int, each bool) (what string, slowly int) {
	for at := 0; at < x.array.Len(); at += batch {
		a := array.NewSlice(x.array, int64(at), int64(min(at+batch, x.array.Len())))
		if each || !c.holdTogether(a, uint64(at)) {
			slowly++
			if what := c.holdEach(a, uint64(at)); what != "" {
				return what, slowly
			}
		}
	}
	return "", slowly
}

// bound is a value in the terms of the filter.
func (x *claimTest) bound(rank int) *filter.Value {
	v := valuesOf(storageOf(x.node, x.values))(rank)
	return &v
}

// lies are those that a claim can tell; each is contradicted by what want states.
func (x *claimTest) lies() map[string]claimLie {
	out := map[string]claimLie{"none": {"", func(*claim) {}}}
	for k, of := range [...]string{"", " of the shard"} {
		on := func(lie func(*filter.Stats)) func(*claim) { return func(c *claim) { lie(c.stats[k]) } }
		out["least"+of] = claimLie{"position 500 of the stripe is below the least value" + of, on(func(s *filter.Stats) { s.Min, s.MinExclusive = x.above(), false })}
		out["least excluded"+of] = claimLie{"position 500 of the stripe is below the least value" + of,
			on(func(s *filter.Stats) { s.Min, s.MinExclusive = x.bound(0), true })}
		out["greatest"+of] = claimLie{"position 911 of the stripe is above the greatest value" + of, on(func(s *filter.Stats) { s.Max, s.MaxExclusive = x.below(), false })}
		out["greatest excluded"+of] = claimLie{"position 911 of the stripe is above the greatest value" + of,
			on(func(s *filter.Stats) { s.Max, s.MaxExclusive = x.bound(ranks-1), true })}
		out["filter"+of] = claimLie{"not in the Bloom filter" + of, on(func(s *filter.Stats) {
			if missing := *x.bound(40); s.MayContain != nil {
				s.MayContain = func(v filter.Value) bool { return compareValues(x.node, v, missing) != 0 }
			}
		})}
		out["no NaNs"+of] = claimLie{"not a number, against the count" + of, on(func(s *filter.Stats) { s.NoNaNs = true })}
	}
	if x.index != nil {
		x.indexLies(out)
	}
	return out
}

// claimLie changes a claim; want is what is reported of it where it contradicts the values.
type claimLie struct {
	want string
	lie  func(c *claim)
}

// above is the first value above the least one, below the last one below the greatest.
func (x *claimTest) above() *filter.Value {
	rank := 1
	for compareValues(x.node, *x.bound(rank), *x.bound(0)) == 0 {
		rank++
	}
	return x.bound(rank)
}

func (x *claimTest) below() *filter.Value {
	rank := ranks - 2
	for compareValues(x.node, *x.bound(rank), *x.bound(ranks - 1)) == 0 {
		rank--
	}
	return x.bound(rank)
}

func (x *claimTest) indexLies(out map[string]claimLie) {
	width := len(rawBytes(x.values[0]))
	raw := func(v *filter.Value) []byte {
		for rank, b := range x.values {
			if compareValues(x.node, *x.bound(rank), *v) == 0 {
				return rawBytes(b)
			}
		}
		panic("no such value")
	}
	out["index least"] = claimLie{"position 500 of the stripe is below the least value of its block of the range index",
		func(c *claim) { copy(c.index.index.Min[5*width:6*width], raw(x.above())) }}
	out["index greatest"] = claimLie{"position 911 of the stripe is above the greatest value of its block of the range index",
		func(c *claim) { copy(c.index.index.Max[9*width:10*width], raw(x.below())) }}
	out["index invalid"] = claimLie{"positions [700, 800) of the stripe have", func(c *claim) { c.index.index.Invalid[7]++ }}
	out["index invalid at the end"] = claimLie{"positions [1300, 1337) of the stripe have", func(c *claim) { c.index.index.Invalid[13]++ }}
	out["index without counts"] = claimLie{"nulls and NaNs, the range index says 0", func(c *claim) { c.index.index.Invalid = nil }}
	out["index all invalid"] = claimLie{"positions [500, 600) of the stripe have", func(c *claim) { c.index.index.Invalid[5] = indexBlock }}
}

// Every lie that values contradict is found, of every type, whatever the batches, and reported in the same words as by looking at one value after the
// other; where there is none, values are not looked at one by one.
func TestClaimsAreHeldTogether(t *testing.T) {
	found := map[string]int{}
	for _, c := range claimedTypes() {
		for form := range 4 {
			x := newClaimTest(t, c, form&1 != 0, form&2 != 0)
			for name, lie := range x.lies() {
				for _, batch := range []int{7, 64, indexBlock, 333, 4096} {
					want, _ := x.holds(x.claim(lie.lie), batch, true)
					got, slowly := x.holds(x.claim(lie.lie), batch, false)
					if got != want || want == "" && slowly > 0 {
						t.Fatalf("%s, form %d, %s, batches of %d: %q, one by one %q; %d batches were read one by one", c.of, form, name, batch, got, want, slowly)
					}
					if want != "" && !strings.Contains(want, c.expected(lie.want)) || name == "none" && want != "" {
						t.Fatalf("%s, form %d, %s: %q", c.of, form, name, want)
					}
					if want != "" {
						found[c.of+" "+name]++
					}
				}
			}
		}
	}
	for _, c := range claimedTypes() {
		for name := range newClaimTest(t, c, true, true).lies() {
			if found[c.of+" "+name] == 0 && name != "none" && !c.cannot(name) {
				t.Errorf("%s: the lie %q was never found", c.of, name)
			}
		}
	}
}

// expected is what is reported of a lie: the extremes of booleans come more than once.
func (c *claimed) expected(what string) string {
	if _, rest, ok := strings.Cut(what, " is "); ok && c.of == "Boolean" {
		return rest
	}
	return what
}

// cannot reports whether a type has no detectable lie.
func (c *claimed) cannot(lie string) bool {
	return c.nan == nil && strings.HasPrefix(lie, "no NaNs") || c.of == "Boolean" && strings.HasPrefix(lie, "filter")
}

// A Bloom filter is not read for each of few values again whenever they come, but where two of them have one place.
func TestFiltersAreAskedForDifferentValues(t *testing.T) {
	for _, c := range claimedTypes() {
		x := newClaimTest(t, c, true, true)
		asked := 0
		truth := x.claim(func(of *claim) {
			of.stats[1] = nil
			if may := of.stats[0].MayContain; may != nil {
				of.stats[0].MayContain = func(v filter.Value) bool { asked++; return may(v) }
			}
		})
		if what, slowly := x.holds(truth, 64, false); what != "" || slowly > 0 {
			t.Fatalf("%s: %q", c.of, what)
		}
		if asked > len(x.rows)/4 || asked == 0 && c.of != "Boolean" {
			t.Errorf("%s: a filter was asked %d times for %d values", c.of, asked, ranks)
		}
	}
}

// A value that a Bloom filter lacks is found behind thousands of others that it has, whichever of them are remembered in its place. What lies
// in the place of a null is not requested: zeros, which are the first value of most.
func TestOneValueOfManyIsNotInTheFilter(t *testing.T) {
	nan := map[string]any{"Float64": math.NaN(), "Decimal": decimal.NaN}
	for of, value := range map[string]func(i int) any{
		"Int32":   func(i int) any { return int32(i) },
		"UInt64":  func(i int) any { return uint64(i) },
		"Float64": func(i int) any { return float64(i) / 3 },
		"Decimal": func(i int) any { return decimal.FromWords(uint64(min(i, 1)), uint64(i)<<46) }, // 0E-6176, and 1 with many exponents
		"String":  func(i int) any { return strings.Repeat("x", i/41) + strings.Repeat("y", i%41) },
		"Binary":  func(i int) any { return fmt.Appendf(nil, "12345678%04d", i)[:min(12, 12*i)] },
		"Guid":    func(i int) any { return fmt.Appendf(nil, "01234567%08d", i) },
	} {
		s, err := schema.Parse("v: " + of)
		if err != nil {
			t.Fatal(err)
		}
		n := s.Fields[0]
		vals := make([]any, 0, 4096)
		for i := range cap(vals) {
			vals = append(vals, value(i))
		}
		for _, missing := range []int{0, 1, 2, 777, 4095} {
			for k := range 2 {
				x := lackingClaim(n, vals[missing], k)
				if x.holdTogether(storageOf(n, vals[missing:missing+1]), 0) {
					t.Errorf("%s: value %d, the first, is missing in filter %d", of, missing, k)
				}
				others := append([]any{nil, nan[of]}, vals[:missing]...)
				others = append(append(others, nil), vals[missing+1:]...)
				if !x.holdTogether(storageOf(n, others), 0) {
					t.Fatalf("%s: one by one without %d", of, missing)
				}
				others = append(others, vals[missing])
				if x.holdTogether(storageOf(n, others), 0) {
					t.Errorf("%s: value %d is missing in filter %d", of, missing, k)
				}
			}
		}
	}
}

// lackingClaim has one Bloom filter, of everything but a value and NaNs, which no filter has.
func lackingClaim(n *schema.Node, missing any, k int) *claim {
	x := &claim{node: n}
	lacking := valuesOf(storageOf(n, []any{missing}))(0)
	x.stats[k] = &filter.Stats{MayContain: func(v filter.Value) bool {
		return compareValues(n, v, lacking) != 0 && !(isFloating(n) && notANumber(n, v))
	}}
	return x
}

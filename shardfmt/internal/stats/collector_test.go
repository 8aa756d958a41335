package stats

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func leaf(b schema.Basic) *schema.Node { return &schema.Node{Name: "f", Basic: b, Nullable: true} }

func signed(b schema.Basic) *schema.Node {
	n := leaf(b)
	n.Signed = true
	return n
}

func decimalNode() *schema.Node {
	n := leaf(schema.FixedSizeBinary)
	n.FixedSize, n.Ext = 16, &schema.Extension{Label: schema.LabelDecimal}
	return n
}

// build makes an array of n's canonical type; nil is null.
func build(n *schema.Node, values ...any) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, arrowtype.Type(n))
	if e, ok := b.(*array.ExtensionBuilder); ok {
		b = e.StorageBuilder()
	}
	for _, v := range values {
		if v == nil {
			b.AppendNull()
			continue
		}
		switch b := b.(type) {
		case *array.Int8Builder:
			b.Append(int8(v.(int)))
		case *array.Int64Builder:
			b.Append(int64(v.(int)))
		case *array.Uint64Builder:
			b.Append(v.(uint64))
		case *array.Float32Builder:
			b.Append(float32(v.(float64)))
		case *array.Float64Builder:
			b.Append(v.(float64))
		case *array.BooleanBuilder:
			b.Append(v.(bool))
		case *array.LargeStringBuilder:
			b.Append(v.(string))
		case *array.BinaryBuilder:
			b.Append([]byte(v.(string)))
		case *array.FixedSizeBinaryBuilder:
			d, err := decimal.Parse(v.(string))
			if err != nil {
				panic(err)
			}
			b.Append(d[:])
		case *array.LargeListBuilder:
			b.Append(true)
			for range v.(int) {
				b.ValueBuilder().AppendEmptyValue()
			}
		default:
			panic(b.Type().String())
		}
	}
	return b.NewArray()
}

// describe collects values, in two arrays if there are several, and leaves the sketch out.
func describe(n *schema.Node, o Options, values ...any) *metapb.FieldDescriptor {
	c := NewCollector(n, o)
	half := len(values) / 2
	c.Add(build(n, values[:half]...))
	c.Add(build(n, values[half:]...))
	return c.Descriptor()
}

var nan, inf, negativeZero = math.NaN(), math.Inf(1), math.Copysign(0, -1)

// What the reference writes, by docs/format/fields.md.
func TestReferenceStatistics(t *testing.T) {
	for name, c := range map[string]struct {
		node   *schema.Node
		values []any
		want   string
	}{
		"constant integer": {signed(schema.Int64), []any{42, 42}, `position_count: 2 null_count: 0 raw_data_size: 16
			constant_value{i64_value: 42} range_stats{min_value{i64_value: 42} min_inclusive: true max_value{i64_value: 42} max_inclusive: true}`},
		"integers": {signed(schema.Int8), []any{-3, nil, 5}, `position_count: 3 null_count: 1 raw_data_size: 3
			range_stats{min_value{i64_value: -3} min_inclusive: true max_value{i64_value: 5} max_inclusive: true}`},
		"unsigned": {leaf(schema.Int64), []any{uint64(1), uint64(math.MaxUint64)}, `position_count: 2 null_count: 0 raw_data_size: 16
			range_stats{min_value{u64_value: 1} min_inclusive: true max_value{u64_value: 18446744073709551615} max_inclusive: true}`},
		"all null": {signed(schema.Int64), []any{nil, nil}, `position_count: 2 null_count: 2 raw_data_size: 0
			constant_value{null_value{}} range_stats{min_inclusive: true max_inclusive: true}`},
		"no rows": {signed(schema.Int64), nil, `position_count: 0 null_count: 0 raw_data_size: 0
			range_stats{min_inclusive: true max_inclusive: true}`},
		"datetime is unsigned": {leaf(schema.DateTime), []any{7, nil}, `position_count: 2 null_count: 1 raw_data_size: 9
			range_stats{min_value{u64_value: 7} min_inclusive: true max_value{u64_value: 7} max_inclusive: true}`},
		"float32": {leaf(schema.Float32), []any{1.0, nan, -1.0, nil}, `position_count: 4 null_count: 1 raw_data_size: 13
			range_stats{min_value{double_value: -1} min_inclusive: true max_value{double_value: 1} max_inclusive: true}
			floating_stats{positive_count: 1 negative_count: 1 nan_count: 1}`},
		"infinities": {leaf(schema.Float64), []any{inf, -inf, 0.0}, `position_count: 3 null_count: 0 raw_data_size: 24
			range_stats{min_value{double_value: -inf} min_inclusive: true max_value{double_value: inf} max_inclusive: true}
			floating_stats{zero_count: 1 positive_infinity_count: 1 negative_infinity_count: 1}`},
		"decimals": {decimalNode(), []any{"1.50", "-2", "0.00", "NaN", "Infinity", nil}, `position_count: 6 null_count: 1 raw_data_size: 81
			range_stats{min_value{decimal_value: "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\xa2"} min_inclusive: true
			max_value{decimal_value: "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x78"} max_inclusive: true}
			decimal_stats{zero_count: 1 positive_count: 2 negative_count: 1 nan_count: 1}`},
		"booleans": {leaf(schema.Boolean), []any{true, nil, false, true}, `position_count: 4 null_count: 1 raw_data_size: 2
			boolean_stats{true_count: 2 false_count: 1}`},
		"constant boolean": {leaf(schema.Boolean), []any{false, false}, `position_count: 2 null_count: 0 raw_data_size: 1
			constant_value{bool_value: false} boolean_stats{false_count: 2}`},
		"no booleans": {leaf(schema.Boolean), nil, `position_count: 0 null_count: 0 raw_data_size: 0
			constant_value{null_value{}} boolean_stats{}`},
		"strings": {leaf(schema.String), []any{"hello", "world", "test", "x", "longer string"}, `position_count: 5 null_count: 0 raw_data_size: 28
			string_stats{min_size: 1 min_non_empty_size: 1 max_size: 13 ascii_count: 5}`},
		"empty and wide": {leaf(schema.String), []any{"", "é", nil}, `position_count: 3 null_count: 1 raw_data_size: 3
			string_stats{min_size: 0 min_non_empty_size: 2 max_size: 2 ascii_count: 1}`},
		"null strings": {leaf(schema.String), []any{nil}, `position_count: 1 null_count: 1 raw_data_size: 0
			constant_value{null_value{}} string_stats{ascii_count: 0}`},
		"constant bytes": {leaf(schema.Binary), []any{"ab", "ab"}, `position_count: 2 null_count: 0 raw_data_size: 4
			constant_value{bytes_value: "ab"} binary_stats{min_length: 2 min_non_empty_length: 2 max_length: 2}`},
		"long constants are none": {leaf(schema.String), []any{strings.Repeat("x", 129)}, `position_count: 1 null_count: 0 raw_data_size: 129
			string_stats{min_size: 129 min_non_empty_size: 129 max_size: 129 ascii_count: 1}`},
		"lists": {&schema.Node{Basic: schema.List, Children: []*schema.Node{signed(schema.Int8)}}, []any{3, nil, 0}, `position_count: 3 null_count: 1 raw_data_size: 25
			list_stats{min_length: 0 min_non_empty_length: 3 max_length: 3}`},
		"no lists": {&schema.Node{Basic: schema.List, Children: []*schema.Node{signed(schema.Int8)}}, nil, `position_count: 0 null_count: 0 raw_data_size: 0`},
		"null lists": {&schema.Node{Basic: schema.List, Children: []*schema.Node{signed(schema.Int8)}}, []any{nil}, `position_count: 1 null_count: 1 raw_data_size: 0
			list_stats{}`},
		"struct": {&schema.Node{Basic: schema.Struct}, []any{nil, nil}, `position_count: 2 null_count: 2 raw_data_size: 0`},
		"unit":   {leaf(schema.Unit), []any{nil, nil}, `position_count: 2`},
	} {
		got := describe(c.node, Options{Reference: true, Bloom: BloomNever}, c.values...)
		got.Cardinality = nil
		same(t, name, got, c.want)
	}
}

func same(t *testing.T, name string, got *metapb.FieldDescriptor, want string) {
	t.Helper()
	w := new(metapb.FieldDescriptor)
	if err := prototext.Unmarshal([]byte(want), w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !proto.Equal(got, w) {
		t.Errorf("%s:\n got %v\nwant %v", name, got, w)
	}
}

// Values that differ in their bits are no constant, though they compare equal (note 03 §19.1).
func TestConstantsAreTheSameBits(t *testing.T) {
	for name, c := range map[string]struct {
		node     *schema.Node
		values   []any
		constant bool
	}{
		"NaN beside a number": {leaf(schema.Float64), []any{1.0, nan}, false},
		"only NaN":            {leaf(schema.Float64), []any{nan, nan}, false},
		"both zeros":          {leaf(schema.Float64), []any{0.0, negativeZero}, false},
		"negative zeros":      {leaf(schema.Float32), []any{negativeZero, negativeZero}, true},
		"a cohort":            {decimalNode(), []any{"1", "1.0"}, false},
		"one decimal":         {decimalNode(), []any{"1.0", "1.0"}, true},
		"NaN decimal":         {decimalNode(), []any{"1", "NaN"}, false},
		"only NaN decimals":   {decimalNode(), []any{"NaN", "NaN"}, false},
		"null beside a value": {leaf(schema.String), []any{"a", nil}, false},
	} {
		d := describe(c.node, Options{}, c.values...)
		if (d.ConstantValue != nil) != c.constant {
			t.Errorf("%s: constant is %v", name, d.ConstantValue)
		}
	}
	zero := describe(leaf(schema.Float64), Options{}, negativeZero, negativeZero).ConstantValue.GetDoubleValue()
	if !math.Signbit(zero) {
		t.Error("the constant lost its sign")
	}
}

func TestRangesOfByteStrings(t *testing.T) {
	a64, wide := strings.Repeat("a", 64), strings.Repeat("a", 63)+"é"
	for name, c := range map[string]struct {
		basic          schema.Basic
		values         []any
		min, max       string
		inclusive, any bool
	}{
		"short":                   {schema.String, []any{"b", "a", nil}, "a", "b", true, true},
		"exactly the limit":       {schema.String, []any{a64}, a64, a64, true, true},
		"shortened":               {schema.String, []any{a64 + "b"}, a64, a64[1:] + "b", false, true},
		"whole characters":        {schema.String, []any{wide}, a64[1:], a64[2:] + "b", false, true},
		"past the surrogates":     {schema.String, []any{"a", "\ud7ff" + strings.Repeat("\U0010ffff", 20)}, "a", "\ue000", false, true},
		"no character above":      {schema.String, []any{"a", strings.Repeat("\U0010ffff", 20)}, "", "", false, false},
		"invalid text":            {schema.String, []any{"a", "\xff"}, "", "", false, false},
		"bytes count up":          {schema.Binary, []any{"\x00", "\x01" + strings.Repeat("\xff", 70)}, "\x00", "\x02", false, true},
		"no byte string above":    {schema.Binary, []any{"\x00", strings.Repeat("\xff", 70)}, "", "", false, false},
		"largest bytes, in limit": {schema.Binary, []any{"\xff"}, "\xff", "\xff", true, true},
	} {
		r := describe(leaf(c.basic), Options{}, c.values...).RangeStats
		if (r != nil) != c.any {
			t.Errorf("%s: range %v", name, r)
			continue
		}
		if r == nil {
			continue
		}
		lo, hi := r.MinValue.GetStringValue()+string(r.MinValue.GetBytesValue()), r.MaxValue.GetStringValue()+string(r.MaxValue.GetBytesValue())
		if lo != c.min || hi != c.max || r.MaxInclusive != c.inclusive || !r.MinInclusive {
			t.Errorf("%s: got %q to %q, inclusive %v", name, lo, hi, r.MaxInclusive)
		}
	}
	empty := describe(leaf(schema.String), Options{}, nil).RangeStats
	if empty == nil || empty.MinValue != nil || empty.MaxValue != nil {
		t.Error("nulls have a range without bounds")
	}
}

func TestCardinalityOfNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		node   *schema.Node
		values []any
		want   uint64
	}{
		"integers":       {signed(schema.Int64), []any{1, 2, 1, 3, nil}, 3},
		"nothing but 0":  {signed(schema.Int64), []any{0, 0}, 1},
		"0 and 1":        {signed(schema.Int64), []any{0, 1, 0, 1, 0}, 2},
		"1 and 0":        {signed(schema.Int64), []any{1, 0, 1}, 2},
		"zeros are one":  {leaf(schema.Float64), []any{0.0, negativeZero, nan, -nan}, 2},
		"cohort is one":  {decimalNode(), []any{"1", "1.00", "100E-2", "1E+1", "10", "NaN", "0", "-0.0"}, 4},
		"strings":        {leaf(schema.String), []any{"a", "b", "a", ""}, 3},
		"largest cohort": {decimalNode(), []any{"1E+6144", "1.0E+6144", "0E+6111"}, 2},
	} {
		d := describe(c.node, Options{}, c.values...)
		if got := d.GetCardinality().GetCount(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	many := make([]any, 1025)
	for i := range many {
		many[i] = i * i
	}
	for _, c := range []struct {
		d     *metapb.FieldDescriptor
		exact bool
	}{
		{describe(signed(schema.Int64), Options{}, many[:1024]...), true},
		{describe(signed(schema.Int64), Options{}, many...), false},
		{describe(signed(schema.Int64), Options{Exact: 1025}, many...), true},
		{describe(leaf(schema.String), Options{}, strings.Repeat("a", exactBytes), "b"), false},
		{describe(leaf(schema.String), Options{Reference: true}, "a"), false},
		{describe(leaf(schema.Boolean), Options{}, true, nil), true},
	} {
		if IsExact(c.d.Cardinality) != c.exact {
			t.Errorf("%v: exact should be %v", c.d.Cardinality.GetCount(), c.exact)
		}
	}
	if d := describe(leaf(schema.Boolean), Options{}, true, nil, false); d.Cardinality.GetCount() != 2 || d.Cardinality.HllSketch != nil {
		t.Errorf("booleans: %v", d.Cardinality)
	}
	if d := describe(signed(schema.Int64), Options{Reference: true}, 1, 2); d.Cardinality != nil {
		t.Error("the reference counts no integers")
	}
	for _, basic := range []schema.Basic{schema.String, schema.Boolean} {
		if d := describe(leaf(basic), Options{}, nil); d.Cardinality != nil {
			t.Errorf("nulls of %s have no cardinality", basic)
		}
	}
}

func TestWhoGetsAFilter(t *testing.T) {
	dense, scattered := make([]any, 1000), make([]any, 1000)
	for i := range dense {
		dense[i], scattered[i] = i, i*1_000_003
	}
	for name, c := range map[string]struct {
		node    *schema.Node
		options Options
		values  []any
		want    bool
	}{
		"strings":                 {leaf(schema.String), Options{}, []any{"a"}, true},
		"strings, plain":          {leaf(schema.String), Options{Plain: true}, []any{"a"}, false},
		"strings, asked for":      {leaf(schema.String), Options{Plain: true, Bloom: BloomAlways}, []any{"a"}, true},
		"strings, not wanted":     {leaf(schema.String), Options{Bloom: BloomNever}, []any{"a"}, false},
		"nulls":                   {leaf(schema.String), Options{}, []any{nil}, false},
		"dense integers":          {signed(schema.Int64), Options{}, dense, false},
		"dense, asked for":        {signed(schema.Int64), Options{Bloom: BloomAlways}, dense, true},
		"scattered integers":      {signed(schema.Int64), Options{}, scattered, true},
		"scattered, reference":    {signed(schema.Int64), Options{Reference: true}, scattered, false},
		"floats":                  {leaf(schema.Float64), Options{}, []any{1.5}, false},
		"decimals":                {decimalNode(), Options{}, []any{"1.5"}, false},
		"decimals that ask":       {decimalNode(), Options{Bloom: BloomAlways}, []any{"1.5"}, true},
		"booleans can't have any": {leaf(schema.Boolean), Options{Bloom: BloomAlways}, []any{true}, false},
	} {
		d := describe(c.node, c.options, c.values...)
		if (d.MembershipFilters != nil) != c.want {
			t.Errorf("%s: filter is %v", name, d.MembershipFilters)
		}
	}
	f := describe(signed(schema.Int64), Options{Bloom: BloomAlways, FPP: 0.001}, scattered...).MembershipFilters.Sbbf
	for _, v := range scattered {
		if b := IntegerBytes(uint64(v.(int))); !BloomMayContain(signed(schema.Int64), f, b[:]) {
			t.Fatalf("%d is denied", v)
		}
	}
	if f.TargetFpp != 0.001 || len(f.Data)&(len(f.Data)-1) != 0 {
		t.Errorf("a filter that was asked for has the book's size, not %d bytes at %g", len(f.Data), f.TargetFpp)
	}
	for _, o := range []Options{{Bloom: BloomAlways}, {Bloom: BloomAlways, FPP: 1}, {Bloom: BloomAlways, FPP: 2}, {Bloom: BloomAlways, FPP: -1}, {FPP: 0.001}} {
		d := describe(leaf(schema.String), o, "a", "b", "c")
		if got := d.GetMembershipFilters().GetSbbf().GetTargetFpp(); got != defaultFPP {
			t.Errorf("%+v: a filter of the rate %g, want %g", o, got, defaultFPP)
		}
	}
	d := describe(decimalNode(), Options{Reference: true, Bloom: BloomAlways}, "1.5", "-2")
	if got := d.GetMembershipFilters().GetSbbf().GetNumValues(); got != 2 || d.Cardinality != nil {
		t.Errorf("decimals that are not counted: a filter of %d values, want 2", got)
	}
}

func BenchmarkIntegers(b *testing.B) {
	n := signed(schema.Int64)
	values := make([]any, 65536)
	for i := range values {
		values[i] = i * 7919
	}
	a := build(n, values...)
	b.SetBytes(8 * int64(len(values)))
	for b.Loop() {
		NewCollector(n, Options{}).Add(a)
	}
}

func BenchmarkFewIntegers(b *testing.B) {
	n := signed(schema.Int64)
	values := make([]any, 65536)
	for i := range values {
		values[i] = i * i % 101
	}
	a := build(n, values...)
	b.SetBytes(8 * int64(len(values)))
	for b.Loop() {
		NewCollector(n, Options{}).Add(a)
	}
}

func BenchmarkStrings(b *testing.B) {
	values := make([]any, 65536)
	size := 0
	for i := range values {
		s := strings.Repeat("abcdefghij", 1+i%4) + string(rune('a'+i%26)) + strings.Repeat("x", i%7)
		values[i], size = s, size+len(s)
	}
	a := build(leaf(schema.String), values...)
	b.SetBytes(int64(size))
	for b.Loop() {
		NewCollector(leaf(schema.String), Options{}).Add(a)
	}
}

func BenchmarkFloats(b *testing.B) {
	values := make([]any, 65536)
	for i := range values {
		values[i] = float64(i) * 1.1
	}
	a := build(leaf(schema.Float64), values...)
	b.SetBytes(8 * int64(len(values)))
	for b.Loop() {
		NewCollector(leaf(schema.Float64), Options{}).Add(a)
	}
}

package manifest

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

func i64(v int64) any   { return v }
func u64(v uint64) any  { return v }
func f64(v float64) any { return v }
func text(v string) any { return v }

// ends are a lower and an upper bound as shardfmt.FieldSummary has them.
type ends struct{ low, high any }

func between(low, high any) ends { return ends{low, high} }

func TestBounds(t *testing.T) {
	integer := func(b schema.Basic, signed bool) *schema.Node { return &schema.Node{Basic: b, Signed: signed} }
	str := &schema.Node{Basic: schema.String}
	long := strings.Repeat("a", 16)
	inf := math.Inf(1)
	for _, c := range []struct {
		name      string
		n         *schema.Node
		r         ends
		low, high any // as iceberg-go reads them; nil = none
	}{
		{"Int8", integer(schema.Int8, true), between(i64(-3), i64(5)), int32(-3), int32(5)},
		{"Int64", integer(schema.Int64, true), between(i64(math.MinInt64), i64(math.MaxInt64)), int64(math.MinInt64), int64(math.MaxInt64)},
		{"UInt32", integer(schema.Int32, false), between(u64(1), u64(math.MaxUint32)), int64(1), int64(math.MaxUint32)},
		{"UInt16 out of range", integer(schema.Int16, false), between(u64(1), u64(70000)), int32(1), nil},
		{"UInt64", integer(schema.Int64, false), between(u64(0), u64(math.MaxUint64)), decimalOf(0), decimalOf(math.MaxUint64)},
		{"floats", &schema.Node{Basic: schema.Float64}, between(f64(-inf), f64(1.5)), -inf, 1.5},
		{"zeros", &schema.Node{Basic: schema.Float64}, between(f64(0), f64(math.Copysign(0, -1))), math.Copysign(0, -1), 0.0},
		{"NaN", &schema.Node{Basic: schema.Float64}, between(f64(math.NaN()), f64(1)), nil, 1.0},
		{"Float32", &schema.Node{Basic: schema.Float32}, between(f64(0.5), f64(2)), float32(0.5), float32(2)},
		{"short string", str, between(text("b"), text("c")), "b", "c"},
		{"16 code points", str, between(text(long), text(long)), long, long},
		{"long string", str, between(text(long+"z"), text(long+"z")), long, long[:15] + "b"},
		{"before the surrogates", str, between(text("x"), text(strings.Repeat("\uD7FF", 17))), "x", strings.Repeat("\uD7FF", 15) + "\uE000"},
		{"last code point", str, between(text("x"), text("y"+strings.Repeat("\U0010FFFF", 16))), "x", "z"},
		{"nothing above", str, between(text("x"), text(strings.Repeat("\U0010FFFF", 17))), "x", nil},
		{"not UTF-8", str, between(text("\xff"), text("\xff\xff")), nil, nil},
		{"no bounds", str, ends{}, nil, nil},
		{"another kind", str, between(i64(1), f64(2)), nil, nil},
		{"time", &schema.Node{Basic: schema.DateTime}, between(u64(epochTicks+15), u64(epochTicks+11)), iceberg.Timestamp(1), iceberg.Timestamp(2)},
		{"time before 1970", &schema.Node{Basic: schema.DateTime}, between(u64(epochTicks-15), u64(epochTicks-15)), iceberg.Timestamp(-2), iceberg.Timestamp(-1)},
		{"year 9999", &schema.Node{Basic: schema.DateTime}, between(u64(0), u64(3155378975999999999)), iceberg.Timestamp(-62135596800000000), iceberg.Timestamp(253402300800000000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			typ, _ := toPrimitive(c.n)
			checkBound(t, typ, encodeBound(c.n, c.r.low, false), c.low)
			checkBound(t, typ, encodeBound(c.n, c.r.high, true), c.high)
		})
	}
}

func checkBound(t *testing.T, typ iceberg.Type, b []byte, want any) {
	t.Helper()
	if want == nil || b == nil {
		if (want == nil) != (b == nil) {
			t.Errorf("bound %x, want %v", b, want)
		}
		return
	}
	lit, err := iceberg.LiteralFromBytes(typ, b)
	if err != nil {
		t.Fatal(err)
	}
	got := lit.Any()
	if f, ok := got.(float64); ok && math.Float64bits(f) == math.Float64bits(want.(float64)) {
		return
	}
	if d, ok := got.(iceberg.Decimal); ok && d.Val == want.(iceberg.Decimal).Val {
		return
	}
	if got != want {
		t.Errorf("bound %v (%T), want %v (%T)", got, got, want, want)
	}
	if again, err := lit.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
		t.Errorf("iceberg-go writes %x, not %x", again, b)
	}
}

func TestCutBinary(t *testing.T) {
	long := append(bytes.Repeat([]byte{1}, 15), 0xff, 9)
	if low := cutBinary(long, false); !bytes.Equal(low, long[:16]) {
		t.Errorf("lower %x", low)
	}
	if up := cutBinary(long, true); !bytes.Equal(up, append(bytes.Repeat([]byte{1}, 14), 2)) {
		t.Errorf("upper %x", up)
	}
	if up := cutBinary(bytes.Repeat([]byte{0xff}, 17), true); up != nil {
		t.Errorf("upper %x of what nothing lies above", up)
	}
}

// TestBoundValues reads back every bound in the form that filters compare.
func TestBoundValues(t *testing.T) {
	dt := &schema.Node{Basic: schema.DateTime}
	r := between(u64(epochTicks+15), u64(epochTicks+15))
	low, high := boundValue(dt, encodeBound(dt, r.low, false)), boundValue(dt, encodeBound(dt, r.high, true))
	if low.Int != epochTicks+10 || high.Int != epochTicks+20 {
		t.Errorf("time bounds %d, %d do not enclose the value", low.Int, high.Int)
	}
	u := &schema.Node{Basic: schema.Int64}
	if v := boundValue(u, encodeBound(u, u64(math.MaxUint64), true)); v.Uint != math.MaxUint64 {
		t.Errorf("unsigned bound %d", v.Uint)
	}
	for _, n := range []*schema.Node{dt, {Basic: schema.Float32}, {Basic: schema.Boolean}, {Basic: schema.Int8, Signed: true}} {
		for _, b := range [][]byte{{}, {1, 2, 3}, bytes.Repeat([]byte{0xff}, 17)} {
			if v := boundValue(n, b); v != nil {
				t.Errorf("%s: bytes %x became %+v", n.Basic, b, v)
			}
		}
	}
}

// decimalOf is u as the value of a decimal(20,0).
func decimalOf(u uint64) iceberg.Decimal { return iceberg.Decimal{Val: decimal128.FromU64(u)} }

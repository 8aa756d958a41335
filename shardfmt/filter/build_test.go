package filter_test

import (
	"testing"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func TestBuiltExpressions(t *testing.T) {
	s, err := schema.Parse("a: Int32, t: DateTime, f: Float32, s: String, u: UInt8, b: Boolean, d: Decimal, g: Guid, x: Binary, span: TimeSpan")
	if err != nil {
		t.Fatal(err)
	}
	literal := func(column string, v filter.Value) filter.Literal {
		t.Helper()
		n, err := s.Lookup(column)
		if err != nil {
			t.Fatal(err)
		}
		l, ok := filter.LiteralOf(n, v)
		if !ok {
			t.Errorf("no literal of %s", column)
		}
		return l
	}
	for _, c := range []struct {
		built filter.Expr
		text  string
	}{
		{filter.And(nil, filter.Not(filter.IsNull(filter.Path{"a"})), filter.Compare(filter.Path{"a"}, ">=", literal("a", filter.Value{Int: -5}))), "NOT a IS NULL AND a >= -5"},
		{filter.Or(filter.Compare(filter.Path{"u"}, "!=", literal("u", filter.Value{Uint: 255})), nil, filter.Compare(filter.Path{"b"}, "=", literal("b", filter.Value{Bool: true}))), "u <> 255 OR b = TRUE"},
		{filter.In(filter.Path{"s"}, literal("s", filter.Value{Bytes: []byte("it's")}), literal("s", filter.Value{})), "s IN ('it''s', '')"},
		{filter.Compare(filter.Path{"t"}, "<", literal("t", filter.Value{Int: 621355968000000001})), "t < datetime '1970-01-01T00:00:00.0000001Z'"},
		{filter.Compare(filter.Path{"f"}, ">", literal("f", filter.Value{Float: 0.5})), "f > 0.5"},
		{filter.Compare(filter.Path{"span"}, "<=", literal("span", filter.Value{Int: 10_000_000})), "span <= timespan '00:00:01'"},
		{filter.Compare(filter.Path{"x"}, "=", literal("x", filter.Value{Bytes: []byte{0, 255}})), "x = X'00ff'"},
		{filter.Compare(filter.Path{"g"}, "=", literal("g", filter.Value{Bytes: make([]byte, 16)})), "g = guid '00000000-0000-0000-0000-000000000000'"},
	} {
		want, err := filter.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if c.built.String() != want.String() {
			t.Errorf("built %s, parsed %s", c.built, want)
		}
		if _, err := filter.Bind(c.built, s); err != nil {
			t.Error(err)
		}
	}
	if filter.And(nil, nil) != nil || filter.Or() != nil {
		t.Error("nothing is an expression")
	}
	f, err := s.Lookup("f")
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	for _, v := range []float64{zero / zero, 1 / zero} {
		if _, ok := filter.LiteralOf(f, filter.Value{Float: v}); ok {
			t.Errorf("%v has a literal", v)
		}
	}
}

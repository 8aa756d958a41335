package filter

import (
	"testing"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestMustMatch: only counts and bounds that leave neither false nor unknown open are proof.
func TestMustMatch(t *testing.T) {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "n", Basic: schema.Int64, Signed: true, Nullable: true},
		{Name: "f", Basic: schema.Float64, Nullable: true},
		{Name: "s", Basic: schema.Struct, Nullable: true, Children: []*schema.Node{{Name: "m", Basic: schema.Int64, Signed: true}}},
	}}
	s.Number()
	number := func(low, high int64, nulls uint64, known bool) *Stats {
		return &Stats{Positions: 10, Nulls: nulls, NullsKnown: known, Min: &Value{Int: low}, Max: &Value{Int: high}}
	}
	full := number(5, 9, 0, true)
	floats := func(noNaNs bool) *Stats {
		return &Stats{Positions: 10, NullsKnown: true, NoNaNs: noNaNs, Min: &Value{Float: 1}, Max: &Value{Float: 2}}
	}
	for _, c := range []struct {
		where   string
		n, f, m *Stats
		want    bool
	}{
		{"n >= 5", full, nil, nil, true},
		{"n > 5", full, nil, nil, false},
		{"n BETWEEN 5 AND 9", full, nil, nil, true},
		{"n != 4", full, nil, nil, true},
		{"NOT (n < 5)", full, nil, nil, true},
		{"n >= 5", number(5, 9, 1, true), nil, nil, false},
		{"NOT (n < 5)", number(5, 9, 1, true), nil, nil, false},
		{"n >= 5", number(5, 9, 0, false), nil, nil, false},
		{"n >= 5", nil, nil, nil, false},
		{"n = NULL OR n >= 5", full, nil, nil, false},
		{"n IS NOT NULL", full, nil, nil, true},
		{"n IS NULL", number(5, 9, 10, true), nil, nil, true},
		{"n IS NOT NULL AND n > 0 OR n = 3", full, nil, nil, true},
		{"f >= 1.0", nil, floats(true), nil, true},
		{"f >= 1.0", nil, floats(false), nil, false},
		{"s.m >= 5", nil, nil, full, false},
	} {
		e, err := Parse(c.where)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Bind(e, s)
		if err != nil {
			t.Fatal(err)
		}
		got := b.MustMatch(func(id uint32) *Stats { return []*Stats{c.n, c.f, nil, c.m}[id] })
		if got != c.want {
			t.Errorf("%s: %v", c.where, got)
		}
	}
}

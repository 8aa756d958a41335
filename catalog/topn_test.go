package catalog

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestTopRows: the first rows in an order are the same whether the first key is read alone before or all rows are sorted, for every type
// that is read so, with nulls, NaN, infinities, zeros of both signs, equal values, quotes, and times beyond those of text.
func TestTopRows(t *testing.T) {
	was := topBytes
	defer func() { topBytes = was }()
	ctx := t.Context()
	r := rand.New(rand.NewPCG(7, 11))
	values := map[string][]string{
		"Int8": {"-128", "127", "0", "3"}, "UInt64": {"0", "18446744073709551615", "7"}, "Int64": {"-9223372036854775808", "9223372036854775807", "5", "-1"},
		"Float64":  {`"NaN"`, `"Infinity"`, `"-Infinity"`, "0", "-0.0", "1.5", "-2.25", "1e300"},
		"Float32":  {`"NaN"`, "0.1", "-0.1", "3.4e38"},
		"DateTime": {"0", "3155378975999999999", "638448048000000001", "-5", "9223372036854775807"},
		"Decimal":  {`"NaN"`, `"-Infinity"`, `"1.0"`, `"1.00"`, `"-0"`, `"0.000"`, `"-2.25"`, `"9999999999999999999999999999999999"`, `"1E-6176"`, `"0.3"`},
		"String":   {`""`, `"it's"`, `"\"quoted\""`, `"é"`, `"a"`, `"ab"`, `"\u0000"`},
	}
	for i, text := range values["Decimal"] {
		d, err := decimal.Parse(strings.Trim(text, `"`))
		if err != nil {
			t.Fatal(err)
		}
		values["Decimal"][i] = `"` + base64.StdEncoding.EncodeToString(d[:]) + `"`
	}
	used := map[string]int{}
	for _, typ := range []string{"Int8", "UInt64", "Int64", "Float64", "Float32", "DateTime", "Decimal", "String"} {
		s, err := schema.Parse("id: Int64, k: " + typ + ", other: String")
		if err != nil {
			t.Fatal(err)
		}
		tbl, err := newGround(t).open(nil, nil).Create(ctx, tableName, CreateOptions{Schema: s, CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		id := 0
		for shard := range 4 {
			var rows []string
			for range 60 {
				v := values[typ][r.IntN(len(values[typ]))]
				if r.IntN(6) == 0 || shard == 3 {
					v = "null"
				}
				rows = append(rows, fmt.Sprintf(`{"id":%d,"k":%s,"other":"%d"}`, id, v, r.IntN(9)))
				id++
			}
			oneShard(t, tbl, "id: Int64, k: "+typ+", other: String", "["+strings.Join(rows, ",")+"]")
		}
		for range 40 {
			limit := 1 + r.Int64N(70)
			o := ScanOptions{Limit: limit, Offset: r.Int64N(20), OrderBy: []OrderKey{{Column: "k", Descending: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0}}}
			if r.IntN(2) == 0 {
				o.OrderBy = append(o.OrderBy, OrderKey{Column: "other"})
			}
			if r.IntN(2) == 0 {
				o.Where = where(t, "id < 150 OR id > 170")
			}
			read := func(least int64) (ids []int64) {
				t.Helper()
				topBytes = least
				p, err := tbl.Plan(ctx, o)
				if err != nil {
					t.Fatal(err)
				}
				if narrow := *p; least == 0 && narrow.atMostLast(ctx, nil) == nil && narrow.bound != p.bound {
					used[typ]++
				}
				for b, err := range p.Run(ctx, nil) {
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, b.Column(0).(*array.Int64).Int64Values()...)
				}
				return ids
			}
			if whole, top := read(1<<40), read(0); !slices.Equal(whole, top) {
				t.Fatalf("%s, %+v, limit %d, offset %d: %v, want %v", typ, o.OrderBy, limit, o.Offset, top, whole)
			}
		}
	}
	for typ := range values {
		if used[typ] < 5 {
			t.Errorf("%s: the key was read alone in %d of 40 scans", typ, used[typ])
		}
	}
}

// TestTopRowsReadLittle: rows that the key's bounds rule out are not read, nor other columns of them.
func TestTopRowsReadLittle(t *testing.T) {
	was := topBytes
	defer func() { topBytes = was }()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	for i := range 8 {
		ingest(t, tbl, IngestOptions{}, rows(i*100, 100))
	}
	limit := int64(5)
	read := func(least int64) (ids []int64, stats ScanStats) {
		topBytes = least
		p, err := tbl.Plan(t.Context(), ScanOptions{Limit: limit, OrderBy: []OrderKey{{Column: "id", Descending: true}}})
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range p.Run(t.Context(), &stats) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, b.Column(0).(*array.Int64).Int64Values()...)
		}
		return ids, stats
	}
	whole, _ := read(1 << 40)
	top, stats := read(0)
	if !slices.Equal(whole, top) || len(top) != 5 || stats.ShardsPrunedBounds != 7 || stats.RowsMatched != 5 {
		t.Errorf("%v, want %v: %+v", top, whole, stats)
	}
}

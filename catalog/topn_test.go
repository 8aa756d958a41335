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
	used, split := map[string]int{}, map[string]int{}
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
				other := fmt.Sprintf(`"%d"`, r.IntN(4))
				if r.IntN(9) == 0 {
					other = "null"
				}
				rows = append(rows, fmt.Sprintf(`{"id":%d,"k":%s,"other":%s}`, id, v, other))
				id++
			}
			oneShard(t, tbl, "id: Int64, k: "+typ+", other: String", "["+strings.Join(rows, ",")+"]")
		}
		for range 60 {
			limit := 1 + r.Int64N(70)
			o := ScanOptions{Limit: limit, Offset: r.Int64N(20), OrderBy: []OrderKey{{Column: "k", Descending: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0}}}
			switch other := (OrderKey{Column: "other", Descending: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0}); r.IntN(3) {
			case 0:
				o.OrderBy = append(o.OrderBy, other)
			case 1:
				o.OrderBy = append([]OrderKey{other}, o.OrderBy...)
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
				if narrow := *p; least == 0 {
					if last, err := narrow.atMostLast(ctx, nil); err == nil && narrow.bound != p.bound {
						used[typ]++
						if last != nil {
							split[typ]++
						}
					}
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
		if used[typ] < 5 || split[typ] < 2 {
			t.Errorf("%s: the key was read alone in %d of 60 scans, and rows equal to the last apart in %d", typ, used[typ], split[typ])
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

// TestTopRowsOfTies: of many rows that are equal to the last one wanted in the first key, or in all keys, as many are read as are wanted.
func TestTopRowsOfTies(t *testing.T) {
	was := topBytes
	defer func() { topBytes = was }()
	const columns = "id: Int64, k: Int64, s: String"
	of, err := schema.Parse(columns)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := newGround(t).open(nil, nil).Create(t.Context(), tableName, CreateOptions{Schema: of, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for shard := range 3 {
		var rows []string
		for i := range 400 {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"k":%d,"s":"%d"}`, shard*400+i, i%2, i%4))
		}
		oneShard(t, tbl, columns, "["+strings.Join(rows, ",")+"]")
	}
	for order, want := range map[string][]int64{
		"k": {0, 2, 4, 6, 8, 10, 12}, "k desc": {1, 3, 5, 7, 9, 11, 13}, "k, id desc": {1198, 1196, 1194, 1192, 1190, 1188, 1186},
		"k, s desc": {2, 6, 10, 14, 18, 22, 26}, "k desc, s, id desc": {1197, 1193, 1189, 1185, 1181, 1177, 1173},
	} {
		keys, err := ParseOrder(order)
		if err != nil {
			t.Fatal(err)
		}
		topBytes = 0
		p, err := tbl.Plan(t.Context(), ScanOptions{Limit: 7, OrderBy: keys})
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		var stats ScanStats
		for b, err := range p.Run(t.Context(), &stats) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, b.Column(0).(*array.Int64).Int64Values()...)
		}
		if !slices.Equal(ids, want) || stats.RowsMatched != 7 {
			t.Errorf("%s: %v, want %v; %d rows read", order, ids, want, stats.RowsMatched)
		}
	}
}

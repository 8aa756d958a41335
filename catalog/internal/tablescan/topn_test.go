package tablescan_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
	"github.com/shardcat/shardcat/internal/decimal"
)

// smallSamples makes scans of the first rows in an order read samples of so many rows, also of few shards and with filters, until the test ends.
func smallSamples(t *testing.T, rows int64) {
	bytes, sample, least := *tablescan.TopBytes, *tablescan.TopSample, *tablescan.LeastSampled
	t.Cleanup(func() { *tablescan.TopBytes, *tablescan.TopSample, *tablescan.LeastSampled = bytes, sample, least })
	*tablescan.TopSample, *tablescan.LeastSampled = rows, 1
}

// TestTopRows: the first rows in an order are the same whether the first key is read alone before or all rows are sorted, for every type
// that is read so, with nulls, NaN, infinities, zeros of both signs, equal values, quotes, and times beyond those of text.
func TestTopRows(t *testing.T) {
	smallSamples(t, 60)
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
	used, split, sampled := map[string]int{}, map[string]int{}, map[string]int{}
	for _, typ := range []string{"Int8", "UInt64", "Int64", "Float64", "Float32", "DateTime", "Decimal", "String"} {
		tbl := localTable(t, "id: Int64, k: "+typ+", other: String")
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
			if r.IntN(2) == 0 {
				limit = 1 + r.Int64N(8)
			}
			o := catalog.ScanOptions{Limit: limit, Offset: r.Int64N(20), OrderBy: []catalog.OrderKey{{Column: "k", Descending: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0}}}
			switch other := (catalog.OrderKey{Column: "other", Descending: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0}); r.IntN(3) {
			case 0:
				o.OrderBy = append(o.OrderBy, other)
			case 1:
				o.OrderBy = append([]catalog.OrderKey{other}, o.OrderBy...)
			}
			if r.IntN(2) == 0 {
				o.Where = where(t, "id < 150 OR id > 170")
			}
			read := func(least int64) (ids []int64) {
				t.Helper()
				*tablescan.TopBytes = least
				p, err := tbl.Plan(ctx, o)
				if err != nil {
					t.Fatal(err)
				}
				if keys := p.TopKeys(); least == 0 && keys != nil && p.LastOfPart(ctx, nil, p.Only(keys[:1]), keys[:1]) != nil {
					sampled[typ]++
				}
				if narrow := *p; least == 0 {
					if last, err := narrow.AtMostLast(ctx, nil); err == nil && narrow.Bound() != p.Bound() {
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
		if used[typ] < 5 || split[typ] < 2 || sampled[typ] < 3 {
			t.Errorf("%s: the key was read alone in %d of 60 scans, after a sample in %d, and rows equal to the last apart in %d", typ, used[typ], sampled[typ], split[typ])
		}
	}
}

// TestTopRowsReadLittle: rows that the key's bounds rule out are not read, nor other columns of them.
func TestTopRowsReadLittle(t *testing.T) {
	was := *tablescan.TopBytes
	defer func() { *tablescan.TopBytes = was }()
	const columns = "id: Int64, name: String"
	tbl := remoteTable(t, columns)
	for i := range 8 {
		var rows []string
		for id := range 100 {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"n%d"}`, i*100+id, id))
		}
		oneShard(t, tbl, columns, "["+strings.Join(rows, ",")+"]")
	}
	limit := int64(5)
	read := func(least int64) (ids []int64, stats catalog.ScanStats) {
		*tablescan.TopBytes = least
		p, err := tbl.Plan(t.Context(), catalog.ScanOptions{Limit: limit, OrderBy: []catalog.OrderKey{{Column: "id", Descending: true}}})
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
	was := *tablescan.TopBytes
	defer func() { *tablescan.TopBytes = was }()
	const columns = "id: Int64, k: Int64, s: String"
	tbl := remoteTable(t, columns)
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
		keys, err := catalog.ParseOrder(order)
		if err != nil {
			t.Fatal(err)
		}
		*tablescan.TopBytes = 0
		p, err := tbl.Plan(t.Context(), catalog.ScanOptions{Limit: 7, OrderBy: keys})
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		var stats catalog.ScanStats
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

// TestTopRowsReadOneShardOfTies: where a sample of one shard has as many rows as are wanted, and the bounds of the others show that none of theirs
// comes before them, keys of no other shard are read; without ties, blocks of others are left out by their bounds.
func TestTopRowsReadOneShardOfTies(t *testing.T) {
	smallSamples(t, 4000)
	*tablescan.TopBytes = 0
	const columns, shards, rows = "id: Int64, k: Int64, any: Int64, f: Float64, d: Decimal, s: String", 8, 20_000
	tbl := localTable(t, columns)
	r := rand.New(rand.NewPCG(3, 5))
	for shard := range shards {
		var text []string
		for i := range rows {
			text = append(text, fmt.Sprintf(`{"id":%d,"k":%d,"any":%d,"f":%d.5,"d":%s,"s":"%c"}`, shard*rows+i, i%4, r.Int64N(1<<40), r.Int64N(1<<40),
				decimalJSON(t, fmt.Sprintf("%d.25", r.Int64N(1<<40))), 'a'+i%3))
		}
		oneShard(t, tbl, columns, "["+strings.Join(text, ",")+"]")
	}
	for _, o := range []struct {
		order        string
		read, pruned int64 // at most so many blocks of keys are read, and at least so many left out
	}{
		{"k", 20, 60}, {"k desc", 20, 60}, {"s", 20, 60}, {"id desc", 20, 130}, {"any", 520, 200}, {"f desc", 520, 200}, {"d desc", 520, 200}, // of 711
	} {
		keys, err := catalog.ParseOrder(o.order)
		if err != nil {
			t.Fatal(err)
		}
		p, err := tbl.Plan(t.Context(), catalog.ScanOptions{Limit: 7, OrderBy: keys})
		if err != nil {
			t.Fatal(err)
		}
		stats := catalog.ScanStats{}
		last, err := p.LastOf(t.Context(), &stats, p.TopKeys())
		t.Logf("%s: %d blocks of keys read, %d pruned", o.order, stats.BlocksRead, stats.BlocksPruned)
		if err != nil || last == nil || stats.BlocksRead > o.read || stats.BlocksPruned < o.pruned {
			t.Errorf("%s: %+v, %v: %d blocks of keys read, %d pruned, want at most %d and at least %d", o.order, last, err, stats.BlocksRead,
				stats.BlocksPruned, o.read, o.pruned)
		}
	}
}

// TestTopRowsAfterNaN: NaN comes first in a descending order, wherever it is, and also where a sample of another shard has as many rows as are
// wanted: no filter finds it.
func TestTopRowsAfterNaN(t *testing.T) {
	smallSamples(t, 50)
	for typ, value := range map[string]func(string) string{
		"Float64": func(v string) string { return `"` + v + `"` },
		"Float32": func(v string) string { return `"` + v + `"` },
		"Decimal": func(v string) string { return decimalJSON(t, v) },
	} {
		columns := "id: Int64, f: " + typ + ", s: String"
		tbl := localTable(t, columns)
		for shard := range 2 {
			var text []string
			for i := range 200 {
				v := fmt.Sprintf("%d.5", i)
				if shard == 0 && i%90 == 30 {
					v = "NaN"
				}
				text = append(text, fmt.Sprintf(`{"id":%d,"f":%s,"s":"x"}`, shard*200+i, value(v)))
			}
			oneShard(t, tbl, columns, "["+strings.Join(text, ",")+"]")
		}
		for _, least := range []int64{0, 1 << 40} {
			*tablescan.TopBytes = least
			p, err := tbl.Plan(t.Context(), catalog.ScanOptions{Limit: 5, OrderBy: []catalog.OrderKey{{Column: "f", Descending: true}}})
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for b, err := range p.Run(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, b.Column(0).(*array.Int64).Int64Values()...)
			}
			if want := []int64{30, 120, 199, 399, 198}; !slices.Equal(ids, want) {
				t.Errorf("%s, the key alone before %v: %v, want %v", typ, least == 0, ids, want)
			}
		}
	}
}

// decimalJSON is a decimal as JSON has it.
func decimalJSON(t *testing.T, text string) string {
	t.Helper()
	d, err := decimal.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return `"` + base64.StdEncoding.EncodeToString(d[:]) + `"`
}

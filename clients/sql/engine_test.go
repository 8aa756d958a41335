package shardsql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// rows are the answer of a query as text, in no order.
func rows(t *testing.T, e *Engine, statement string) []string {
	t.Helper()
	out, _ := ask(t, e, statement)
	return out
}

func ask(t *testing.T, e *Engine, statement string) (out []string, scans []*Scan) {
	t.Helper()
	r, err := e.Query(t.Context(), statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	for r.Next() {
		out = append(out, texts(r.RecordBatch())...)
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	r.Close()
	slices.Sort(out)
	return out, r.Scans()
}

func texts(b arrow.RecordBatch) (out []string) {
	for row := range int(b.NumRows()) {
		var s strings.Builder
		for _, c := range b.Columns() {
			if f, ok := c.(*array.Float64); ok && f.IsValid(row) {
				fmt.Fprintf(&s, "|%.8g", f.Value(row)) // sums of floats depend on their order
			} else {
				s.WriteString("|" + c.ValueStr(row))
			}
		}
		out = append(out, s.String())
	}
	return out
}

// questions are of the kind of TPC-H's, and others.
var questions = map[string]string{
	"pricing": "SELECT l_returnflag, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)), avg(l_discount), count(*) FROM lineitem WHERE l_shipdate <= DATE '1998-07-01' GROUP BY ALL",
	"shipping": `SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate FROM customer, orders, lineitem WHERE c_mktsegment = 'BUILDING'
		AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' GROUP BY ALL ORDER BY revenue DESC, o_orderdate LIMIT 10`,
	"local": `SELECT n_name, sum(l_extendedprice) FROM customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey JOIN nation ON c_nationkey = n_nationkey
		WHERE n_regionkey = 2 AND o_orderdate BETWEEN DATE '1994-01-01' AND DATE '1994-12-31' GROUP BY n_name`,
	"forecast": "SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
	"nobody":   "SELECT count(*) FROM customer WHERE NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey) AND c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0)",
	"needle":   "SELECT * FROM lineitem WHERE l_orderkey = 4801 AND l_linenumber = 2",
	"columns":  "SELECT l_orderkey, l_shipmode FROM lineitem",
	"window":   "SELECT o_orderkey, rank() OVER (PARTITION BY o_custkey ORDER BY o_totalprice DESC, o_orderkey) FROM orders",
	"self":     "SELECT count(*) FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey WHERE a.o_orderdate < DATE '1993-01-01' AND b.o_orderdate > DATE '1997-01-01'",
	"twice":    "WITH x AS (SELECT * FROM orders) SELECT count(*) FROM x a, x b WHERE a.o_orderkey < 100 AND b.o_orderkey > 19900",
	"count":    "SELECT count(*) FROM lineitem",
	"types":    "FROM things",
	"union":    "SELECT o_custkey FROM orders WHERE o_orderkey < 50 UNION ALL SELECT c_custkey FROM customer WHERE c_custkey > 1490",
}

// All questions have the answers that DuckDB gives over its own tables, before and after compaction, with and without
// conditions pushed down.
func TestQuestionsHaveTheAnswersOfDuckDB(t *testing.T) {
	original, c := generate(t, order...)
	pushing, reading := newEngine(t, c, Options{}), newEngine(t, c, Options{NoPushdown: true})
	want := map[string][]string{}
	for name, q := range questions {
		if want[name] = rows(t, original, q); len(want[name]) == 0 {
			t.Errorf("question %s has no answer", name)
		}
	}
	var pushed, read int64
	for _, state := range []string{"as appended", "compacted"} {
		for name, q := range questions {
			got, scans := ask(t, pushing, q)
			if !slices.Equal(got, want[name]) {
				t.Errorf("question %s, %s: %.300v, want %.300v; read %+v", name, state, got, want[name], scans)
			}
			for _, s := range scans {
				pushed += s.RowsMatched
			}
			got, scans = ask(t, reading, q)
			if !slices.Equal(got, want[name]) {
				t.Errorf("question %s without pushing, %s: %.300v, want %.300v", name, state, got, want[name])
			}
			for _, s := range scans {
				read += s.RowsMatched
				if s.Where != "" {
					t.Errorf("question %s: a filter %s all the same", name, s.Where)
				}
			}
		}
		compact(t, c)
	}
	if pushed*3 > read*2 {
		t.Errorf("%d rows came from scans with conditions pushed down, %d without", pushed, read)
	}
}

func compact(t *testing.T, c *catalog.Catalog) {
	t.Helper()
	for _, name := range []string{"lineitem", "orders"} {
		table, err := c.Load(t.Context(), catalog.Name{Table: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compaction.Compact(t.Context(), table, compaction.Policy{}, compaction.Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

// What is pushed down never takes a row away that DuckDB would keep, whatever the type.
func TestConditionsOfAllTypes(t *testing.T) {
	original, c := generate(t, "things")
	e := newEngine(t, c, Options{})
	constants := map[string][]string{
		"tiny": {"-100", "0", "99", "1000"}, "big": {"0", "9223372036854775808", "18446744073709551615"}, "small": {"-500", "3", "3.5"},
		"float": {"0", "-0.0", "1.125", "'NaN'", "'Infinity'", "'-Infinity'"}, "single": {"0", "1.125", "0.1", "'NaN'"}, "flag": {"true", "false"},
		"moment": {"TIMESTAMPTZ '1970-01-01 00:00:00Z'", "TIMESTAMPTZ '1969-12-31 23:59:58.004001Z'", "'infinity'"}, "wall": {"TIMESTAMP '2020-02-29 00:00:00.5'", "DATE '2020-02-29'"},
		"day": {"DATE '1970-01-01'", "TIMESTAMP '1970-01-01 00:00:01'", "'1969-12-31'"}, "wide": {"0", "1.0001", "-3.0003"}, "price": {"0", "0.25", "-1.5", "0.255"},
		"text": {"''", "'a%b'", "'ä'", "'Zebra'", "'it''s'", "'a'", "'~'"}, "bytes": {"'x5'::BLOB"}, "id": {"500", "NULL"},
	}
	filters := 0
	for column, values := range constants {
		conditions := []string{column + " IS NULL", column + " IS NOT NULL"}
		for _, v := range values {
			for _, operator := range []string{"=", "<", ">="} {
				conditions = append(conditions, fmt.Sprint(column, " ", operator, " ", v))
			}
			conditions = append(conditions, fmt.Sprintf("NOT (%s <= %s)", v, column), fmt.Sprintf("%s IS DISTINCT FROM %s", column, v))
			conditions = append(conditions, fmt.Sprintf("%s IN (%s, %s)", column, v, values[0]), fmt.Sprintf("%s BETWEEN %s AND %s", column, values[0], v), fmt.Sprintf("(%s < %s OR id > 990)", column, v))
		}
		if column == "text" {
			for _, pattern := range []string{"a%", "a\\%%", "%a%", "%", "_", "Z%a", "%ra"} {
				conditions = append(conditions, fmt.Sprintf("text LIKE '%s'", pattern), fmt.Sprintf("text ILIKE '%s'", pattern), fmt.Sprintf("text NOT LIKE '%s'", pattern))
			}
			conditions = append(conditions, "starts_with(text, 'a')", "contains(text, 'e')", "suffix(text, 'b')")
		}
		if column == "flag" {
			conditions = append(conditions, "flag", "NOT flag")
		}
		// One query for all of them, each of whose parts has a scan of its own.
		parts := make([]string, len(conditions))
		for i, condition := range conditions {
			parts[i] = fmt.Sprintf("SELECT %s AS condition, count(*), sum(id), min(id), max(id) FROM things WHERE %s", literal(condition), condition)
		}
		question := strings.Join(parts, " UNION ALL ")
		got, scans := ask(t, e, question)
		for i, want := range rows(t, original, question) {
			if got[i] != want {
				t.Errorf("%s, want %s", got[i], want)
			}
		}
		for _, s := range scans {
			if s.Where != "" {
				filters++
			}
		}
	}
	if filters < 120 {
		t.Errorf("%d conditions were pushed down", filters)
	}
}

// Conditions become filters of scans, and columns that nobody requests are not read.
func TestPushdownReadsLess(t *testing.T) {
	original, c := generate(t, "lineitem")
	e, all := newEngine(t, c, Options{}), newEngine(t, c, Options{NoPushdown: true})
	for _, test := range []struct{ where, filter string }{
		{"l_orderkey = 4801", `"l_orderkey" = 4801`},
		{"4801 >= l_orderkey", `"l_orderkey" <= 4801`},
		{"l_orderkey IN (1, 2, 7)", `("l_orderkey" = 1 OR "l_orderkey" = 2 OR "l_orderkey" = 7)`},
		{"l_shipmode IN ('AIR', 'it''s')", `("l_shipmode" = 'AIR' OR "l_shipmode" = 'it''s')`},
		{"l_quantity > 49.5", `"l_quantity" > 49.50`},
		{"l_shipdate BETWEEN DATE '1994-01-01' AND DATE '1994-01-31'", `"l_shipdate" >= '1993-12-31T23:59:59.999999Z' AND "l_shipdate" <= '1994-01-31T00:00:00.000001Z'`},
		{"l_comment LIKE 'furious%'", `"l_comment" LIKE 'furious%'`},
		{"l_comment LIKE '%iron%'", `"l_comment" CONTAINS_CS 'iron'`},
		{"l_orderkey IS NULL OR l_partkey < 3", `("l_orderkey" IS NULL OR "l_partkey" < 3)`},
		{"l_orderkey < 50 OR l_partkey + l_suppkey = 3", ""},
		{"l_orderkey < 50 AND l_partkey + l_suppkey > 3", `"l_orderkey" < 50`},
		{"length(l_comment) > 40", ""},
	} {
		question := "SELECT count(*), sum(l_extendedprice) FROM lineitem WHERE " + test.where
		got, scans := ask(t, e, question)
		want, reads := ask(t, all, question)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", test.where, got, want)
		}
		if len(scans) != 1 || scans[0].Where != test.filter {
			t.Errorf("%s: pushed down %q, want %q", test.where, scans[0].Where, test.filter)
		}
		if test.filter != "" && scans[0].RowsMatched*3 > reads[0].RowsMatched*2 {
			t.Errorf("%s: %d rows of %d were given to DuckDB", test.where, scans[0].RowsMatched, reads[0].RowsMatched)
		}
		if n := len(scans[0].Columns); n > 4 {
			t.Errorf("%s: columns %v were read", test.where, scans[0].Columns)
		}
	}
	needle, _ := ask(t, e, "SELECT 1")
	if len(needle) != 1 {
		t.Error("a query without tables has no row")
	}
	// Of a table of ten blocks and more, since what lies close together is read by one request.
	r, err := original.Query(t.Context(), "SELECT * REPLACE (l_orderkey + i * 20000 AS l_orderkey) FROM range(10) t(i), lineitem ORDER BY l_orderkey")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	table, err := c.Create(t.Context(), catalog.Name{Table: "lines"}, catalog.CreateOptions{Arrow: r.Schema()})
	if err == nil {
		_, err = table.Append(t.Context(), r, catalog.IngestOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	before := c.Client().Counters().GetBytes
	ask(t, e, "SELECT * FROM lines WHERE l_orderkey = 4801")
	few := c.Client().Counters().GetBytes - before
	ask(t, all, "SELECT * FROM lines WHERE l_orderkey = 4801")
	if many := c.Client().Counters().GetBytes - before - few; few*3 > many {
		t.Errorf("%d bytes were read for a needle, %d for all", few, many)
	}
}

// Names of DuckDB's own come before those of the catalog, other statements read tables too, and errors are reported.
func TestNamesAndErrors(t *testing.T) {
	_, c := generate(t, "lineitem", "nation", "customer")
	e := newEngine(t, c, Options{})
	for question, want := range map[string]string{
		"SELECT count(*) FROM nation":                                                              "|25",
		`SELECT count(*) FROM "default".nation AS n(a, b, c, d) WHERE a < 3`:                       "|3",
		"SELECT count(*) FROM shardcat_scan('nation')":                                             "|25",
		"WITH nation AS (SELECT 1 AS n_nationkey) SELECT count(*) FROM nation WHERE n_nationkey=1": "|1",
		"SELECT n_name FROM nation WHERE n_nationkey = (SELECT max(n_nationkey) FROM nation)":      "|NATION 24",
		"SELECT count(*) FROM nation n JOIN (VALUES (1), (2)) v(k) ON n.n_nationkey = v.k":         "|2",
	} {
		if got := rows(t, e, question); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", question, got, want)
		}
	}
	rows(t, e, "CREATE TABLE mine AS SELECT n_name FROM nation WHERE n_regionkey = 1")
	rows(t, e, "CREATE VIEW region AS SELECT 7 AS r")
	if got := rows(t, e, "SELECT count(*), (SELECT r FROM region) FROM mine"); !slices.Equal(got, []string{"|5|7"}) {
		t.Error(got)
	}
	for question, want := range map[string]error{"SELEC": ErrSQL, "SELECT 1; SELECT 2": ErrSQL, "SELECT * FROM nobody": ErrSQL, "SELECT error('x')": ErrSQL} {
		r, err := e.Query(t.Context(), question)
		if err == nil {
			r.Next()
			err = r.Err()
			r.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", question, err)
		}
	}
	open, err := e.Query(t.Context(), "FROM nation")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Query(t.Context(), "FROM nation"); !errors.Is(err, catalog.ErrInvalid) {
		t.Error("a second query beside the first:", err)
	}
	open.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := e.Query(ctx, "SELECT * FROM lineitem a, lineitem b")
	if err != nil {
		t.Fatal(err)
	}
	r.Next()
	cancel()
	for r.Next() {
	}
	if !errors.Is(r.Err(), context.Canceled) {
		t.Error("a cancelled query ended with", r.Err())
	}
	r.Close()
	if got := rows(t, e, "SELECT count(*) FROM nation"); !slices.Equal(got, []string{"|25"}) {
		t.Error("after it:", got)
	}
}

package shardsql

import (
	"fmt"
	"testing"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog"
)

// tables are like those of TPC-H, and one of all types; the numbers come of hashes.
var tables = map[string]string{
	"nation": `SELECT i::INTEGER AS n_nationkey, 'NATION ' || i AS n_name, (i % 5)::INTEGER AS n_regionkey FROM range(25) t(i)`,
	"customer": `SELECT i + 1 AS c_custkey, 'Customer#' || i AS c_name, (rnd(i, b := 1) % 25)::INTEGER AS c_nationkey,
		(rnd(i, b := 2) % 1100000 / 100 - 1000)::DECIMAL(15, 2) AS c_acctbal, ['BUILDING', 'MACHINERY', 'AUTOMOBILE'][1 + rnd(i, b := 3) % 3] AS c_mktsegment FROM range(1500) t(i)`,
	"orders": `SELECT 1 + i * 4 AS o_orderkey, 1 + (rnd(i, b := 4) % 1500)::BIGINT AS o_custkey, (rnd(i, b := 5) % 50000000 / 100)::DECIMAL(15, 2) AS o_totalprice,
		DATE '1992-01-01' + (i * 2400 // 5000 + rnd(i, b := 6) % 7)::INTEGER AS o_orderdate, (1 + rnd(i, b := 7) % 5) || '-PRIORITY' AS o_orderpriority FROM range(5000) t(i)`,
	"lineitem": `SELECT o_orderkey AS l_orderkey, n::INTEGER AS l_linenumber, 1 + (rnd(o_orderkey, b := n, c := 8) % 2000)::BIGINT AS l_partkey, 1 + (rnd(o_orderkey, b := n, c := 9) % 100)::BIGINT AS l_suppkey,
		(1 + rnd(o_orderkey, b := n, c := 10) % 50)::DECIMAL(15, 2) AS l_quantity, (rnd(o_orderkey, b := n, c := 11) % 10000000 / 100)::DECIMAL(15, 2) AS l_extendedprice,
		(rnd(o_orderkey, b := n, c := 12) % 11 / 100)::DECIMAL(15, 2) AS l_discount, ['A', 'N', 'R'][1 + rnd(o_orderkey, b := n, c := 13) % 3] AS l_returnflag,
		o_orderdate + (1 + rnd(o_orderkey, b := n, c := 14) % 120)::INTEGER AS l_shipdate, ['AIR', 'MAIL', 'SHIP', 'it''s'][1 + rnd(o_orderkey, b := n, c := 15) % 4] AS l_shipmode,
		['furiously', 'carefully', 'quick iron'][1 + rnd(o_orderkey, b := n, c := 16) % 3] || ' final ' || o_orderkey AS l_comment
		FROM orders, range(1, 5) t(n) ORDER BY 1, 2`,
	"things": `SELECT i AS id, CASE WHEN i % 7 = 0 THEN NULL ELSE (i % 200 - 100)::TINYINT END AS tiny, CASE WHEN i = 3 THEN 18446744073709551615::UBIGINT ELSE hash(i) END AS big, (i - 500)::SMALLINT AS small,
		CASE WHEN i % 11 = 0 THEN 'NaN'::DOUBLE WHEN i % 13 = 0 THEN 'Infinity'::DOUBLE WHEN i % 17 = 0 THEN -0.0 ELSE (i - 500) / 8 END AS float,
		CASE WHEN i % 11 = 0 THEN 'NaN'::FLOAT ELSE ((i - 500) / 8)::FLOAT END AS single, CASE WHEN i % 5 = 0 THEN NULL ELSE i % 2 = 0 END AS flag,
		TIMESTAMPTZ '1969-12-31 23:59:58Z' + to_microseconds(i * 4001) AS moment, TIMESTAMP '2020-02-29 00:00:00' + to_milliseconds(i) AS wall, DATE '1969-06-01' + i::INTEGER AS day,
		((i - 500) * 1.0001)::DECIMAL(30, 10) AS wide, ((i - 500) / 4)::DECIMAL(9, 2) AS price, ['', 'a%b', 'a_b', 'ä', 'Zebra', 'zebra', 'a\b', 'it''s', NULL][1 + i % 9] AS text,
		('x' || i)::BLOB AS bytes, [i, NULL] AS list, {'a': i, 'b': 'c'} AS struct FROM range(1000) t(i)`,
}

// order is that in which tables can be made.
var order = []string{"nation", "customer", "orders", "lineitem", "things"}

func newEngine(t *testing.T, c *catalog.Catalog, o Options) *Engine {
	t.Helper()
	e, err := Open(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// generate gives an engine whose own tables these are, and a catalog with the same rows.
func generate(t *testing.T, names ...string) (*Engine, *catalog.Catalog) {
	t.Helper()
	c, err := shardcat.Open(t.Context(), t.TempDir(), shardcat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	original := newEngine(t, c, Options{})
	rows(t, original, "CREATE MACRO rnd(a, b := 0, c := 0) AS (hash(a, b, c) >> 8)::BIGINT")
	for _, name := range order {
		rows(t, original, fmt.Sprintf("CREATE TABLE %s AS %s", name, tables[name]))
	}
	for _, name := range names {
		r, err := original.Query(t.Context(), "FROM "+name)
		if err != nil {
			t.Fatal(err)
		}
		table, err := c.Create(t.Context(), catalog.Name{Table: name}, catalog.CreateOptions{Arrow: r.Schema(), CreateNamespace: true})
		if err == nil {
			_, err = table.Append(t.Context(), r, catalog.IngestOptions{ShardRows: 16000})
		}
		if err != nil {
			t.Fatal(name, err)
		}
		r.Release()
	}
	return original, c
}

package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const readToken = "read me"

var flightsSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "price", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "small", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
}, nil)

// flights are rows of ids from on; every 7th name and every 5th price is null.
func flights(from, n int) array.RecordReader {
	b := array.NewRecordBuilder(memory.DefaultAllocator, flightsSchema)
	for id := from; id < from+n; id++ {
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		if id%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("flight %d", id))
		}
		if id%5 == 0 {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.Float64Builder).Append(float64(id) / 4)
		}
		b.Field(3).(*array.Int32Builder).Append(int32(id % 100))
		b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + int64(id)*1_000_000))
	}
	r, err := array.NewRecordReader(flightsSchema, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		panic(err)
	}
	return r
}

func openCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	c, err := catalog.Open(t.Context(), catalog.Options{URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func createFlights(t *testing.T, c *catalog.Catalog, name string, partition ...string) *catalog.Table {
	t.Helper()
	tbl, err := c.Create(t.Context(), catalog.Name{Namespace: "default", Table: name},
		catalog.CreateOptions{Arrow: flightsSchema, CreateNamespace: true, Partition: partition})
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

func appendFlights(t *testing.T, tbl *catalog.Table, from, n int, branch string) {
	t.Helper()
	if _, err := tbl.Append(t.Context(), flights(from, n), catalog.IngestOptions{Ref: branch, StripeRows: 300}); err != nil {
		t.Fatal(err)
	}
}

func deleteFlights(t *testing.T, tbl *catalog.Table, where string) {
	t.Helper()
	e, err := filter.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Delete(t.Context(), e, catalog.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// served starts a gateway over a catalog.
func served(t *testing.T, c *catalog.Catalog) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	New(c, Options{
		Tokens: access.Tokens{Read: readToken}, Open: Shards(16<<20, 256<<20), CacheBytes: 64 << 20, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Turn: func(*http.Request) (func(), int64, error) { return func() {}, 1 << 30, nil },
	}).Register(mux)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if os.Getenv("GATEWAY_TRACE") != "" {
			fmt.Println(r.Method, r.URL, r.Header.Get("Range"))
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// engineTables are the tables that engines read.
type engineTables struct {
	c             *catalog.Catalog
	flat, deleted *catalog.Table
	arguments     []string // of the checks: first snapshot of table deleted and its time, snapshot of table evolved before its changes, rows of table types
}

func createEngineTables(t *testing.T) *engineTables {
	t.Helper()
	c := openCatalog(t)
	flat := createFlights(t, c, "flat")
	appendFlights(t, flat, 0, 1000, "")
	appendFlights(t, flat, 1000, 1000, "")
	days := createFlights(t, c, "days", "small")
	appendFlights(t, days, 0, 250, "")
	deleted := createFlights(t, c, "deleted")
	appendFlights(t, deleted, 0, 1000, "")
	first := deleted.Head()
	firstTime := icebergaccess.MetadataOf(deleted).SnapshotByID(first).TimestampMs
	deleteFlights(t, deleted, "id < 100 or (id >= 450 and id < 700)")
	appendFlights(t, deleted, 1000, 500, "")
	if _, err := deleted.CreateTag(t.Context(), "tagged", first); err != nil {
		t.Fatal(err)
	}
	if _, err := deleted.CreateBranch(t.Context(), "side", deleted.Head()); err != nil {
		t.Fatal(err)
	}
	appendFlights(t, deleted, 5000, 10, "side")
	evolved := createFlights(t, c, "evolved")
	appendFlights(t, evolved, 0, 100, "")
	before := evolved.Head()
	for _, change := range []func() error{
		func() error { return evolved.RenameColumn(t.Context(), "name", "label") },
		func() error {
			return evolved.AddColumn(t.Context(), "extra", &schema.Node{Name: "extra", Basic: schema.String, Nullable: true})
		},
		func() error {
			return evolved.WidenColumn(t.Context(), "small", &schema.Node{Basic: schema.Int64, Signed: true})
		},
		func() error { return evolved.DropColumn(t.Context(), "price") },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	merged := createFlights(t, c, "merged")
	appendFlights(t, merged, 0, 600, "")
	appendFlights(t, merged, 600, 600, "")
	deleteFlights(t, merged, "id < 10")
	if r, err := compaction.Compact(t.Context(), merged, compaction.Policy{MinInputs: 2}, compaction.Options{}); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	rows := createTypes(t, c)
	return &engineTables{c, flat, deleted, []string{fmt.Sprint(first), fmt.Sprint(firstTime), fmt.Sprint(before), rows}}
}

// check runs a script over a gateway, compares the answers of its engines with wanted, and the tables with what they were.
func (e *engineTables) check(t *testing.T, python, script string, engines []string, further ...string) {
	t.Helper()
	server := served(t, e.c)
	arguments := slices.Concat([]string{script, server.URL, readToken}, e.arguments, further)
	cmd := exec.CommandContext(t.Context(), python, arguments...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if e, ok := err.(*exec.ExitError); ok {
			stderr = e.Stderr
		}
		t.Fatalf("%v\n%s\n%s", err, out, stderr)
	}
	var seen map[string]map[string]string
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for engine, answers := range seen {
		for question, answer := range answers {
			if want, ok := wanted[question]; !ok || answer != want {
				t.Errorf("%s: %s: %s, want %s", engine, question, answer, want)
			}
		}
		t.Logf("%s: %d answers", engine, len(answers))
	}
	for _, engine := range engines {
		if len(seen[engine]) == 0 {
			t.Errorf("%s did not answer", engine)
		}
	}
	e.unchanged(t)
}

// unchanged compares the tables that engines try to change with what they were.
func (e *engineTables) unchanged(t *testing.T) {
	t.Helper()
	for _, before := range []*catalog.Table{e.flat, e.deleted} {
		if after, err := e.c.Load(t.Context(), before.Name()); err != nil || after.MetadataLocation() != before.MetadataLocation() {
			t.Errorf("%s has changed: %v", before.Name(), err)
		}
	}
}

// TestEngines reads tables with pyiceberg and DuckDB. SHARDCAT_PYICEBERG names a Python that has both.
func TestEngines(t *testing.T) {
	python := os.Getenv("SHARDCAT_PYICEBERG")
	if python == "" {
		t.Skip("SHARDCAT_PYICEBERG does not name a Python with pyiceberg and DuckDB: no engine reads the tables")
	}
	createEngineTables(t).check(t, python, "testdata/engines_check.py", []string{"pyiceberg", "duckdb"})
}

// TestFramesThroughGateway reads tables with more engines. SHARDCAT_GATEWAY_FRAMES names a Python that has them, SHARDCAT_GATEWAY_ENGINES
// which they are.
func TestFramesThroughGateway(t *testing.T) {
	python, engines := os.Getenv("SHARDCAT_GATEWAY_FRAMES"), os.Getenv("SHARDCAT_GATEWAY_ENGINES")
	if python == "" || engines == "" {
		t.Skip("SHARDCAT_GATEWAY_FRAMES and SHARDCAT_GATEWAY_ENGINES do not name a Python and its engines (polars,daft,datafusion,chdb): none reads the tables")
	}
	tables := createEngineTables(t)
	for engine := range strings.SplitSeq(engines, ",") {
		t.Run(engine, func(t *testing.T) { tables.check(t, python, "testdata/frames_check.py", []string{engine}, engine) })
	}
}

// TestSparkThroughGateway reads tables with Spark and Iceberg's runtime. SHARDCAT_GATEWAY_SPARK names a Python with pyspark and pyarrow,
// SHARDCAT_GATEWAY_JARS the runtime and its AWS bundle, with commas.
func TestSparkThroughGateway(t *testing.T) {
	python, jars := os.Getenv("SHARDCAT_GATEWAY_SPARK"), os.Getenv("SHARDCAT_GATEWAY_JARS")
	if python == "" || jars == "" {
		t.Skip("SHARDCAT_GATEWAY_SPARK and SHARDCAT_GATEWAY_JARS do not name Spark with Iceberg's runtime: Spark reads no table")
	}
	createEngineTables(t).check(t, python, "testdata/spark_check.py", []string{"spark"}, jars)
}

// wanted are the answers to the questions of engines_check.py.
var wanted = map[string]string{
	"namespaces": "[('default',)]", "tables": "days deleted evolved flat merged types", "views": "[]", "exists": "True False",
	"flat": summary(ids(0, 2000), true), "after": summary(ids(0, 2000), true), "count": "2000", "deleted count": "1150",
	"filter":     summary(except(ids(990, 1010), 994, 1001, 1008), true),
	"projection": "99000", "deleted": summary(remaining, true), "snapshot": summary(ids(0, 1000), true), "as of": summary(ids(0, 1000), true),
	"tag": summary(ids(0, 1000), true), "branch": summary(slices.Concat(remaining, ids(5000, 5010)), true),
	"evolved": summary(ids(0, 100), false), "evolved columns": "id label small at extra", "evolved before": summary(ids(0, 100), true),
	"days": summary(ids(0, 250), true), "days filter": summary([]int{3, 103, 203}, true), "days files": "1", "pruned files": "1",
	"files": "0/1000 0/500 1/350", "entries": "3", "partitions": "100", "snapshots": "4", "refs": "main side tagged",
	"append": "True", "delete": "True", "drop": "True", "purge": "True", "rename": "True", "create": "True", "create namespace": "True",
	"merged": summary(ids(10, 1200), true), "types": "2400 rows, columns that differ:",
	"drop namespace": "True", "expire": "True", "update": "True", "overwrite": "True", "truncate": "True", "alter": "True", "create branch": "True",
	"rewrite": "True", "rewrite manifests": "True", "orphans": "True", "rollback": "True", "deleted after": summary(remaining, true),
	"history": "3", "manifests": "True", "position deletes": "350 0 699",
}

// createTypes makes table types, with a column of every type, and returns the file of its rows. Rows with an i32 below 100 are deleted.
func createTypes(t *testing.T, c *catalog.Catalog) (file string) {
	t.Helper()
	s, err := schema.Parse("b: Boolean, i8: Int8, i16: Int16, i32: Int32, i64: Int64, u8: UInt8, u16: UInt16, u32: UInt32, u64: UInt64, f32: Float32, " +
		"f64: Float64, s: String, bin: Binary, fsb: FixedSizeBinary(4), g: Guid, t: DateTime, l: List<Int64>, ll: List<List<String>>, " +
		"st: Struct<a: Int32, c: String, d: List<Float64>>, m: Map<String, Int64>, fl: FixedSizeList(2)<Int32>, un: Union<Int64, String>, dec: Decimal, " +
		"dy: Dynamic, ls: List<Struct<p: Int64, q: String>>, ts: TimeSpan")
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := c.Create(t.Context(), catalog.Name{Namespace: "default", Table: "types"}, catalog.CreateOptions{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i := range 2500 {
		seed := i
		null := func(v any) any {
			if seed = (seed*1103515245 + 12345) & math.MaxInt32; seed>>16%7 == 0 {
				return nil
			}
			return v
		}
		var l, ll, ls []any
		for j := range i % 4 {
			l, ls = append(l, null(j)), append(ls, null(map[string]any{"p": null(j), "q": null("z")}))
			ll = append(ll, null(l))
		}
		texts := []any{}
		for _, v := range ll {
			if v != nil {
				v = []any{null("x"), null("é")}[:i%3]
			}
			texts = append(texts, v)
		}
		un := any(i)
		if i%2 == 0 {
			un = fmt.Sprint("u", i)
		}
		row := map[string]any{
			"b": null(i%3 == 0), "i8": null(i%256 - 128), "i16": null(i - 1500), "i32": i, "i64": null(i * 1_000_000_000_000), "u8": null(i % 256),
			"u16": null(i), "u32": null(4294967295 - i), "u64": null(uint64(math.MaxUint64) - uint64(i)), "f32": null(float64(i) / 4), "f64": null(float64(i) / 8),
			"s": null(fmt.Sprintf("é%d", i)), "bin": null([]byte(fmt.Sprintf("\x00%d", i))), "fsb": null([]byte(fmt.Sprintf("%04d", i))),
			"g": null(fmt.Sprintf("%08x-0000-0000-0000-%012x", i, i)), "t": null(time.Unix(int64(i)*61-90000, int64(i)*1000).UTC().Format(time.RFC3339Nano)),
			"l": null(append([]any{}, l...)), "ll": null(texts), "st": null(map[string]any{"a": null(i), "c": null("q"), "d": null([]any{1.5, null(i)})}),
			"m": null(map[string]any{fmt.Sprint("k", i%3): null(i)}), "fl": null([]any{null(i), i + 1}), "un": null(un), "dec": null(fmt.Sprintf("%d.25", i)),
			"dy": null(map[string]any{"a": i}), "ls": null(append([]any{}, ls...)), "ts": null(fmt.Sprintf("00:00:00.%07d", i)),
		}
		if err := json.NewEncoder(&b).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(t.TempDir(), "types.ndjson")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	format, _ := fileio.FormatOf("ndjson")
	src, err := fileio.OpenSource(t.Context(), c.Client(), []string{"file://" + file}, fileio.SourceOptions{Format: format, InProcess: true, Schema: tbl.Schema()})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := tbl.Ingest(t.Context(), src, catalog.IngestOptions{StripeRows: 1000}); err != nil {
		t.Fatal(err)
	}
	deleteFlights(t, tbl, "i32 < 100")
	return file
}

// remaining are the ids of table deleted.
var remaining = slices.Concat(ids(100, 450), ids(700, 1500))

func ids(from, to int) (out []int) {
	for id := from; id < to; id++ {
		out = append(out, id)
	}
	return out
}

func except(all []int, without ...int) []int {
	return slices.DeleteFunc(all, func(id int) bool { return slices.Contains(without, id) })
}

// summary is what engines_check.py computes of rows.
func summary(ids []int, prices bool) string {
	var sum, names, price, small int
	for _, id := range ids {
		sum += id
		small += id % 100
		if id%7 != 0 {
			names++
		}
		if id%5 != 0 && prices {
			price += id
		}
	}
	return fmt.Sprint(len(ids), sum, names, price, small, sum)
}

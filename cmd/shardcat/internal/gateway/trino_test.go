package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// rowsSummary is the query of what summary reports about a table's rows.
func rowsSummary(from, name, price string) string {
	return "SELECT concat_ws(' ', CAST(count(*) AS varchar), CAST(sum(id) AS varchar), CAST(count(" + name + ") AS varchar), " +
		"CAST(CAST(coalesce(sum(floor(" + price + " * 4)), 0) AS bigint) AS varchar), CAST(sum(small) AS varchar), " +
		"CAST(CAST(sum(to_unixtime(at) - 1700000000) AS bigint) AS varchar)) FROM " + from
}

// trinoAnswer is a line of what testdata/trino prints.
type trinoAnswer struct {
	rows [][]any
	err  string
}

// TestTrinoThroughGateway reads tables with Trino and its Iceberg connector. SHARDCAT_GATEWAY_TRINO is the class path of testdata/trino, compiled,
// SHARDCAT_GATEWAY_JAVA a java of version 25.
func TestTrinoThroughGateway(t *testing.T) {
	classes, java := os.Getenv("SHARDCAT_GATEWAY_TRINO"), os.Getenv("SHARDCAT_GATEWAY_JAVA")
	if classes == "" || java == "" {
		t.Skip("SHARDCAT_GATEWAY_TRINO and SHARDCAT_GATEWAY_JAVA do not name Trino and Java 25: Trino reads no table")
	}
	e := createEngineTables(t)
	first, firstMillis, before, file := e.arguments[0], e.arguments[1], e.arguments[2], e.arguments[3]
	var millis int64
	fmt.Sscan(firstMillis, &millis)
	when := time.UnixMilli(millis).UTC().Format("2006-01-02 15:04:05.000000")
	text := func(query string) string {
		return "SELECT array_join(array_agg(x ORDER BY x), ' ') FROM (" + query + ")"
	}
	questions := map[string]string{
		"tables": "SHOW TABLES", "flat": rowsSummary("flat", "name", "price"), "count": "SELECT count(*) FROM flat",
		"deleted count": "SELECT count(*) FROM deleted", "projection": "SELECT sum(small) FROM flat",
		"filter":   rowsSummary("flat WHERE id >= 990 AND id < 1010 AND name IS NOT NULL", "name", "price"),
		"deleted":  rowsSummary("deleted", "name", "price"),
		"snapshot": rowsSummary("deleted FOR VERSION AS OF "+first, "name", "price"),
		"as of":    rowsSummary("deleted FOR TIMESTAMP AS OF TIMESTAMP '"+when+" UTC'", "name", "price"),
		"tag":      rowsSummary("deleted FOR VERSION AS OF 'tagged'", "name", "price"), "branch": rowsSummary("deleted FOR VERSION AS OF 'side'", "name", "price"),
		"evolved": rowsSummary("evolved", "label", "0"), "evolved before": rowsSummary("evolved FOR VERSION AS OF "+before, "name", "price"),
		"days": rowsSummary("days", "name", "price"), "days filter": rowsSummary("days WHERE small = 3", "name", "price"),
		"merged": rowsSummary("merged", "name", "price"), "types": "SELECT * FROM types ORDER BY i32",
		"files":      `SELECT array_join(array_agg(concat(CAST(content AS varchar), '/', CAST(record_count AS varchar)) ORDER BY content, record_count DESC), ' ') FROM "deleted$files"`,
		"partitions": `SELECT count(*) FROM "days$partitions"`, "snapshots": `SELECT count(*) FROM "deleted$snapshots"`,
		"refs": text(`SELECT name x FROM "deleted$refs"`), "manifests": `SELECT count(*) > 0 FROM "deleted$manifests"`,
	}
	writes := []string{
		"INSERT INTO flat SELECT * FROM flat", "DELETE FROM flat WHERE id = 3", "DELETE FROM flat", "UPDATE flat SET small = 1 WHERE id = 3", "TRUNCATE TABLE flat",
		"MERGE INTO flat a USING flat b ON a.id = b.id WHEN MATCHED THEN UPDATE SET small = 2", "DROP TABLE flat", "ALTER TABLE flat RENAME TO other",
		"CREATE TABLE new (a int)", "ALTER TABLE flat ADD COLUMN x int", "COMMENT ON TABLE flat IS 'x'", "CREATE SCHEMA other", "DROP SCHEMA default CASCADE",
		"ALTER TABLE deleted EXECUTE expire_snapshots(retention_threshold => '0s')", "ALTER TABLE deleted EXECUTE optimize",
		"ALTER TABLE deleted EXECUTE optimize_manifests",
		"ALTER TABLE deleted EXECUTE rollback_to_snapshot(" + first + ")", "ANALYZE flat",
	}
	// What removes nothing may be done: no file lies there that no metadata names.
	const orphans = "ALTER TABLE deleted EXECUTE remove_orphan_files(retention_threshold => '0s')"
	answers := askTrino(t, e, java, classes, questions, append(writes, orphans))
	for name := range questions {
		a := answers[name]
		if a.err != "" {
			t.Errorf("%s: %s", name, a.err)
			continue
		}
		if name == "types" {
			checkTrinoTypes(t, a.rows, file)
			continue
		}
		var seen []string
		for _, row := range a.rows {
			for _, v := range row {
				seen = append(seen, fmt.Sprint(v))
			}
		}
		slices.Sort(seen)
		got := strings.Join(seen, " ")
		if got == "true" {
			got = "True"
		}
		if got != wanted[name] {
			t.Errorf("%s: %s, want %s", name, got, wanted[name])
		}
	}
	for _, write := range writes {
		if a := answers[write]; a.err == "" {
			t.Errorf("%s: done, want a refusal", write)
		} else {
			t.Logf("%s: %s", write, a.err)
		}
	}
	e.unchanged(t)
	for _, name := range []string{"flat", "deleted"} {
		if again := answers[name+" again"]; again.err != "" || !reflect.DeepEqual(again.rows, answers[name].rows) {
			t.Errorf("%s after the writes: %v", name, again)
		}
	}
}

func askTrino(t *testing.T, e *engineTables, java, classes string, questions map[string]string, writes []string) map[string]trinoAnswer {
	t.Helper()
	server := served(t, e.c)
	var in bytes.Buffer
	for name, query := range questions {
		fmt.Fprintf(&in, "%s\t%s\n", name, query)
	}
	for _, write := range writes {
		fmt.Fprintf(&in, "%s\t%s\n", write, write)
	}
	for _, name := range []string{"flat", "deleted"} {
		fmt.Fprintf(&in, "%s again\t%s\n", name, questions[name])
	}
	to := filepath.Join(t.TempDir(), "answers")
	cmd := exec.CommandContext(t.Context(), java, "--add-modules=jdk.incubator.vector", "--add-opens=java.base/java.nio=ALL-UNNAMED",
		"-cp", classes, "Check", server.URL, readToken, to)
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-4000):])
	}
	data, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]trinoAnswer{}
	for line := range bytes.Lines(data) {
		var name, problem string
		var a trinoAnswer
		if err := json.Unmarshal(line, &[]any{&name, &a.rows, &problem}); err != nil {
			t.Fatalf("%v: %s", err, line[:min(len(line), 300)])
		}
		a.err = problem
		answers[name] = a
	}
	return answers
}

// checkTrinoTypes compares the rows of table types with the file that they were ingested from.
func checkTrinoTypes(t *testing.T, rows [][]any, file string) {
	t.Helper()
	columns := strings.Fields("b i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 s bin fsb g t l ll st m fl un dec dy ls ts")
	data, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	n, wrong := 0, map[string]bool{}
	lines := bufio.NewScanner(data)
	for lines.Scan() {
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.UseNumber()
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if i, _ := row["i32"].(json.Number).Int64(); i < 100 {
			continue
		}
		if n >= len(rows) || len(rows[n]) != len(columns) {
			t.Fatalf("%d rows, and more in the file; or other columns than %v", len(rows), columns)
		}
		for i, column := range columns {
			if want := trinoValue(column, row[column]); !reflect.DeepEqual(rows[n][i], want) && !wrong[column] {
				wrong[column] = true
				t.Errorf("row %d, column %s: %v, want %v", n, column, rows[n][i], want)
			}
		}
		n++
	}
	if n != len(rows) {
		t.Errorf("%d rows, want %d", len(rows), n)
	}
}

// trinoValue is a value of the file of rows as Trino has it: structs and maps without names.
func trinoValue(column string, v any) any {
	if v == nil {
		return nil
	}
	switch column {
	case "u64":
		return v.(json.Number).String()
	case "dy":
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	case "ts":
		var ticks float64
		fmt.Sscan(strings.TrimLeft(v.(string)[len("00:00:00."):], "0"), &ticks)
		return ticks
	case "t":
		at, err := time.Parse(time.RFC3339Nano, v.(string))
		if err != nil {
			panic(err)
		}
		return at.UTC().Format("2006-01-02T15:04:05.000000Z")
	case "un":
		if text, ok := v.(string); ok {
			return []any{nil, text}
		}
		return []any{plainNumbers(v), nil}
	case "st":
		m := v.(map[string]any)
		return plainNumbers([]any{m["a"], m["c"], m["d"]})
	case "m":
		out := []any{}
		for k, e := range v.(map[string]any) {
			out = append(out, []any{k, plainNumbers(e)})
		}
		return out
	case "ls":
		out := []any{}
		for _, e := range v.([]any) {
			if m, ok := e.(map[string]any); ok {
				e = plainNumbers([]any{m["p"], m["q"]})
			}
			out = append(out, e)
		}
		return out
	}
	return plainNumbers(v)
}

// plainNumbers are JSON's numbers as a decoder without UseNumber has them.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, plainNumbers(e))
		}
		return out
	}
	return v
}

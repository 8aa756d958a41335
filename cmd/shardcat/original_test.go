package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestTablesKeepTheirArrowTypes: a table made of a file of Arrow gives its types back, whatever rows a scan finds, and whatever
// came later from text.
func TestTablesKeepTheirArrowTypes(t *testing.T) {
	dir := t.TempDir()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "price", Type: &arrow.Decimal128Type{Precision: 12, Scale: 3}, Nullable: true},
		{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	}, nil)
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"id":1,"price":"1.500","at":"2024-01-05T00:00:00Z"}]`))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w := ipc.NewWriter(&file, ipc.WithSchema(s))
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	w.Close()
	name, more := filepath.Join(dir, "r.arrows"), filepath.Join(dir, "more.ndjson")
	os.WriteFile(name, file.Bytes(), 0o666)
	os.WriteFile(more, []byte(`{"id":2,"price":"7","at":null}`), 0o666)
	run := func(args ...string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &errs)
		global := []string{"--catalog", "sqlite:" + filepath.Join(dir, "c.db"), "--warehouse", filepath.Join(dir, "w")}
		if code := a.finish(t.Context(), a.execute(t.Context(), append(global, args...))); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		return out.Bytes()
	}
	check := func(what string, stream []byte) {
		t.Helper()
		r, err := ipc.NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(what, err)
		}
		for i, f := range s.Fields() {
			if got := r.Schema().Field(i); !arrow.TypeEqual(got.Type, f.Type) {
				t.Errorf("%s: %s is %v, was %v", what, f.Name, got.Type, f.Type)
			}
		}
	}
	run("ingest", "t", name, "--create")
	run("ingest", "t", more)
	for _, where := range []string{"id >= 1", "id = 1", "id = 2", "id = 3"} {
		check(where, run("scan", "t", "--where", where, "--format", "arrows"))
	}
	shard := filepath.Join(dir, "r.amudai.shard")
	run("shard", "write", shard, name)
	// Another unit is all that --time-unit changes.
	for _, command := range [][]string{{"scan", "t"}, {"shard", "cat", shard}} {
		r, err := ipc.NewReader(bytes.NewReader(run(append(command, "--format", "arrows", "--time-unit", "ms")...)))
		if err != nil {
			t.Fatal(err)
		}
		if price, at := r.Schema().Field(1).Type, r.Schema().Field(2).Type; price.String() != "decimal(12, 3)" || at.String() != "timestamp[ms, tz=UTC]" {
			t.Errorf("%v in ms: %v, %v", command, price, at)
		}
	}
	for table, like := range map[string]string{"file": name, "shard": shard} {
		run("table", "create", table, "--like", like)
		run("ingest", table, more)
		check("like a "+table, run("scan", table, "--format", "arrows"))
	}
	out := filepath.Join(dir, "out.arrows")
	run("export", "t", out, "--format", "arrows")
	exported, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	check("export", exported)
}

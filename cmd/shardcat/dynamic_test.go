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

// TestBinaryDynamics: dynamic values in Kusto's binary form, whose layout nobody published, keep their bytes through shards and merges;
// as text they are base64, which is reported; filters compare their bytes.
func TestBinaryDynamics(t *testing.T) {
	dir := t.TempDir()
	label := arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{"KustoDynamic"})
	s := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "d", Type: arrow.BinaryTypes.LargeBinary, Nullable: true, Metadata: label},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
	b.Field(1).(*array.BinaryBuilder).AppendValues([][]byte{[]byte(`{"a": 1}`), {1, 2, 0xff}, nil}, []bool{true, true, false})
	var file bytes.Buffer
	w := ipc.NewWriter(&file, ipc.WithSchema(s))
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("d.arrows"), file.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &errs)
		if code := a.finish(t.Context(), a.execute(t.Context(), args)); code != want {
			t.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		return out.String(), errs.String()
	}
	one, both := at("one.amudai.shard"), at("both.amudai.shard")
	run(exitDone, "shard", "write", one, at("d.arrows"))
	run(exitDone, "shard", "merge", both, one, one)
	run(exitDone, "shard", "verify", both)
	const lines = `{"id":1,"d":{"a": 1}}` + "\n" + `{"id":2,"d":"AQL/"}` + "\n" + `{"id":3,"d":null}` + "\n"
	if rows, said := run(exitDone, "shard", "cat", both, "--format", "ndjson"); rows != lines+lines || !strings.Contains(said, "base64") {
		t.Errorf("%s%s", rows, said)
	}
	if rows, _ := run(exitDone, "shard", "cat", one, "--format", "ndjson", "--where", "d = X'0102ff'"); rows != lines[22:42] {
		t.Errorf("%s", rows)
	}
	out, _ := run(exitDone, "shard", "cat", one, "--format", "ndjson", "--where", `d = '{"a": 1}' OR d HAS 'nothing'`)
	if out != lines[:22] {
		t.Errorf("%s", out)
	}
	// Arrow's JSON can't hold them: it gets base64, and the command reports it.
	if stream, said := run(exitDone, "shard", "cat", both, "--format", "arrows"); !strings.Contains(stream, `"AQL/"`) || !strings.Contains(said, "base64") {
		t.Errorf("%q", said)
	}
}

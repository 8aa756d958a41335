package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog"
)

// lake makes a table t of two rows and gives the flags for it.
func lake(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	c, err := shardcat.Open(t.Context(), folder, shardcat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	types := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "price", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true}}, nil)
	table, err := c.Create(t.Context(), catalog.Name{Table: "t"}, catalog.CreateOptions{Arrow: types, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, types, strings.NewReader(`[{"id": 1, "price": "1.50"}, {"id": 2, "price": null}]`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := array.NewRecordReader(types, []arrow.RecordBatch{b})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Append(t.Context(), r, catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	return []string{"--catalog", "sqlite:" + filepath.Join(folder, "catalog.db"), "--warehouse", filepath.Join(folder, "warehouse")}
}

// command runs the program.
func command(in string, arguments ...string) (out, log string, err error) {
	var stdout, stderr bytes.Buffer
	s, err := parse(arguments, io.Discard)
	if err == nil {
		err = run(s, strings.NewReader(in), &stdout, &stderr)
	}
	return stdout.String(), stderr.String(), err
}

func TestCommand(t *testing.T) {
	flags := lake(t)
	for question, want := range map[string]string{
		"SELECT id * 2 AS two, price FROM t WHERE id < 2": `{"two":2,"price":"1.50"}` + "\n",
		"SELECT 1 AS a; -- it's; not\nSELECT ';' AS b":    `{"a":1}` + "\n" + `{"b":";"}` + "\n",
	} {
		out, _, err := command("", append(flags, question)...)
		piped, _, pipedErr := command(question, flags...)
		if out != want || piped != want || err != nil || pipedErr != nil {
			t.Errorf("%s: %s%s%v %v", question, out, piped, err, pipedErr)
		}
	}
	if out, _, err := command("", append(flags, "--format", "csv", "FROM t")...); out != "id,price\n1,1.50\n2,\n" {
		t.Error(out, err)
	}
	out, log, err := command("", append(flags, "--format", "arrows", "--explain", "FROM t WHERE id = 2")...)
	if err != nil || !strings.Contains(log, `"where":"\"id\" = 2"`) || !strings.Contains(log, `"rows_matched":1`) {
		t.Error(log, err)
	}
	r, err := ipc.NewReader(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if f := r.Schema().Field(1); f.Type.String() != "decimal(9, 2)" {
		t.Error(f)
	}
	for _, test := range []struct {
		code      int
		arguments []string
	}{
		{2, append(flags, "SELEC")}, {2, append(flags, "--format", "xml", "FROM t")}, {2, append(flags, "SELECT", "1")}, {2, append(flags, "FROM nobody")},
		{4, []string{"--catalog", "sqlite:" + filepath.Join(t.TempDir(), "none.db"), "FROM t"}},
	} {
		if _, _, err := command("", test.arguments...); err == nil || code(err) != test.code {
			t.Errorf("%v: %v", test.arguments, err)
		}
	}
}

package fileio

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
)

// leafValues are the values of a leaf, with their levels.
type leafValues struct {
	ints     []int32
	texts    []string
	def, rep []int16
}

// group makes a node of a Parquet schema, with a converted type.
func group(t *testing.T, name string, r parquet.Repetition, as pqschema.ConvertedType, fields ...pqschema.Node) pqschema.Node {
	t.Helper()
	n, err := pqschema.NewGroupNodeConverted(name, r, fields, as, -1)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func leaf(t *testing.T, name string, r parquet.Repetition, typ parquet.Type, as pqschema.ConvertedType) pqschema.Node {
	t.Helper()
	n, err := pqschema.NewPrimitiveNodeConverted(name, r, typ, as, 0, 0, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// parquetOf writes rows by levels and values.
func parquetOf(t *testing.T, column pqschema.Node, leaves ...leafValues) string {
	t.Helper()
	root, err := pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{column}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root)
	g, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaves {
		c, err := g.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		switch c := c.(type) {
		case *file.Int32ColumnChunkWriter:
			_, err = c.WriteBatch(l.ints, l.def, l.rep)
		case *file.ByteArrayColumnChunkWriter:
			var texts []parquet.ByteArray
			for _, s := range l.texts {
				texts = append(texts, parquet.ByteArray(s))
			}
			_, err = c.WriteBatch(texts, l.def, l.rep)
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(at, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return at
}

// Lists and maps of writers that leave out levels, by the rules of the Parquet format for them.
func TestParquetListsOfOldWriters(t *testing.T) {
	var (
		required, optional, repeated = parquet.Repetitions.Required, parquet.Repetitions.Optional, parquet.Repetitions.Repeated
		asList, asNone               = pqschema.ConvertedTypes.List, pqschema.ConvertedTypes.None
		asMap, asText                = pqschema.ConvertedTypes.Map, pqschema.ConvertedTypes.UTF8
		i32, bytesOf                 = parquet.Types.Int32, parquet.Types.ByteArray
	)
	for _, c := range []struct {
		name   string
		column pqschema.Node
		leaves []leafValues
		want   string
	}{
		{"two levels of numbers", group(t, "a", optional, asList, leaf(t, "array", repeated, i32, asNone)),
			[]leafValues{{ints: []int32{1, 2, 3}, def: []int16{2, 2, 0, 1, 2}, rep: []int16{0, 1, 0, 0, 0}}},
			`{"a":[1,2]} {"a":null} {"a":[]} {"a":[3]}`},
		{"two levels of two levels", group(t, "a", optional, asList, group(t, "array", repeated, asList, leaf(t, "array", repeated, i32, asNone))),
			[]leafValues{{ints: []int32{1, 2, 3, 4}, def: []int16{3, 3, 3, 2, 0, 3}, rep: []int16{0, 2, 1, 1, 0, 0}}},
			`{"a":[[1,2],[3],[]]} {"a":null} {"a":[[4]]}`},
		{"a list of old maps", group(t, "a", optional, asList, group(t, "array", repeated, asMap, group(t, "map", repeated, asNone,
			leaf(t, "key", required, bytesOf, asText), leaf(t, "value", optional, i32, asNone)))),
			[]leafValues{{texts: []string{"x", "y", "z"}, def: []int16{3, 3, 3, 2}, rep: []int16{0, 2, 1, 0}},
				{ints: []int32{1, 3}, def: []int16{4, 3, 4, 2}, rep: []int16{0, 2, 1, 0}}},
			`{"a":[[{"key":"x","value":1},{"key":"y","value":null}],[{"key":"z","value":3}]]} {"a":[[]]}`},
		{"three levels in an old level", group(t, "a", optional, asList, group(t, "array", repeated, asList, group(t, "list", repeated, asNone, leaf(t, "element", optional, i32, asNone)))),
			[]leafValues{{ints: []int32{1, 3}, def: []int16{4, 3, 4}, rep: []int16{0, 2, 0}}},
			`{"a":[[1,null]]} {"a":[[3]]}`},
		{"a struct of one by its name", group(t, "a", optional, asList, group(t, "a_tuple", repeated, asNone, leaf(t, "f", optional, i32, asNone))),
			[]leafValues{{ints: []int32{1}, def: []int16{3, 2}, rep: []int16{0, 1}}},
			`{"a":[{"f":1},{"f":null}]}`},
		{"three levels", group(t, "a", optional, asList, group(t, "list", repeated, asNone, leaf(t, "element", optional, i32, asNone))),
			[]leafValues{{ints: []int32{1}, def: []int16{3, 2}, rep: []int16{0, 1}}},
			`{"a":[1,null]}`},
		{"ENUM in a list", group(t, "a", optional, asList, group(t, "list", repeated, asNone, leaf(t, "element", optional, bytesOf, pqschema.ConvertedTypes.Enum))),
			[]leafValues{{texts: []string{"RED"}, def: []int16{3, 2}, rep: []int16{0, 1}}},
			`{"a":["RED",null]}`},
		{"JSON in a struct", group(t, "a", optional, asNone, leaf(t, "j", optional, bytesOf, pqschema.ConvertedTypes.JSON)),
			[]leafValues{{texts: []string{`{"k": [1]}`}, def: []int16{2, 1}, rep: nil}},
			`{"a":{"j":{"k": [1]}}} {"a":{"j":null}}`},
	} {
		at := parquetOf(t, c.column, c.leaves...)
		for _, rows := range []int{1, 1000} {
			got, err := rowsIn(t, SourceOptions{BatchRows: rows}, at)
			if got = strings.Join(strings.Split(strings.TrimSpace(got), "\n"), " "); err != nil || got != c.want {
				t.Errorf("%s: %s, want %s, %v", c.name, got, c.want, err)
			}
		}
	}
}

func TestParquetFilesOfOthers(t *testing.T) {
	for name, want := range map[string]string{
		"old_list_structure.parquet":                `{"a":[[1,2],[3,4]]}`,
		"int96_9999.parquet":                        `{"t":"9999-12-31T15:59:59.009999Z"} {"t":"2006-01-02T07:04:05Z"} {"t":"0001-01-01T00:00:00Z"}`,
		"variant_nullable_metadata.parquet":         `{"id":1,"var":"2024-11-07T12:33:54.123456Z"}`,
		"datapage_v2_empty_datapage.snappy.parquet": `{"value":null}`,
		"duplicate_names.parquet":                   `{"a":1,"a_1":"x"}`,
		"empty_name.parquet":                        `{"column1":1,"b":2}`,
		"hadoop_lz4_compressed.parquet":             `{"c0":1593604800,"c1":"YWJj","v11":42.0} {"c0":1593604800,"c1":"ZGVm","v11":7.7} {"c0":1593604801,"c1":"YWJj","v11":42.125} {"c0":1593604801,"c1":"ZGVm","v11":7.7}`,
		"non_hadoop_lz4_compressed.parquet":         `{"c0":1593604800,"c1":"YWJj","v11":42.0} {"c0":1593604800,"c1":"ZGVm","v11":7.7} {"c0":1593604801,"c1":"YWJj","v11":42.125} {"c0":1593604801,"c1":"ZGVm","v11":7.7}`,
	} {
		got, err := rowsIn(t, SourceOptions{}, filepath.Join("testdata/files", name))
		if got = strings.Join(strings.Split(strings.TrimSpace(got), "\n"), " "); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := rowsIn(t, SourceOptions{}, "testdata/files/empty_group_test.parquet"); err == nil || !strings.Contains(err.Error(), `column "nested.inner" has no values`) {
		t.Error(err)
	}
}

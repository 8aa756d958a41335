package fileio_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// TestPartitionFolders are those that Hive, Spark, DuckDB and Arrow write.
func TestPartitionFolders(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"state", "New York", "state=New%20York"}, {"state", "a_b", "state=a_b"}, {"a b", "x=y/z", "a%20b=x%3Dy%2Fz"}, {"v", "", "v="},
		{"v", "100%", "v=100%25"}, {"v", "ä", "v=%C3%A4"}, {"v", "2024-01-31T10:00:00Z", "v=2024-01-31T10%3A00%3A00Z"}, {"v", "a.b-c~", "v=a.b-c~"},
		{".v", ".", "%2Ev=."}, {"v", fileio.NullPartition, "v=%5F_HIVE_DEFAULT_PARTITION__"},
	} {
		if got := fileio.PartitionFolder(c.name, c.value, false); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.name, c.value, got, c.want)
		}
	}
	if got := fileio.PartitionFolder("v", "", true); got != "v=__HIVE_DEFAULT_PARTITION__" {
		t.Error(got)
	}
}

// TestFoldersAreColumns reads the names of folders as columns, below a folder and by a pattern.
func TestFoldersAreColumns(t *testing.T) {
	type options = fileio.SourceOptions
	dir, _ := write(t,
		"a/state=New%20York/n=1/p.csv", "v\n1\n2\n", "a/state=a_b/n=2/p.csv", "v\n3\n", "a/state=__HIVE_DEFAULT_PARTITION__/n=3/p.csv", "v\n4\n",
		"b/day=2024-01-31/p.ndjson", `{"v":1}`, "b/day=2024-02-01/p.ndjson", `{"v":2}`+"\n"+`{"v":3,"day":"2030-01-01"}`,
		"c/m=01/p.csv", "v\n1\n", "c/m=/p.csv", "v\n2\n", "c/p.csv", "v\n3\n",
		"d/s=%5F_HIVE_DEFAULT_PARTITION__/p.csv", "v\n1\n", "d/s=100%25/.hidden=1/p.csv", "v\n2\n",
	)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		path string
		o    options
		want string
	}{
		{"a", options{}, `{"v":1,"state":"New York","n":1}|{"v":2,"state":"New York","n":1}|{"v":4,"state":null,"n":3}|{"v":3,"state":"a_b","n":2}`},
		{"a/state=New*/*/*.csv", options{}, `{"v":1,"state":"New York","n":1}|{"v":2,"state":"New York","n":1}`},
		{"a/state=a_b/", options{}, `{"v":3,"n":2}`},
		{"a/state=a_b/", options{Types: parse(t, "n: String, v: Float64").Fields}, `{"v":3.0,"n":"2"}`},
		{"a", options{Schema: parse(t, "n: Int8, v: Int64, state: String")}, `{"n":1,"v":1,"state":"New York"}|{"n":1,"v":2,"state":"New York"}|{"n":3,"v":4,"state":null}|{"n":2,"v":3,"state":"a_b"}`},
		{"a", options{Schema: parse(t, "v: Int64")}, `error: "state"`},
		{"a", options{Schema: parse(t, "v: Int64"), UnknownFields: fileio.DropUnknown}, `{"v":1}|{"v":2}|{"v":4}|{"v":3}`},
		{"a", options{Schema: parse(t, "v: Int64"), UnknownFields: fileio.ExtendByUnknown, BatchRows: 1}, `{"v":1,"state":"New York","n":1}|{"v":2,"state":"New York","n":1}|{"v":4,"state":null,"n":3}|{"v":3,"state":"a_b","n":2}`},
		{"a", options{Schema: parse(t, "n: Boolean, v: Int64, state: String")}, `error: "n"`},
		{"b", options{}, `{"v":1,"day":"2024-01-31T00:00:00Z"}|{"v":2,"day":"2024-02-01T00:00:00Z"}|{"v":3,"day":"2030-01-01T00:00:00Z"}`},
		{"c", options{}, `{"v":2,"m":""}|{"v":1,"m":"01"}|{"v":3,"m":null}`},
		{"d", options{}, `{"v":1,"s":"__HIVE_DEFAULT_PARTITION__"}|{"v":2,"s":"100%"}`},
	} {
		got := readRows(t, c.o, at(c.path))
		if part, isError := strings.CutPrefix(c.want, "error: "); got != c.want && !(isError && strings.HasPrefix(got, "error: ") && strings.Contains(got, part)) {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
	}
	var notes []string
	got := readRows(t, options{Warn: func(m string) { notes = append(notes, m) }}, at("a/state=a_b/n=2/p.csv"))
	if got != `{"v":3}` || len(notes) != 1 || !strings.Contains(notes[0], "is not read as a column") {
		t.Errorf("a file by its name: %s, %q", got, notes)
	}
}

// Package interop gives tests the golden shards of the reference implementation and compares rows with what
// they must read back to.
//
// A few megabytes of them are part of the repository, in testdata/golden, chosen to cover what shards can hold. The environment
// variable SHARDCAT_INTEROP names the folder of the whole set, by its absolute path, which takes their place.
package interop

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Variable is the environment variable that names the folder of all golden shards.
const Variable = "SHARDCAT_INTEROP"

// Dir is the folder of golden shards: that of Variable, or the repository's own.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(Variable)
	if dir == "" {
		dir = Shipped(t)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err != nil {
		t.Fatalf("no golden shards: %v", err)
	}
	return dir
}

// Shipped is the folder of the golden shards that are part of the repository.
func Shipped(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "testdata", "golden")
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// Whole reports whether the whole set of golden shards is there, for what only that has.
func Whole() bool { return os.Getenv(Variable) != "" }

// Case is one golden shard, as its case.json describes it.
type Case struct {
	Name      string
	Profile   string
	Layout    string
	Plain     bool
	Rows      int
	Stripes   []int
	Columns   []Column
	Encodings map[string]map[string]int
	Features  []string
	// Properties by scope: shard/NAME, stripeN/NAME, stripeN/field:COL/NAME.
	Properties map[string]json.RawMessage

	// Dir is the folder of the case.
	Dir string `json:"-"`
}

// Column of a golden shard; Type is a label such as "list<i32>".
type Column struct{ Name, Type string }

// Shard is the path of the root object.
func (c *Case) Shard() string { return filepath.Join(c.Dir, "shard.amudai.shard") }

// Cases are all golden shards, those of the folders merged and reader-defect left out.
func Cases(t testing.TB) []*Case {
	t.Helper()
	return CasesIn(t, Dir(t))
}

// DefectCases are golden shards that the reference's own readers trip over; only the whole set has them.
func DefectCases(t testing.TB) []*Case {
	t.Helper()
	if !Whole() {
		return nil
	}
	return CasesIn(t, filepath.Join(Dir(t), "reader-defect"))
}

// CasesIn are the golden shards listed in the index.json of a folder.
func CasesIn(t testing.TB, dir string) []*Case {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []*Case
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		c.Dir = filepath.Join(dir, c.Name)
	}
	return cases
}

// ExpectedRows calls f with each line of the case's rows.ndjson.gz.
func (c *Case) ExpectedRows(t testing.TB, f func(row int, line []byte)) {
	t.Helper()
	file, err := os.Open(filepath.Join(c.Dir, "rows.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReaderSize(z, 1<<20)
	for row := 0; ; row++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			f(row, line)
		}
		if err != nil {
			return
		}
	}
}

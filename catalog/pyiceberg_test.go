package catalog

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/manifest"
)

// TestPyiceberg opens our metadata with pyiceberg. SHARDCAT_PYICEBERG names a Python that has
// pyiceberg[sql-sqlite] and pyarrow.
func TestPyiceberg(t *testing.T) {
	python := os.Getenv("SHARDCAT_PYICEBERG")
	if python == "" {
		t.Skip("SHARDCAT_PYICEBERG does not name a Python with pyiceberg: metadata are not checked against it")
	}
	ctx := context.Background()
	c, dir := openLocal(t)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true, Partition: []string{"day(ts)"}})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 30))
	ingest(t, tbl, IngestOptions{}, rows(30, 10))
	inputs := []string{}
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, e.Path)
	}
	replaceOne(t, tbl, inputs[0])
	out, err := exec.Command(python, "testdata/pyiceberg_check.py", filepath.Join(dir, "catalog.db"), filepath.Join(dir, "warehouse")).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	var seen struct {
		Tables, Snapshots, Refs []string
		Fields                  map[string][]string
		History, Manifests      int
		Records, Rows           string
	}
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !slices.Equal(seen.Tables, []string{"default.people"}) || !slices.Equal(seen.Snapshots, []string{"append", "append", "replace"}) ||
		seen.History != 3 || seen.Records != "40" || !slices.Equal(seen.Refs, []string{"main"}) || seen.Manifests < 2 {
		t.Errorf("pyiceberg sees %s", out)
	}
	if got := seen.Fields["2"]; len(got) != 2 || got[1] != "timestamptz" {
		t.Errorf("pyiceberg reads field 2 as %v", got)
	}
	if !strings.Contains(seen.Rows, "amudai") {
		t.Errorf("pyiceberg's refusal of rows has changed, docs/guides/iceberg.md is out of date: %s", seen.Rows)
	}
}

// replaceOne replaces a shard by an entry with the same rows under another name.
func replaceOne(t *testing.T, tbl *Table, input string) {
	t.Helper()
	ctx := context.Background()
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Path != input {
			continue
		}
		other := *e
		other.Path = strings.Replace(e.Path, ".amudai.shard", "-again.amudai.shard", 1)
		j, _, err := tbl.BeginJob(ctx, JobCompact, "", []string{input}, anything(tbl))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Replace(ctx, []string{input}, []*manifest.Entry{&other}); err != nil {
			t.Fatal(err)
		}
		return
	}
}

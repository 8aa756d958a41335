package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// littleMemory is less than wideRow takes, also where it is stored.
const littleMemory = "1000000"

var wideRow = func() string {
	r, value := rand.New(rand.NewPCG(1, 2)), make([]byte, 3<<20)
	for i := range value {
		value[i] = 'a' + byte(r.IntN(16))
	}
	return `{"s":"` + string(value) + `"}`
}()

// decoding are commands with arguments that make them read a wide value: of the table t, a shard of it, an Arrow file,
// or of the table gone, of whose bounds a deletion left nothing. FIRST is the first snapshot of t.
var decoding = [][]string{
	{"changes", "t", "--from", "FIRST"},
	{"compact", "t", "--check"},
	{"convert", "SHARD", "out.ndjson"},
	{"delete", "t", "--where", "s CONTAINS_CS '!'"},
	{"export", "t", "export.ndjson"},
	{"ingest", "t", "wide.arrow"},
	{"overwrite", "t", "wide.arrow", "--where", "s = 'y'"},
	{"register", "t", "SHARD2"},
	{"repair", "t", "--accept-loss"},
	{"scan", "t", "--format", "ndjson"},
	{"shard", "cat", "SHARD", "--format", "ndjson"},
	{"shard", "inspect", "SHARD", "-vvv"},
	{"shard", "verify", "SHARD"},
	{"shard", "write", "out.amudai.shard", "wide.arrow"},
	{"stats", "gone"},
	{"table", "alter", "gone", "require", "s"},
	{"table", "index", "t", "add", "hash:s"},
	{"verify", "t"},
}

// notDecoding are commands that read no values of a table, with arguments to show it, or why there are none.
var notDecoding = [][]string{
	{"files", "t"}, {"jobs", "t"}, {"plan", "t"}, {"plan-scan", "t"}, {"expire", "t"}, {"gc", "t"}, {"why", "SHARD"},
	{"doctor"}, {"docs"}, {"namespace", "list"}, {"policy", "show", "t"}, {"policy", "explain", "t"},
	{"policy", "set", "t", "max-rows=1000"}, {"namespace", "create", "n"}, {"namespace", "property", "n", "a=b"},
	{"namespace", "drop", "n"}, {"table", "list"}, {"table", "describe", "t"}, {"table", "history", "t"}, {"table", "refs", "t"},
	{"table", "tag", "t", "one"}, {"table", "branch", "t", "b"}, {"table", "fast-forward", "t", "b", "main"},
	{"table", "rollback", "t", "FIRST"}, {"table", "drop-ref", "t", "one"}, {"shard", "merge", "merged.amudai.shard", "SHARD", "--allow-external"},
	{"table", "create", "like", "--like", "wide.arrow"},
	{"table", "rename", "gone", "renamed"}, {"truncate", "renamed"}, {"table", "drop", "renamed"},
	{"undrop", "renamed"},
}

// elsewhere are commands whose memory is held to other bounds.
var elsewhere = map[string]string{
	"demo":              "reads rows of its own",
	"conformance":       "writes small shards of its own, and leaves reading to another program",
	"serve":             "reads through the catalog that openCatalog opens for all commands",
	"retain":            "drops by the entries alone",
	"table recover":     "reads metadata alone",
	"job commit":        "commits shards by their roots",
	"job discard":       "deletes objects by their names",
	"table cherry-pick": "commits entries that are there",
	"index lookup":      "reads 256 MiB of an index at most",
	"index inspect":     "reads 256 MiB of an index at most",
}

// TestEveryCommandKeepsToMaxMemory: what reads values refuses those that don't fit, and changes nothing; what reads none
// does its work. A new command has to be added above.
func TestEveryCommandKeepsToMaxMemory(t *testing.T) {
	w := newMemoryWorld(t)
	for _, args := range decoding {
		if code, said := w.run(append(args, "--max-memory", littleMemory)...); code != exitCorrupt || !strings.Contains(said, "--max-memory") {
			t.Errorf("%v in little memory: exit %d, %s", args, code, said)
		}
		if code, said := w.run(args...); code != exitDone {
			t.Errorf("%v: exit %d, %s", args, code, said)
		}
	}
	for _, args := range notDecoding {
		if code, said := w.run(append(args, "--max-memory", littleMemory)...); code != exitDone {
			t.Errorf("%v reads no values: exit %d, %s", args, code, said)
		}
	}
	for _, path := range leaves(newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}).rootCommand(), "") {
		listed := func(args []string) bool { return strings.HasPrefix(strings.Join(args, " ")+" ", path+" ") }
		if !slices.ContainsFunc(decoding, listed) && !slices.ContainsFunc(notDecoding, listed) && elsewhere[path] == "" {
			t.Errorf("%s: nobody says whether it reads values", path)
		}
	}
}

// leaves are the commands that do something, by their whole names.
func leaves(c *cobra.Command, name string) (out []string) {
	if !c.HasSubCommands() {
		return []string{name}
	}
	for _, child := range c.Commands() {
		out = append(out, leaves(child, strings.TrimSpace(name+" "+child.Name()))...)
	}
	return out
}

// memoryWorld is a folder with tables of one wide row.
type memoryWorld struct {
	t            *testing.T
	shard, first string
}

func newMemoryWorld(t *testing.T) *memoryWorld {
	t.Chdir(t.TempDir())
	w := &memoryWorld{t: t}
	for name, text := range map[string]string{"wide.ndjson": wideRow, "more.ndjson": wideRow + "\n{\"s\":null}\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.must("convert", "wide.ndjson", "wide.arrow")
	w.must("shard", "write", "elsewhere/wide.amudai.shard", "wide.ndjson")
	w.must("ingest", "t", "wide.ndjson", "--create")
	shards, err := filepath.Glob("shardcat/warehouse/vault/*/*.amudai.shard")
	if err != nil || len(shards) != 1 {
		t.Fatal(shards, err)
	}
	w.shard = shards[0]
	w.must("ingest", "t", "wide.ndjson")
	type snapshot struct {
		ID       int64 `json:"snapshot_id"`
		Sequence int64 `json:"sequence_number"`
	}
	var history []snapshot
	text := w.must("table", "history", "t", "--json")
	if err := json.Unmarshal([]byte(text), &history); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	w.first = strconv.FormatInt(slices.MinFunc(history, func(a, b snapshot) int { return cmp.Compare(a.Sequence, b.Sequence) }).ID, 10)
	w.must("ingest", "gone", "more.ndjson", "--create")
	w.must("delete", "gone", "--where", "s IS NULL")
	return w
}

func (w *memoryWorld) must(args ...string) string {
	w.t.Helper()
	code, said := w.run(args...)
	if code != exitDone {
		w.t.Fatalf("%v: exit %d: %s", args, code, said)
	}
	return said
}

// run runs a command and gives what it printed, as far as that is short.
func (w *memoryWorld) run(args ...string) (code int, said string) {
	w.t.Helper()
	args = slices.Clone(args)
	for i, a := range args {
		switch a {
		case "SHARD":
			args[i] = w.shard
		case "SHARD2":
			args[i] = "elsewhere/wide.amudai.shard"
		case "FIRST":
			args[i] = w.first
		}
	}
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	code = a.finish(w.t.Context(), a.execute(w.t.Context(), append(args, "--progress", "never")))
	said = out.String() + errs.String()
	return code, said[:min(len(said), 2000)]
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestExtendLosesRace: of two writers that add a column of one name, the second reads its files by the type of the first, as if it had
// come later.
func TestExtendLosesRace(t *testing.T) {
	for i, c := range []struct{ winner, record, want string }{
		{"when: String", `{"id":2,"when":"2024-01-02T03:04:05Z"}`, `{"id":2,"when":"2024-01-02T03:04:05Z"}`},
		{"n: Float64", `{"id":2,"n":7}`, `{"id":2,"n":7.0}`},
		{"n: Int8", `{"id":2,"n":7}`, `{"id":2,"n":7}`},
		{"n: Int64", `{"id":2,"n":"seven"}`, ""},
		{"s: Struct<a: String>", `{"id":2,"s":{"a":"2024-01-02","b":1}}`, `{"id":2,"s":{"a":"2024-01-02","b":1}}`},
		{"other: String", `{"id":2,"n":7}`, `{"id":2,"other":null,"n":7}`},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir) // the catalog lies there
			warehouse := "--warehouse=" + filepath.Join(dir, "wh")
			file := func(name, text string) string {
				at := filepath.Join(dir, name)
				if err := os.WriteFile(at, []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return at
			}
			if code, text := runIn(t, "ingest", "t", file("1.ndjson", `{"id":1}`), "--create", warehouse); code != exitDone {
				t.Fatal(text)
			}
			a := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
			a.warehouse = filepath.Join(dir, "wh")
			defer a.client.Close()
			load := func() *catalog.Table {
				tbl, err := a.loadTable(t.Context(), "t")
				if err != nil {
					t.Fatal(err)
				}
				return tbl
			}
			mine := load()
			added, err := schema.Parse(c.winner)
			if err != nil {
				t.Fatal(err)
			}
			if err := load().AddColumns(t.Context(), added); err != nil {
				t.Fatal(err)
			}
			err = a.landIn(t.Context(), mine, ingestion{name: "t", files: []string{file("2.ndjson", c.record)},
				source: fileio.SourceOptions{UnknownFields: fileio.ExtendByUnknown}})
			if (err == nil) != (c.want != "") {
				t.Fatalf("%s after %s: %v", c.record, c.winner, err)
			}
			_, rows := runIn(t, "scan", "t", "--where", "id = 2", "--format", "ndjson", warehouse)
			if strings.TrimSpace(rows) != c.want {
				t.Errorf("rows %s, want %s", rows, c.want)
			}
		})
	}
}

package fileio_test

import (
	"context"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

func rows(t *testing.T, text string) fileio.Source {
	t.Helper()
	src, err := fileio.OpenSource(context.Background(), nil, []string{fileio.Stdin},
		fileio.SourceOptions{Format: fileio.NDJSON, Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestGroup(t *testing.T) {
	const text = `{"id":1,"x":1.5,"s":{"k":2},"y":null,"z":"a"}` + "\n" + `{"id":2,"x":null,"s":null,"y":7,"z":"b"}` + "\n"
	g, err := fileio.Group(rows(t, text), map[string][]string{"pos": {"y", "x"}, "z2": {"z"}, "s": nil})
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Schema().String(); !strings.Contains(got, "pos: Struct<y: Int64, x: Float64>, s: Struct<k: Int64>, z2: Struct<z: String>") {
		t.Errorf("schema %s", got)
	}
	b, err := g.Next(context.Background())
	if err != nil || b.NumRows() != 2 {
		t.Fatal(b, err)
	}
	for i, want := range []string{"[1 2]", "{[(null) 7] [1.5 (null)]}", "{[2 (null)]}", "{[\"a\" \"b\"]}"} {
		if got := b.Column(i); !strings.Contains(got.String(), want) {
			t.Errorf("column %d: %v, want %s", i, got, want)
		}
	}
}

func TestGroupRefuses(t *testing.T) {
	for says, groups := range map[string]map[string][]string{
		`no such field "b"`: {"g": {"a", "b"}},
		"list its fields":   {"g": nil},
		"already":           {"g": {"a"}, "h": {"a"}},
	} {
		if _, err := fileio.Group(rows(t, `{"a":1}`), groups); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", groups, err)
		}
	}
}

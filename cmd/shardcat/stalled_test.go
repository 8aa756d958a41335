package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStalledIngest: the rows of a stream are committed by their age while its writer stalls, into a table that the stream creates, and
// into one that is there. The writer goes on only after the rows were found.
func TestStalledIngest(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SHARDCAT_CATALOG", "sqlite:"+filepath.Join(dir, "catalog.db"))
	t.Setenv("SHARDCAT_WAREHOUSE", filepath.Join(dir, "warehouse"))
	scan := func(table string) string {
		var out, errs bytes.Buffer
		newApp(strings.NewReader(""), &out, &errs).execute(t.Context(), []string{"scan", table, "--count"})
		return strings.TrimSpace(out.String())
	}
	for _, c := range []struct{ table, come, rest, first, all string }{
		{"csv", "id,name\n1,x\n2,y\n", "3,z\n", "2", "3"},
		{"csv", "id;name\n4;x\n", "5;z\n", "4", "5"},
		{"json", "{\"id\":1}\n{\"id\":2", "0}\n", "1", "2"},
	} {
		in, to := io.Pipe()
		done := make(chan error, 1)
		var out, errs bytes.Buffer
		go func() {
			done <- newApp(in, &out, &errs).execute(t.Context(), []string{"ingest", c.table, "-", "--create", "--flush-age", "100ms"})
			in.Close()
		}()
		if _, err := io.WriteString(to, c.come); err != nil {
			t.Fatal(err, <-done)
		}
		for deadline := time.Now().Add(2 * time.Minute); scan(c.table) != c.first; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %s rows while the writer stalls, want %s: %s", c.table, scan(c.table), c.first, errs.String())
			}
		}
		io.WriteString(to, c.rest)
		to.Close()
		if err := <-done; err != nil {
			t.Fatal(err, errs.String())
		}
		if got := scan(c.table); got != c.all {
			t.Errorf("%s: %s rows, want %s", c.table, got, c.all)
		}
	}
}

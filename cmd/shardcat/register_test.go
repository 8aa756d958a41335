package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRegisterNotesAFolderAboveTheVault: after a folder that holds the vault is adopted, gc is refused for other tables, and a note tells it;
// shards in a folder of their own and copies have no such effect.
func TestRegisterNotesAFolderAboveTheVault(t *testing.T) {
	const note = "gc is refused for the other tables"
	for _, c := range []struct {
		shard string
		more  []string
		above bool
	}{{"a.amudai.shard", nil, true}, {"a.amudai.shard", []string{"--copy"}, false}, {"own/a.amudai.shard", nil, false}} {
		dir := t.TempDir()
		run := func(args ...string) (text string, code int) {
			var out, errs bytes.Buffer
			a := newApp(strings.NewReader(""), &out, &errs)
			global := []string{"--catalog", "sqlite:" + filepath.Join(dir, "c.db"), "--warehouse", filepath.Join(dir, "w")}
			code = a.finish(t.Context(), a.execute(t.Context(), append(global, args...)))
			return out.String() + errs.String(), code
		}
		rows, shard := filepath.Join(dir, "rows.ndjson"), filepath.Join(dir, filepath.FromSlash(c.shard))
		if err := os.WriteFile(rows, []byte(`{"id":1}`), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(shard), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"shard", "write", shard, rows}, {"ingest", "t", rows, "--create"}, {"ingest", "other", rows, "--create"}} {
			if text, code := run(args...); code != exitDone {
				t.Fatalf("%v: exit %d: %s", args, code, text)
			}
		}
		if text, code := run("table", "create", "narrow", "--schema", "other: Int64"); code != exitDone {
			t.Fatalf("exit %d: %s", code, text)
		}
		if text, code := run(append([]string{"register", "narrow", shard, "--copy"}, c.more...)...); code != exitDone || !strings.Contains(text, "lacks the columns id:") {
			t.Errorf("exit %d: %s", code, text)
		}
		text, code := run(append([]string{"register", "t", shard}, c.more...)...)
		if code != exitDone || strings.Contains(text, note) != c.above || strings.Contains(text, "lacks the columns") {
			t.Errorf("%s %v: exit %d: %s", c.shard, c.more, code, text)
		}
		if text, code := run("gc", "other", "--execute"); (code != exitDone) != c.above {
			t.Errorf("%s %v: gc of another table: exit %d: %s", c.shard, c.more, code, text)
		}
	}
}

package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

const folder = "../../../testdata/released"

// versions are copies of the sets of all versions, by their names.
func versions(t *testing.T) map[string]string {
	t.Helper()
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range found {
		if !f.IsDir() {
			continue
		}
		dir := filepath.Join(t.TempDir(), f.Name())
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(folder, f.Name()))); err != nil {
			t.Fatal(err)
		}
		if err := moveCatalog(dir, noPlace, catalogURI(dir)); err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = dir
	}
	if len(out) == 0 {
		t.Fatal("no version has left anything")
	}
	return out
}

func text(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestShardsOfEveryVersion: shards that were ever written have the rows they had, and are whole.
func TestShardsOfEveryVersion(t *testing.T) {
	for version, dir := range versions(t) {
		client, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		want := text(t, dir, shardRowsFile)
		shards, err := filepath.Glob(filepath.Join(dir, "shards", "*.amudai.shard"))
		if err != nil || len(shards) < len(forms()) {
			t.Fatal(version, shards, err)
		}
		for _, path := range shards {
			url := root + "shards/" + filepath.Base(path)
			report, err := verify.Shard(t.Context(), client, url, verify.Options{})
			if err != nil || !report.OK {
				t.Errorf("%s, %s: %+v, %v", version, url, report, err)
				continue
			}
			s, err := shardfmt.Open(t.Context(), client, url, shardfmt.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := render(s.Scan(t.Context(), shardfmt.ScanOptions{})); err != nil || got != want {
				t.Errorf("%s, %s: other rows, or %v", version, url, err)
			}
			if got, err := selected(t, s); err != nil || got != strings.Count(want, `"word":"w3"`) || got == 0 {
				t.Errorf("%s, %s: a filter selects %d rows, %v", version, url, got, err)
			}
		}
	}
}

// selected counts rows by a filter that statistics, Bloom filters and indexes answer.
func selected(t *testing.T, s *shardfmt.Shard) (n int, err error) {
	t.Helper()
	e, err := filter.Parse("s HAS 'row' AND word = 'w3'")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Schema(t.Context())
	if err != nil {
		return 0, err
	}
	bound, err := filter.Bind(e, all)
	if err != nil {
		return 0, err
	}
	for b, err := range s.Scan(t.Context(), shardfmt.ScanOptions{Filter: bound}) {
		if err != nil {
			return n, err
		}
		n += int(b.NumRows())
	}
	return n, nil
}

// TestTablesOfEveryVersion: a table that was ever left has the rows it had, its tag those it holds, its open job keeps
// what it names, what was marked for deletion is known; and work on it goes on.
func TestTablesOfEveryVersion(t *testing.T) {
	for version, dir := range versions(t) {
		c, err := openCatalog(t.Context(), dir)
		if err != nil {
			t.Fatal(version, err)
		}
		defer c.Close()
		tbl, err := c.Load(t.Context(), tableName)
		if err != nil {
			t.Fatal(version, err)
		}
		for file, at := range map[string]catalog.At{tableRows: {}, tagRows: {Ref: tagName}} {
			if got, err := rowsOf(t.Context(), tbl, at); err != nil || got != text(t, dir, file) {
				t.Errorf("%s, %s: other rows, or %v", version, file, err)
			}
		}
		if v, err := tbl.Verify(t.Context(), catalog.VerifyOptions{}); err != nil || len(v.Errors) > 0 {
			t.Errorf("%s: %+v, %v", version, v, err)
		}
		if jobs, err := tbl.Jobs(t.Context(), false); err != nil || len(jobs) != 1 || jobs[0].ID != openJob {
			t.Errorf("%s: open jobs %+v, %v", version, jobs, err)
		}
		if out, err := tbl.Collect(t.Context(), catalog.CollectOptions{}); err != nil || out.Objects == out.Live || len(out.Unknown) > 0 {
			t.Errorf("%s: %+v, %v", version, out, err)
		}
		goesOn(t, version, c, tbl, dir)
	}
}

// goesOn appends to the table and merges all it has.
func goesOn(t *testing.T, version string, c *catalog.Catalog, tbl *catalog.Table, dir string) {
	t.Helper()
	l := &life{ctx: t.Context(), catalog: c, table: tbl, dir: dir, rows: 1000}
	if err := l.land(); err != nil {
		t.Errorf("%s: appending: %v", version, err)
	}
	if _, err := compaction.Compact(t.Context(), tbl, compaction.Policy{}, compaction.Options{Check: true}); err != nil {
		t.Errorf("%s: compacting: %v", version, err)
	}
	got, err := rowsOf(t.Context(), tbl, catalog.At{})
	if before := text(t, dir, tableRows); err != nil || !strings.HasPrefix(got, before) || strings.Count(got, "\n") != strings.Count(before, "\n")+20 {
		t.Errorf("%s: other rows after appending and compacting, or %v", version, err)
	}
}

package catalog

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// openAt opens a catalog of a file over the warehouse of a folder.
func openAt(t *testing.T, dir, file string) *Catalog {
	t.Helper()
	c, err := Open(context.Background(), Options{URI: "sqlite:" + filepath.Join(dir, file), Warehouse: filepath.Join(dir, "warehouse")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// copyDatabase copies the database of a closed catalog.
func copyDatabase(t *testing.T, dir, from, to string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, from))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// twoTables is a catalog with two tables in two namespaces, closed, in a folder.
func twoTables(t *testing.T) (dir string, names []Name) {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	c := openAt(t, dir, "a.db")
	names = []Name{{"default", "people"}, {"web.eu", "hits"}}
	for i, name := range names {
		tbl, err := c.Create(ctx, name, CreateOptions{Schema: people(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		ingest(t, tbl, IngestOptions{}, rows(100*i, 10))
	}
	if err := c.SetNamespaceProperties(ctx, "web.eu", map[string]string{"shardcat.compaction.target-size": "64MiB"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, names
}

func write(t *testing.T, c *Catalog, name Name) error {
	t.Helper()
	tbl, err := c.Load(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = appendFake(tbl, "", 1)
	return err
}

func liveRows(t *testing.T, c *Catalog, name Name) int64 {
	t.Helper()
	tbl, err := c.Load(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tbl.Describe().Records
}

func outcomes(results []RecoverResult) (out []string) {
	for _, r := range results {
		out = append(out, r.Table+" "+r.Outcome)
	}
	return out
}

// TestCatalogUnderAnotherName: a database at another path is the same catalog, for writes and for collection.
func TestCatalogUnderAnotherName(t *testing.T) {
	dir, names := twoTables(t)
	copyDatabase(t, dir, "a.db", "b.db")
	c := openAt(t, dir, "b.db")
	for _, name := range names {
		tbl, err := c.Load(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		ingest(t, tbl, IngestOptions{}, rows(50, 5))
		if _, err := tbl.Collect(context.Background(), CollectOptions{Execute: true}); err != nil {
			t.Errorf("collection of %s: %v", name, err)
		}
	}
	properties, err := c.NamespaceProperties(context.Background(), "web.eu")
	if err != nil || len(properties) != 1 {
		t.Errorf("properties of the namespace: %v, %v", properties, err)
	}
	if err := c.SetNamespaceProperties(context.Background(), "web.eu", nil, []string{identityProperty}); !errors.Is(err, ErrInvalid) {
		t.Errorf("the identity was removed: %v", err)
	}
}

// TestRecoverAll: a new catalog gets all tables, under their last names and with the properties of their namespaces, once it takes them
// over; the former one and its copies are refused then, by name and by content.
func TestRecoverAll(t *testing.T) {
	ctx := context.Background()
	dir, names := twoTables(t)
	old := openAt(t, dir, "a.db")
	renamed := Name{"web.eu", "visits"}
	if _, err := old.Rename(ctx, names[1], renamed); err != nil {
		t.Fatal(err)
	}
	gone, err := old.Create(ctx, Name{"default", "gone"}, CreateOptions{Schema: people()})
	if err == nil {
		err = old.Drop(ctx, gone.Name())
	}
	if err != nil {
		t.Fatal(err)
	}
	fresh := openAt(t, dir, "new.db")
	results, err := fresh.RecoverAll(ctx, false)
	if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "--take-over") {
		t.Errorf("without a take-over: %v %v", outcomes(results), err)
	}
	if tables, err := fresh.Tables(ctx, ""); err != nil || len(tables) != 0 {
		t.Errorf("tables after the refusal: %v, %v", tables, err)
	}
	results, err = fresh.RecoverAll(ctx, true)
	if want := []string{"default.gone dropped", "default.people recovered", "web.eu.visits recovered"}; err != nil || !slices.Equal(outcomes(results), want) {
		t.Fatalf("%v %v, want %v", outcomes(results), err, want)
	}
	properties, err := fresh.NamespaceProperties(ctx, "web.eu")
	if err != nil || properties["shardcat.compaction.target-size"] != "64MiB" {
		t.Errorf("properties of the namespace: %v, %v", properties, err)
	}
	for _, name := range []Name{names[0], renamed} {
		if err := write(t, fresh, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := write(t, old, name); !errors.Is(err, ErrUnsafe) {
			t.Errorf("the former catalog wrote to %s: %v", name, err)
		}
	}
	if results, err = fresh.RecoverAll(ctx, true); err != nil || !slices.Equal(outcomes(results)[1:], []string{"default.people current", "web.eu.visits current"}) {
		t.Errorf("again: %v %v", outcomes(results), err)
	}
	if err := fresh.Close(); err != nil {
		t.Fatal(err)
	}
	copyDatabase(t, dir, "new.db", "copy.db") // a copy has all identities, until it is fenced, or fences
	twin := openAt(t, dir, "copy.db")
	if results, err = twin.RecoverAll(ctx, true); err != nil {
		t.Fatalf("%v %v", outcomes(results), err)
	}
	if err := write(t, twin, renamed); err != nil {
		t.Errorf("the copy that took over: %v", err)
	}
	if err := write(t, openAt(t, dir, "new.db"), renamed); !errors.Is(err, ErrUnsafe) {
		t.Errorf("the catalog that a copy has fenced wrote: %v", err)
	}
}

// TestRecoverAllAfterATakeOverThatEnded: a take-over deletes the record of the owner before it writes its own. Tables with rows whose record is
// missing are not passed over in silence: they are refused, and recovered by the next take-over.
func TestRecoverAllAfterATakeOverThatEnded(t *testing.T) {
	ctx := context.Background()
	dir, names := twoTables(t)
	old := openAt(t, dir, "a.db")
	renamed := Name{"web.eu", "visits"}
	if _, err := old.Rename(ctx, names[1], renamed); err != nil {
		t.Fatal(err)
	}
	for _, name := range []Name{names[0], renamed} {
		tbl, err := old.Load(ctx, name)
		if err == nil {
			err = old.client.Delete(ctx, tbl.VaultFolder()+"_owner.json", "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fresh := openAt(t, dir, "new.db")
	if results, err := fresh.RecoverAll(ctx, false); !errors.Is(err, ErrUnsafe) || !slices.Equal(outcomes(results), []string{"default.people failed", "web.eu.visits failed"}) {
		t.Errorf("without a take-over: %v %v", outcomes(results), err)
	}
	if results, err := fresh.RecoverAll(ctx, true); err != nil || !slices.Equal(outcomes(results), []string{"default.people recovered", "web.eu.visits recovered"}) {
		t.Errorf("%v %v", outcomes(results), err)
	}
	for _, name := range []Name{names[0], renamed} {
		if err := write(t, fresh, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := write(t, old, name); !errors.Is(err, ErrUnsafe) {
			t.Errorf("the former catalog wrote to %s: %v", name, err)
		}
	}
}

// TestRestoredBackup: a database of yesterday gets the commits of today; until then it collects nothing. A table with commits on both
// sides is reported.
func TestRestoredBackup(t *testing.T) {
	ctx := context.Background()
	dir, names := twoTables(t)
	copyDatabase(t, dir, "a.db", "backup.db")
	c := openAt(t, dir, "a.db")
	for _, name := range names {
		tbl, err := c.Load(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			ingest(t, tbl, IngestOptions{}, rows(1000+10*i, 10))
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = openAt(t, dir, "backup.db")
	tbl, err := c.Load(ctx, names[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Collect(ctx, CollectOptions{}); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "recover --all") {
		t.Errorf("collection of a catalog that is behind: %v", err)
	}
	other, err := c.Load(ctx, names[1])
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, other, IngestOptions{}, rows(5000, 1)) // a commit on this side
	results, err := c.RecoverAll(ctx, false)
	if !errors.Is(err, ErrConflict) || !slices.Equal(outcomes(results), []string{"default.people advanced", "web.eu.hits failed"}) {
		t.Errorf("%v %v", outcomes(results), err)
	}
	if got := liveRows(t, c, names[0]); got != 30 {
		t.Errorf("%d rows after the recovery, want 30", got)
	}
	if got := liveRows(t, c, names[1]); got != 11 {
		t.Errorf("%d rows of the table with commits on both sides, want 11", got)
	}
}

// TestMetadataFilesOfOneNumber: copies a and b of a database each commit once, so that two metadata files have the highest number. What the
// records of their jobs show decides.
func TestMetadataFilesOfOneNumber(t *testing.T) {
	ctx := context.Background()
	failed := func(t *testing.T, tbl *Table, job string) {
		end := JobEnd{Version: records.Version, ID: job, Outcome: jobrecord.Failed}
		at := tbl.VaultFolder() + "_jobs/" + job + jobrecord.ClosedSuffix
		if err := tbl.cat.client.Delete(ctx, at, ""); err != nil {
			t.Fatal(err)
		}
		if err := tbl.cat.records.Put(ctx, at, end); err != nil {
			t.Fatal(err)
		}
	}
	open := func(t *testing.T, tbl *Table, job string) { // its writer died before it recorded how the job ended
		if err := tbl.cat.client.Delete(ctx, tbl.VaultFolder()+"_jobs/"+job+jobrecord.ClosedSuffix, ""); err != nil {
			t.Fatal(err)
		}
	}
	append7 := func(job string) func(*testing.T, *Table) {
		return func(t *testing.T, tbl *Table) { ingest(t, tbl, IngestOptions{JobID: job}, rows(1000, 7)) }
	}
	comment := func(t *testing.T, tbl *Table) {
		if err := tbl.SetProperties(ctx, map[string]string{"comment": "people"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		a, b func(*testing.T, *Table)
		// change edits the records of jobs afterwards.
		change func(t *testing.T, a, b *Table)
		// want is the recovered state: a, b, the one before both, or none.
		want string
	}{
		"one was committed":                      {append7("a"), append7("b"), func(t *testing.T, _, b *Table) { open(t, b, "b") }, "a"},
		"both were":                              {append7("a"), append7("b"), nil, "none"},
		"one failed":                             {append7("a"), append7("b"), func(t *testing.T, a, b *Table) { open(t, a, "a"); failed(t, b, "b") }, "a"},
		"both failed":                            {append7("a"), append7("b"), func(t *testing.T, a, b *Table) { failed(t, a, "a"); failed(t, b, "b") }, "before"},
		"none is known":                          {append7("a"), append7("b"), func(t *testing.T, a, b *Table) { open(t, a, "a"); open(t, b, "b") }, "none"},
		"a job without a record":                 {append7(""), append7("b"), func(t *testing.T, _, b *Table) { open(t, b, "b") }, "a"},
		"two jobs without a record":              {append7(""), append7(""), nil, "none"},
		"a property beside a commit that failed": {comment, append7("b"), func(t *testing.T, _, b *Table) { failed(t, b, "b") }, "a"},
		"a property beside a commit":             {comment, append7("b"), nil, "b"},
		"a property beside what nobody knows":    {comment, append7("b"), func(t *testing.T, _, b *Table) { open(t, b, "b") }, "none"},
	} {
		t.Run(what, func(t *testing.T) {
			dir, names := twoTables(t)
			copyDatabase(t, dir, "a.db", "b.db")
			states := map[string]string{}
			var tables []*Table
			for i, file := range []string{"a.db", "b.db"} {
				tbl, err := openAt(t, dir, file).Load(ctx, names[0])
				if err != nil {
					t.Fatal(err)
				}
				states["before"] = tbl.MetadataLocation()
				[]func(*testing.T, *Table){c.a, c.b}[i](t, tbl)
				states[file[:1]] = tbl.MetadataLocation()
				tables = append(tables, tbl)
			}
			if a, b := path.Base(states["a"]), path.Base(states["b"]); a[:5] != b[:5] || a == b {
				t.Fatalf("%s and %s", a, b)
			}
			if c.change != nil {
				c.change(t, tables[0], tables[1])
			}
			results, err := openAt(t, dir, "new.db").RecoverAll(ctx, true)
			want := "default.people recovered"
			if c.want == "none" {
				want = "default.people failed"
				if !errors.Is(err, ErrConflict) || len(results[0].Candidates) != 2 || !strings.Contains(err.Error(), "17 rows") {
					t.Errorf("%v %v", results[0].Candidates, err)
				}
			} else if results[0].Metadata != states[c.want] {
				t.Errorf("recovered %s, want %s", results[0].Metadata, states[c.want])
			}
			if got := outcomes(results); got[0] != want {
				t.Fatalf("%v %v", got, err)
			}
		})
	}
}

// TestDropNamespaceKeepsIdentities: a take-over makes a UUID that one namespace has, and a table that it owns by that moves to another. Dropping the
// first namespace leaves the table writable under another URI of the catalog.
func TestDropNamespaceKeepsIdentities(t *testing.T) {
	ctx := context.Background()
	dir, names := twoTables(t)
	copyDatabase(t, dir, "a.db", "copy.db")
	c := openAt(t, dir, "copy.db")
	if results, err := c.RecoverAll(ctx, true); err != nil {
		t.Fatal(outcomes(results), err)
	}
	moved := Name{"default", "hits"}
	if _, err := c.Rename(ctx, names[1], moved); err != nil {
		t.Fatal(err)
	}
	if err := c.DropNamespace(ctx, "web.eu"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	copyDatabase(t, dir, "copy.db", "moved.db")
	again := openAt(t, dir, "moved.db")
	for _, name := range []Name{names[0], moved} {
		if err := write(t, again, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	properties, err := again.NamespaceProperties(ctx, "default")
	if err != nil || len(properties) != 0 {
		t.Errorf("properties that are shown: %v, %v", properties, err)
	}
}

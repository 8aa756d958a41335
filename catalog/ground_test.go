package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/manifest"
)

// openLocal opens a catalog whose warehouse is a folder, as other clients see it.
func openLocal(t *testing.T) (c *Catalog, dir string) {
	t.Helper()
	dir = t.TempDir()
	c, err := Open(context.Background(), Options{URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, dir
}

// TestLayoutForOtherClients holds the database and the metadata to what pyiceberg, DuckDB, Spark and the Rust
// client need in order to open them.
func TestLayoutForOtherClients(t *testing.T) {
	ctx := context.Background()
	c, dir := openLocal(t)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var name, namespace, tableRow, at, previous, kind string
	err = db.QueryRow("SELECT catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location, iceberg_type FROM iceberg_tables").
		Scan(&name, &namespace, &tableRow, &at, &previous, &kind)
	if err != nil || name != "shardcat" || namespace != "default" || tableRow != "people" || kind != "TABLE" {
		t.Errorf("row %s %s %s %s: %v", name, namespace, tableRow, kind, err)
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM iceberg_namespace_properties WHERE catalog_name = 'shardcat' AND namespace = 'default'").Scan(&n); err != nil || n == 0 {
		t.Errorf("%d rows for the namespace, %v", n, err)
	}
	var mode string
	if err := db.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %s, %v", mode, err)
	}
	if ok, _ := regexp.MatchString(`^file:///.*/metadata/\d{5}-[0-9a-f-]{36}\.metadata\.json$`, at); !ok {
		t.Errorf("metadata file %s", at)
	}
	checkMetadata(t, at, previous)
	if _, err := os.Stat(filepath.Join(dir, "warehouse", "vault", tbl.UUID(), "_owner.json")); err != nil {
		t.Error(err)
	}
	if strings.HasPrefix(tbl.VaultFolder(), tbl.Location()) {
		t.Error("the vault lies below the table's location")
	}
}

func checkMetadata(t *testing.T, at, previous string) {
	t.Helper()
	text, err := os.ReadFile(strings.TrimPrefix(at, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Version int   `json:"format-version"`
		Current int64 `json:"current-snapshot-id"`
		Refs    map[string]struct {
			ID int64 `json:"snapshot-id"`
		}
		MetadataLog []struct {
			File string `json:"metadata-file"`
		} `json:"metadata-log"`
		SnapshotLog []struct {
			ID int64 `json:"snapshot-id"`
		} `json:"snapshot-log"`
		Snapshots []struct {
			Sequence int64 `json:"sequence-number"`
			Summary  map[string]string
		}
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if m.Version != 2 || m.Refs["main"].ID != m.Current || m.SnapshotLog[len(m.SnapshotLog)-1].ID != m.Current {
		t.Errorf("version %d, head %d, refs %v", m.Version, m.Current, m.Refs)
	}
	if last := m.MetadataLog[len(m.MetadataLog)-1].File; last != previous {
		t.Errorf("the metadata log ends with %s, the database says %s", last, previous)
	}
	seen := map[int64]bool{}
	for _, s := range m.Snapshots {
		if seen[s.Sequence] {
			t.Errorf("sequence number %d twice", s.Sequence)
		}
		seen[s.Sequence] = true
		for _, key := range []string{"total-records", "total-files-size", "total-data-files", "total-delete-files", "total-position-deletes", "total-equality-deletes"} {
			if s.Summary[key] == "" {
				t.Errorf("snapshot %d lacks %s", s.Sequence, key)
			}
		}
	}
}

// TestPrivateBoundsSurviveOtherWriters: iceberg-go rewrites the manifests, and entries are what they were.
func TestPrivateBoundsSurviveOtherWriters(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	for i := range 4 {
		ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
	}
	entries := func(tbl *Table) map[string]manifest.Entry {
		out := map[string]manifest.Entry{}
		for e, err := range tbl.Entries(ctx, At{}) {
			if err != nil {
				t.Fatal(err)
			}
			out[e.Path] = *e
		}
		return out
	}
	before := entries(tbl)
	tx := tbl.ice.NewTransaction()
	if _, err := tx.RewriteManifests(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	tbl = g.load(g.open(nil, nil))
	after := entries(tbl)
	if len(after) != 4 {
		t.Fatalf("%d entries", len(after))
	}
	for path, e := range before {
		a := after[path]
		if a.Private != e.Private || a.Records != e.Records || a.Format != "amudai" || a.Sequence != e.Sequence || !e.Created.Known() {
			t.Errorf("%s: %+v became %+v", path, e, a)
		}
	}
	ingest(t, tbl, IngestOptions{}, rows(40, 10))
	if d := tbl.Describe(); d.Shards != 5 || d.Records != 50 {
		t.Errorf("totals after another writer: %+v", d)
	}
}

// TestGroundUnderUs notices when an upgrade of iceberg-go changes what this package stands on.
func TestGroundUnderUs(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	t.Run("front doors refuse shards", func(t *testing.T) {
		f, err := fake(tbl, 1).DataFile(tbl.ice.Spec(), tbl.ice.Schema())
		if err != nil {
			t.Fatal(err)
		}
		if err := tbl.ice.NewTransaction().AddDataFiles(ctx, []iceberg.DataFile{f}, nil); err == nil {
			t.Error("AddDataFiles takes shards now: the snapshot producer might go")
		}
	})
	t.Run("a lost compare-and-swap is ErrCommitFailed, a failed requirement is not", func(t *testing.T) {
		stale := int64(7)
		_, _, err := c.ice.CommitTable(ctx, tableName.identifier(),
			[]table.Requirement{table.AssertRefSnapshotID("main", &stale)},
			[]table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{"x": "y"})})
		if err == nil || errors.Is(err, table.ErrCommitFailed) {
			t.Errorf("%v: commit.go need not validate requirements itself any more", err)
		}
	})
	t.Run("planning keeps the format", func(t *testing.T) {
		tasks, err := tbl.ice.Scan(table.WithRowFilter(iceberg.EqualTo(iceberg.Reference("id"), int64(3)))).PlanFiles(ctx)
		if err != nil || len(tasks) != 1 || tasks[0].File.FileFormat() != manifest.Format {
			t.Errorf("%v, %v", tasks, err)
		}
		tasks, err = tbl.ice.Scan(table.WithRowFilter(iceberg.EqualTo(iceberg.Reference("id"), int64(300)))).PlanFiles(ctx)
		if err != nil || len(tasks) != 0 {
			t.Errorf("iceberg-go does not prune by our bounds: %v, %v", tasks, err)
		}
	})
	t.Run("expiry of others is refused", func(t *testing.T) {
		if err := tbl.ice.NewTransaction().ExpireSnapshots(table.WithRetainLast(1)); err == nil {
			t.Error("gc.enabled=false holds nobody back")
		}
	})
}

// inDatabase runs a statement in the database of a catalog, which is SQLite's.
func inDatabase(t *testing.T, c *Catalog, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(c.opts.URI, "sqlite:")+"?_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatal(err)
	}
}

// TestVersionReadsNoMetadata: a catalog in a database names the state of a table without reading its metadata file.
func TestVersionReadsNoMetadata(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	c := g.open(nil, nil)
	version, err := c.Version(context.Background(), tableName)
	if err != nil || version != tbl.Version() {
		t.Errorf("version %s, %v, want %s", version, err, tbl.Version())
	}
	if n := c.MetadataCounters().Gets; n != 0 {
		t.Errorf("%d objects were read", n)
	}
}

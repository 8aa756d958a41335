package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// now collects without any delay: what nothing reaches is marked by the first run and gone after the second.
var now = CollectOptions{Execute: true, MinAge: 1, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1}

func collectTwice(ctx context.Context, t *Table) error {
	_, err := t.Collect(ctx, now)
	if err == nil {
		_, err = t.Collect(ctx, now)
	}
	return err
}

// localPath is the path of a file URL.
func localPath(url string) string { return strings.TrimPrefix(url, "file://") }

// edit changes a metadata file in place.
func edit(t *testing.T, at string, change func(map[string]any)) {
	t.Helper()
	file, err := os.ReadFile(localPath(at))
	if err == nil {
		err = os.WriteFile(localPath(at), edited(t, file, change), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// edited is a small metadata file with other members.
func edited(t *testing.T, file []byte, change func(map[string]any)) []byte {
	t.Helper()
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		t.Fatal(err)
	}
	change(members)
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCollectRefusesSharedFiles: another table that has a part in a table's folders, however it came to that, ends the
// collection of either before anything is marked.
func TestCollectRefusesSharedFiles(t *testing.T) {
	two := Name{"default", "two"}
	commit := func(t *testing.T, tbl *Table, updates ...table.Update) {
		t.Helper()
		if _, _, err := tbl.cat.ice.CommitTable(context.Background(), tbl.name.identifier(), nil, updates); err != nil {
			t.Fatal(err)
		}
	}
	for name, share := range map[string]func(t *testing.T, c *Catalog, one, other *Table) []Name{
		"registered under a second name by another engine": func(t *testing.T, c *Catalog, one, _ *Table) []Name {
			twin := Name{"default", "twin"}
			first := slices.Collect(one.ice.Metadata().PreviousFiles())[0].MetadataFile
			if _, err := c.registrar.RegisterTable(context.Background(), twin.identifier(), first); err != nil {
				t.Fatal(err)
			}
			return []Name{one.name, twin}
		},
		"registered in another catalog of the database": func(t *testing.T, c *Catalog, one, _ *Table) []Name {
			first := slices.Collect(one.ice.Metadata().PreviousFiles())[0].MetadataFile
			inDatabase(t, c, "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES ('spark', 'default', 'people', ?)", first)
			return []Name{one.name}
		},
		"location set to another table's": func(t *testing.T, _ *Catalog, one, other *Table) []Name {
			commit(t, one, table.NewSetLocationUpdate(other.Location()))
			return []Name{one.name, two}
		},
		"location of another table by another spelling": func(t *testing.T, _ *Catalog, one, other *Table) []Name {
			commit(t, one, table.NewSetLocationUpdate(strings.Replace(other.Location(), "file:///", "file:/", 1)+"/"))
			return []Name{one.name, two}
		},
		"metadata written to another table's folder": func(t *testing.T, _ *Catalog, one, other *Table) []Name {
			commit(t, one, table.NewSetPropertiesUpdate(iceberg.Properties{table.WriteMetadataPathKey: other.Location() + "/metadata"}))
			return []Name{two}
		},
		"linked metadata folder": func(t *testing.T, _ *Catalog, one, other *Table) []Name {
			folder := filepath.Join(localPath(one.Location()), "metadata")
			files, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if err := os.Rename(filepath.Join(folder, f.Name()), filepath.Join(localPath(other.Location()), "metadata", f.Name())); err != nil {
					t.Fatal(err)
				}
			}
			if err = os.Remove(folder); err == nil {
				err = os.Symlink(filepath.Join(localPath(other.Location()), "metadata"), folder)
			}
			if err != nil {
				t.Fatal(err)
			}
			return []Name{one.name, two}
		},
		"linked metadata folder of a table that the catalog does not show": func(t *testing.T, c *Catalog, one, other *Table) []Name {
			files, err := os.ReadDir(filepath.Join(localPath(other.Location()), "metadata"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if err := os.Link(filepath.Join(localPath(other.Location()), "metadata", f.Name()), filepath.Join(localPath(one.Location()), "metadata", f.Name())); err != nil {
					t.Fatal(err)
				}
			}
			inDatabase(t, c, "UPDATE iceberg_tables SET catalog_name = 'gone', metadata_location = NULL WHERE table_name = 'two'")
			return []Name{one.name}
		},
		"UUID of another table": func(t *testing.T, _ *Catalog, one, other *Table) []Name {
			edit(t, one.MetadataLocation(), func(m map[string]any) { m["table-uuid"] = other.UUID() })
			return []Name{one.name, two}
		},
		"entries of another table": func(t *testing.T, _ *Catalog, one, other *Table) []Name {
			theirs := other.ice.Metadata().CurrentSnapshot()
			edit(t, one.MetadataLocation(), func(m map[string]any) {
				mine := m["snapshots"].([]any)[0].(map[string]any)
				mine["manifest-list"] = theirs.ManifestList
				for key, value := range theirs.Summary.Properties {
					mine["summary"].(map[string]any)[key] = value
				}
			})
			return []Name{one.name}
		},
		"vault folder adopted by another table": func(t *testing.T, _ *Catalog, one, other *Table) []Name {
			commit(t, one, table.NewSetPropertiesUpdate(iceberg.Properties{AdoptedProperty: `["` + other.VaultFolder() + `"]`}))
			return []Name{two}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			c, _ := openLocal(t)
			var tables []*Table
			for i, n := range []Name{tableName, two} {
				tbl, err := c.Create(ctx, n, CreateOptions{Schema: people(), CreateNamespace: true})
				if err != nil {
					t.Fatal(err)
				}
				ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
				tables = append(tables, tbl)
			}
			before := allFiles(t, localPath(c.warehouse))
			refused := share(t, c, tables[0], tables[1])
			for _, n := range refused {
				tbl, err := c.Load(ctx, n)
				if err != nil {
					t.Fatal(err)
				}
				if err := collectTwice(ctx, tbl); !errors.Is(err, ErrUnsafe) {
					t.Errorf("collecting %s: %v", n, err)
				}
			}
			for _, name := range before {
				if _, err := os.Stat(name); err != nil && !strings.Contains(name, "/metadata/") { // a test moves metadata
					t.Errorf("%s is gone: %v", name, err)
				}
			}
		})
	}
}

func allFiles(t *testing.T, folder string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A table that only lies in the same warehouse keeps nobody from collecting, broken or not.
func TestCollectBesideOtherTables(t *testing.T) {
	ctx := context.Background()
	c, _ := openLocal(t)
	var tables []*Table
	for i, n := range []Name{tableName, {"default", "two"}, {"other", "people"}} {
		tbl, err := c.Create(ctx, n, CreateOptions{Schema: people(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
		tables = append(tables, tbl)
	}
	if err := os.WriteFile(localPath(tables[1].MetadataLocation()), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(localPath(tables[2].MetadataLocation())); err != nil {
		t.Fatal(err)
	}
	if err := collectTwice(ctx, tables[0]); err != nil {
		t.Error(err)
	}
	if ids, _ := scanIDs(t, tables[0], ScanOptions{}); len(ids) != 10 {
		t.Errorf("%d rows", len(ids))
	}
}

// TestRecoverRefusesASecondName: the table stands under its name already; nothing is changed by the attempt.
func TestRecoverRefusesASecondName(t *testing.T) {
	ctx := context.Background()
	c, dir := openLocal(t)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	first := slices.Collect(tbl.ice.Metadata().PreviousFiles())[0].MetadataFile
	if _, err := c.Recover(ctx, first, RecoverOptions{As: Name{"fresh", "twin"}}); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "default.people") {
		t.Errorf("a second name: %v", err)
	}
	if _, err := c.Recover(ctx, first, RecoverOptions{As: tableName}); !errors.Is(err, ErrExists) {
		t.Errorf("the same name: %v", err)
	}
	if namespaces, err := c.Namespaces(ctx); err != nil || slices.Contains(namespaces, "fresh") {
		t.Errorf("namespaces %v, %v", namespaces, err)
	}
	// Another catalog over the same warehouse: its recovery is refused before it has a table.
	other, err := Open(ctx, Options{URI: "sqlite:" + filepath.Join(dir, "other.db"), Warehouse: filepath.Join(dir, "warehouse")})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Recover(ctx, tbl.MetadataLocation(), RecoverOptions{As: tableName}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("another catalog's table: %v", err)
	}
	if names, err := other.Tables(ctx, ""); err != nil || len(names) != 0 {
		t.Errorf("tables after the refusal: %v, %v", names, err)
	}
}

// TestFlippedMetadata flips a bit of every second byte of a table's metadata file from its snapshots on. Whatever the flip states, no
// row is missing without an error, and no shard is deleted.
func TestFlippedMetadata(t *testing.T) {
	ctx := context.Background()
	c, _ := openLocal(t)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	at := localPath(tbl.MetadataLocation())
	intact, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	shards := objectsOf(t, tbl)
	live, err := tbl.reachable(ctx, &openJobs{})
	if err != nil {
		t.Fatal(err)
	}
	read, refused := 0, 0
	start := strings.Index(string(intact), `"current-snapshot-id"`)
	for i := max(0, start); i < len(intact); i += 2 {
		for _, bit := range []int{i % 5} { // 0 to 4 turn a letter or digit into another one
			flipped := slices.Clone(intact)
			flipped[i] ^= 1 << bit
			if err := os.WriteFile(at, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			broken, err := c.Load(ctx, tableName)
			if err != nil {
				refused++
				continue
			}
			if broken.Head() == tbl.Head() {
				records := int64(0)
				for e, entryErr := range broken.Entries(ctx, At{}) {
					if err = entryErr; err != nil {
						break
					}
					records += e.Records
				}
				if err == nil && records != 20 {
					t.Errorf("%d.%d (…%s…): %d rows", i, bit, flipped[max(0, i-20):min(i+20, len(flipped))], records)
				}
			}
			if err = broken.checkMembers(ctx); err == nil {
				var l *gc.Live
				l, err = broken.reachable(ctx, &openJobs{})
				if err == nil && broken.UUID() == tbl.UUID() {
					for _, url := range live.Objects() {
						if strings.HasPrefix(url, tbl.VaultFolder()) && !l.Has(url) {
							t.Fatalf("%d.%d (…%s…): %s is not reached", i, bit, flipped[max(0, i-20):min(i+20, len(flipped))], url)
						}
					}
				}
			}
			if read++; err != nil {
				refused++
			}
		}
	}
	if read == 0 || refused == 0 {
		t.Errorf("%d of %d flips read, %d refused", read, (len(intact)-start)/2, refused)
	}
	if got := objectsOf(t, tbl); !slices.Equal(got, shards) {
		t.Errorf("%v\nbecame\n%v", shards, got)
	}
}

// TestSnapshotsNeedTheirLists: a snapshot without a manifest list, or with one that lost entries, is corrupt to readers,
// writers and collection alike.
func TestSnapshotsNeedTheirLists(t *testing.T) {
	first := func(m map[string]any) map[string]any { return m["snapshots"].([]any)[0].(map[string]any) }
	for name, damage := range map[string]struct {
		do    func(m map[string]any)
		reads bool
	}{
		"no list": {func(m map[string]any) { s := first(m); delete(s, "manifest-list") }, false},
		"name of the list": {func(m map[string]any) {
			s := first(m)
			s["manifest-lisu"] = s["manifest-list"]
			delete(s, "manifest-list")
		}, false},
		"empty list": {func(m map[string]any) { first(m)["manifest-list"] = "" }, false},
		"manifests of version 1": {func(m map[string]any) {
			s := first(m)
			s["manifests"] = []any{}
			delete(s, "manifest-list")
		}, false},
		"no summary":                      {func(m map[string]any) { delete(first(m), "summary") }, true},
		"summary of more":                 {func(m map[string]any) { first(m)["summary"].(map[string]any)["total-records"] = "11" }, true},
		"summary of none":                 {func(m map[string]any) { delete(first(m)["summary"].(map[string]any), "total-data-files") }, true},
		"an unknown member":               {func(m map[string]any) { m["snapshott"] = []any{} }, true},
		"an unknown member of a snapshot": {func(m map[string]any) { first(m)["manifest-lists"] = []any{} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			c, _ := openLocal(t)
			tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
			if err != nil {
				t.Fatal(err)
			}
			ingest(t, tbl, IngestOptions{}, rows(0, 10))
			shards := objectsOf(t, tbl)
			edit(t, tbl.MetadataLocation(), damage.do)
			if tbl, err = c.Load(ctx, tableName); err != nil {
				t.Fatal(err)
			}
			n := 0
			for b, scanErr := range tbl.Scan(ctx, ScanOptions{}, nil) {
				if err = scanErr; err == nil {
					n += int(b.NumRows())
				}
			}
			if damage.reads != (err == nil) || damage.reads && n != 10 || !damage.reads && !errors.Is(err, corrupt.ErrCorrupt) {
				t.Errorf("scan: %d rows, %v", n, err)
			}
			if _, err := tbl.Ingest(ctx, source(rows(10, 1)), IngestOptions{}); damage.reads != (err == nil) {
				t.Errorf("ingest: %v", err)
			}
			if tbl, err = c.Load(ctx, tableName); err != nil {
				t.Fatal(err)
			}
			if damage.reads && name[:2] == "an" { // a commit writes members that Iceberg knows
				edit(t, tbl.MetadataLocation(), damage.do)
			}
			if err := collectTwice(ctx, tbl); !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
				t.Errorf("collect: %v", err)
			}
			if v, err := tbl.Verify(ctx, VerifyOptions{}); err != nil || v.OK && !strings.HasPrefix(name, "an unknown") {
				t.Errorf("verify: %+v, %v", v, err)
			}
			for _, s := range shards {
				if !slices.Contains(objectsOf(t, tbl), s) {
					t.Errorf("%s is gone", s)
				}
			}
		})
	}
}

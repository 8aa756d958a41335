package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// All tests of this package scan with memory that is spoiled when scans or batches give it back.
func init() { bufpool.Spoil(0xA5) }

// served is a catalog that the suite runs on, and a namespace of this run there.
type served struct {
	kind, uri, warehouse, namespace string
}

// catalogs are those that there are: SHARDCAT_POSTGRES (.ci/postgres) names a database, SHARDCAT_REST and
// SHARDCAT_REST_WAREHOUSE a server of Iceberg's REST protocol and its folder (.ci/rest).
func catalogs(t *testing.T) []*served {
	dir := t.TempDir()
	namespace := fmt.Sprintf("suite%08x", rand.Uint32())
	out := []*served{{"sqlite", "sqlite:" + filepath.Join(dir, "catalog.db"), filepath.Join(dir, "warehouse"), namespace}}
	if uri := os.Getenv("SHARDCAT_POSTGRES"); uri != "" {
		out = append(out, &served{"postgres", uri, filepath.Join(dir, "postgres"), namespace})
	} else {
		t.Log("SHARDCAT_POSTGRES names no database: the suite is not run on PostgreSQL")
	}
	if uri := os.Getenv("SHARDCAT_REST"); uri != "" {
		out = append(out, &served{"rest", uri, os.Getenv("SHARDCAT_REST_WAREHOUSE"), namespace})
	} else {
		t.Log("SHARDCAT_REST names no server: the suite is not run on a REST catalog")
	}
	return out
}

func (s *served) open(t *testing.T) *Catalog {
	t.Helper()
	c, err := Open(context.Background(), Options{URI: s.uri, Warehouse: s.warehouse})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *served) name(table string) Name { return Name{s.namespace, table} }

func (s *served) create(t *testing.T, c *Catalog, table string, partition ...string) *Table {
	t.Helper()
	tbl, err := c.Create(context.Background(), s.name(table), CreateOptions{Schema: people(), CreateNamespace: true, Partition: partition})
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// load reopens the table, as another program would.
func (s *served) load(t *testing.T, table string) *Table {
	t.Helper()
	tbl, err := s.open(t).Load(context.Background(), s.name(table))
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// holds compares the ids of a table, as another program reads them.
func (s *served) holds(t *testing.T, table string, want []int64) {
	t.Helper()
	tbl := s.load(t, table)
	if counted(t, tbl) != int64(len(want)) {
		t.Errorf("not %d rows", len(want))
	}
	if got, _ := scanIDs(t, tbl, ScanOptions{}); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}

// TestCatalogs asks the same of every kind of catalog.
func TestCatalogs(t *testing.T) {
	for _, s := range catalogs(t) {
		t.Run(s.kind, func(t *testing.T) {
			t.Run("namespaces", s.namespaces)
			t.Run("rows", s.rows)
			t.Run("writers", s.writers)
			t.Run("columns", s.columns)
			t.Run("refs", s.refs)
			t.Run("old", s.old)
			t.Run("names", s.names)
			t.Run("engines", s.engines)
		})
	}
}

func (s *served) namespaces(t *testing.T) {
	c, ctx := s.open(t), context.Background()
	other := s.namespace + "b"
	for _, ns := range []string{s.namespace, other} {
		if err := c.CreateNamespace(ctx, ns); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CreateNamespace(ctx, other); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	if all, err := c.Namespaces(ctx); err != nil || !slices.Contains(all, s.namespace) || !slices.Contains(all, other) {
		t.Errorf("namespaces %v, %v", all, err)
	}
	if err := c.SetNamespaceProperties(ctx, other, map[string]string{"owner": "ops", "area": "eu"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.SetNamespaceProperties(ctx, other, map[string]string{"owner": "data"}, []string{"area"}); err != nil {
		t.Fatal(err)
	}
	properties, err := s.open(t).NamespaceProperties(ctx, other)
	if err != nil || properties["owner"] != "data" || properties["area"] != "" {
		t.Errorf("properties %v, %v", properties, err)
	}
	if _, err := c.Create(ctx, Name{other, "t"}, CreateOptions{Schema: people()}); err != nil {
		t.Fatal(err)
	}
	if err := c.DropNamespace(ctx, other); err == nil {
		t.Error("a namespace that holds a table was dropped")
	}
	if err := c.Drop(ctx, Name{other, "t"}); err != nil {
		t.Fatal(err)
	}
	if err := c.DropNamespace(ctx, other); err != nil {
		t.Error(err)
	}
	if err := c.DropNamespace(ctx, other); !errors.Is(err, ErrNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
	if _, err := c.Create(ctx, Name{other, "t"}, CreateOptions{Schema: people()}); !errors.Is(err, ErrNotFound) {
		t.Errorf("created in a namespace that is not there: %v", err)
	}
}

func (s *served) rows(t *testing.T) {
	c, ctx := s.open(t), context.Background()
	tbl := s.create(t, c, "rows", "day(ts)")
	if _, err := c.Create(ctx, s.name("rows"), CreateOptions{Schema: people()}); !errors.Is(err, ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	ingest(t, tbl, IngestOptions{ShardRows: 10, JobID: "first"}, rows(0, 30))
	ingest(t, s.load(t, "rows"), IngestOptions{JobID: "first"}, rows(0, 30))
	s.holds(t, "rows", between(0, 30))
	for e, err := range s.load(t, "rows").Entries(ctx, At{}) {
		if err != nil || e.Stripes != 1 || !e.Created.Known() {
			t.Errorf("private values: %+v, %v", e.Private, err)
		}
	}
	tbl = s.load(t, "rows")
	remove(t, tbl, "id < 5 or id = 12")
	gone := func(id int64) bool { return id < 5 || id == 12 }
	s.holds(t, "rows", without(between(0, 30), gone))
	src := source(rows(100, 3))
	if _, err := s.load(t, "rows").Overwrite(ctx, where(t, "id >= 20"), src, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	want := append(without(between(0, 20), gone), 100, 101, 102)
	s.holds(t, "rows", want)
	verifyAll(t, s.load(t, "rows"))
	if d, err := s.load(t, "rows").Truncate(ctx, DeleteOptions{}); err != nil || d.Rows != int64(len(want)) {
		t.Errorf("truncated %+v, %v", d, err)
	}
	s.holds(t, "rows", []int64{})
}

// writers race, one with an old head among them.
func (s *served) writers(t *testing.T) {
	s.create(t, s.open(t), "writers")
	stale := s.load(t, "writers")
	var all sync.WaitGroup
	for w := range 4 {
		tbl := s.load(t, "writers")
		all.Go(func() {
			for i := range 3 {
				ingest(t, tbl, IngestOptions{}, rows(100*w+10*i, 10))
			}
		})
	}
	all.Wait()
	ingest(t, stale, IngestOptions{}, rows(1000, 5))
	want := slices.Concat(between(0, 30), between(100, 130), between(200, 230), between(300, 330), between(1000, 1005))
	s.holds(t, "writers", want)
}

func (s *served) columns(t *testing.T) {
	ctx := context.Background()
	tbl := s.create(t, s.open(t), "columns")
	ingest(t, tbl, IngestOptions{}, rows(0, 4))
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change(tbl.AddColumn(ctx, "note", typed(t, "string")))
	change(tbl.RenameColumn(ctx, "small", "little"))
	change(tbl.WidenColumn(ctx, "little", typed(t, "int32")))
	change(tbl.MoveColumn(ctx, "note", "id"))
	change(tbl.CommentColumn(ctx, "note", "what was said"))
	change(tbl.RequireColumn(ctx, "id"))
	change(tbl.DropColumn(ctx, "tags"))
	change(tbl.Repartition(ctx, []string{"bucket(4, id)"}))
	change(tbl.SetProperties(ctx, map[string]string{"owner": "ops"}, nil))
	tbl = s.load(t, "columns")
	var names []string
	for _, f := range tbl.Schema().Fields {
		names = append(names, f.Name)
	}
	if strings.Join(names, " ") != "id note ts little" || tbl.Schema().Fields[0].Nullable || tbl.Schema().Fields[3].Basic != schema.Int32 {
		t.Errorf("columns %v of %v", names, tbl.Schema())
	}
	if got := tbl.Properties()["owner"]; got != "ops" {
		t.Errorf("owner %q", got)
	}
	oneShard(t, tbl, "id: int64, note: string, ts: datetime, little: int32", `[{"id":9,"note":"n","little":70000}]`)
	got := scanText(t, s.load(t, "columns"), ScanOptions{Where: where(t, "id = 9 or id = 1"), Select: []string{"id", "note", "little"}})
	if slices.Sort(got); strings.Join(got, ", ") != "id=1 note=(null) little=1, id=9 note=n little=70000" {
		t.Errorf("rows %v", got)
	}
}

func (s *served) refs(t *testing.T) {
	ctx := context.Background()
	tbl := s.create(t, s.open(t), "refs")
	ingest(t, tbl, IngestOptions{}, rows(0, 3))
	first := tbl.Head()
	must := func(_ *Ref, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(tbl.CreateTag(ctx, "start", first))
	must(tbl.CreateBranch(ctx, "audit", first))
	ingest(t, tbl, IngestOptions{Ref: "audit"}, rows(3, 3))
	s.holds(t, "refs", between(0, 3))
	tbl = s.load(t, "refs")
	if ids, _ := scanIDs(t, tbl, ScanOptions{At: At{Ref: "audit"}}); len(ids) != 6 {
		t.Errorf("%d rows on the branch", len(ids))
	}
	must(tbl.FastForward(ctx, "main", At{Ref: "audit"}))
	s.holds(t, "refs", between(0, 6))
	if err := tbl.DropRef(ctx, "audit"); err != nil {
		t.Fatal(err)
	}
	if err := tbl.Rollback(ctx, first); err != nil {
		t.Fatal(err)
	}
	s.holds(t, "refs", between(0, 3))
	names := []string{}
	for _, r := range s.load(t, "refs").Refs() {
		names = append(names, r.Name+" "+r.Type)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"main branch", "start tag"}) {
		t.Errorf("refs %v", names)
	}
}

// old snapshots go, and what nothing refers to with them.
func (s *served) old(t *testing.T) {
	ctx := context.Background()
	tbl := s.create(t, s.open(t), "old")
	for i := range 3 {
		ingest(t, tbl, IngestOptions{}, rows(10*i, 10))
	}
	remove(t, tbl, "id < 10")
	expireNow(t, tbl)
	tbl = s.load(t, "old")
	if n := len(tbl.History()); n != 1 {
		t.Errorf("%d snapshots are left", n)
	}
	marked, err := tbl.Collect(ctx, atOnceOptions)
	if err != nil || len(marked.Mark) == 0 {
		t.Fatalf("marked %+v, %v", marked, err)
	}
	if swept, err := tbl.Collect(ctx, atOnceOptions); err != nil || swept.Deleted != len(marked.Mark) {
		t.Fatalf("of %d objects %+v, %v", len(marked.Mark), swept, err)
	}
	s.holds(t, "old", between(10, 30))
	if v, err := s.load(t, "old").Verify(ctx, VerifyOptions{}); err != nil || len(v.Errors) != 0 {
		t.Errorf("verified: %+v, %v", v, err)
	}
}

// atOnceOptions collect without waiting; nobody else writes.
var atOnceOptions = CollectOptions{Execute: true, MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1}

func (s *served) names(t *testing.T) {
	c, ctx := s.open(t), context.Background()
	tbl := s.create(t, c, "before")
	ingest(t, tbl, IngestOptions{}, rows(0, 3))
	if _, err := c.Rename(ctx, s.name("before"), s.name("after")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.open(t).Load(ctx, s.name("before")); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old name: %v", err)
	}
	s.holds(t, "after", between(0, 3))
	ingest(t, s.load(t, "after"), IngestOptions{}, rows(3, 3))
	if _, err := c.Rename(ctx, s.name("after"), s.name("rows")); !errors.Is(err, ErrExists) {
		t.Errorf("renamed onto another: %v", err)
	}
	if all, err := c.Tables(ctx, s.namespace); err != nil || !slices.Contains(all, s.name("after")) || slices.Contains(all, s.name("before")) {
		t.Errorf("tables %v, %v", all, err)
	}
	at := s.load(t, "after").MetadataLocation()
	if err := c.Drop(ctx, s.name("after")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.open(t).Load(ctx, s.name("after")); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the drop: %v", err)
	}
	if _, err := c.Recover(ctx, at, RecoverOptions{As: s.name("again")}); err != nil {
		t.Fatal(err)
	}
	s.holds(t, "again", between(0, 6))
	ingest(t, s.load(t, "again"), IngestOptions{}, rows(6, 3))
	s.holds(t, "again", between(0, 9))
}

// engines are pyiceberg and DuckDB's Iceberg extension, by the Python of SHARDCAT_PYICEBERG.
func (s *served) engines(t *testing.T) {
	python := os.Getenv("SHARDCAT_PYICEBERG")
	if python == "" {
		t.Skip("SHARDCAT_PYICEBERG does not name a Python with pyiceberg and duckdb: what other engines see is not tried")
	}
	tbl := s.create(t, s.open(t), "engines", "day(ts)")
	ingest(t, tbl, IngestOptions{}, rows(0, 30))
	ingest(t, tbl, IngestOptions{}, rows(30, 10))
	remove(t, tbl, "id = 3")
	id, err := schema.Parse("id: Int64")
	if err != nil {
		t.Fatal(err)
	}
	harmed, err := s.open(t).Create(context.Background(), s.name("harmed"), CreateOptions{Schema: id, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	oneShard(t, harmed, "id: Int64", `[{"id":7}]`)
	check := exec.Command(python, "testdata/engines_check.py", s.kind, s.uri, s.warehouse, s.namespace, s.load(t, "engines").MetadataLocation())
	var complaints strings.Builder
	check.Stderr = &complaints
	out, err := check.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var seen map[string]map[string]string
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for engine, want := range map[string]map[string]string{
		"pyiceberg": {"snapshots": "append append overwrite", "records": "39", "types": "long timestamptz int list<string>", "history": "3", "refs": "main",
			"refusal": "'amudai' is not a valid FileFormat", "refusal of files": "amudai", "refusal of entries": "amudai", "refusal of partitions": "amudai"},
		"duckdb": {"snapshots": "3", "columns": "id small tags ts", "entries": "39", "refusal": "File format 'amudai' not supported", "pruned": "[]"},
		"harm":   {"changed": "True", "refusal of add_files": "amudai"},
	} {
		for what, value := range want {
			if !strings.Contains(seen[engine][what], value) {
				t.Errorf("%s: %s is %q, want %q", engine, what, seen[engine][what], value)
			}
		}
		for _, what := range slices.Sorted(maps.Keys(seen[engine])) {
			t.Logf("%s: %s: %s", engine, what, seen[engine][what])
		}
	}
	if seen["harm"]["refusal of append"] != "" {
		t.Errorf("pyiceberg's append is refused now, docs/guides/iceberg.md is out of date: %s", seen["harm"]["refusal of append"])
	}
	for _, err := range s.load(t, "harmed").Scan(context.Background(), ScanOptions{}, nil) {
		if err == nil {
			continue
		}
		if !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), "PARQUET") {
			t.Errorf("the table that Parquet was added to: %v", err)
		}
		return
	}
	t.Error("the table that Parquet was added to is read as if nothing were")
}

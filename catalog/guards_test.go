package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestFailAfterTheCommitWasSent: whatever fails then, nothing that the job wrote may be deleted.
func TestFailAfterTheCommitWasSent(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	g.create(g.open(nil, nil))
	lost := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog {
		return &commitFunc{ice, func(func() error) error { return errors.New("connection reset") }}
	})
	tbl := g.load(lost)
	object := tbl.VaultFolder() + "fake-1.amudai.shard"
	if err := lost.client.Put(ctx, object, []byte("root")); err != nil {
		t.Fatal(err)
	}
	j, _, err := tbl.BeginJob(ctx, JobAppend, "job", nil, anything(tbl))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(ctx, []*manifest.Entry{fake(tbl, 1)}); !errors.Is(err, ErrUnknownOutcome) {
		t.Fatalf("outcome: %v", err)
	}
	j.Fail(ctx, []string{object})
	if _, err := lost.client.Stat(ctx, object); err != nil {
		t.Errorf("an object of a commit whose outcome is unknown: %v", err)
	}
	if _, err := lost.client.Stat(ctx, j.at(".closed.json")); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("the job was closed: %v", err)
	}
	// A job that has sent nothing does clean up.
	other, _, err := tbl.BeginJob(ctx, JobAppend, "other", nil, anything(tbl))
	if err != nil {
		t.Fatal(err)
	}
	other.Fail(ctx, []string{object})
	if _, err := lost.client.Stat(ctx, object); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("an object of a job that failed before its commit: %v", err)
	}
}

func TestRegisterLooksForTombstones(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	out := ingest(t, tbl, IngestOptions{}, rows(0, 10))
	// The shard leaves the table, collection marks it, and somebody wants it back.
	j, _, err := tbl.BeginJob(ctx, JobCompact, "", out.Shards, anything(tbl))
	if err != nil {
		t.Fatal(err)
	}
	other := fake(tbl, 5)
	other.Records = 10
	if _, err := j.Replace(ctx, out.Shards, []*manifest.Entry{other}); err != nil {
		t.Fatal(err)
	}
	mark := fmt.Sprintf(`{"version":1,"objects":[{"path":%q}]}`, out.Shards[0])
	if err := tbl.cat.client.Put(ctx, tbl.VaultFolder()+"_gc/run-1.json", []byte(mark)); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Register(ctx, out.Shards, RegisterOptions{}); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "run-1") {
		t.Errorf("a shard that is about to be deleted was registered: %v", err)
	}
}

// TestRecreatedTable: a table that was dropped and recreated under its name is another one, to whoever held it.
func TestRecreatedTable(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	held := g.create(g.open(nil, nil))
	c := g.open(nil, nil)
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	g.create(c)
	if err := held.Refresh(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("refresh: %v", err)
	}
	if _, err := appendFake(held, "", 1); !errors.Is(err, ErrConflict) {
		t.Errorf("append: %v", err)
	}
	if got := live(t, g.load(c)); len(got) != 0 {
		t.Errorf("the new table holds %v", got)
	}
}

// TestClocks: whatever the clock does, snapshots of a branch never run backwards.
func TestClocks(t *testing.T) {
	g := newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	now := time.Now()
	for i, d := range []time.Duration{0, time.Hour, -time.Hour, -48 * time.Hour, time.Minute} {
		c.opts.Now = func() time.Time { return now.Add(d) }
		if _, err := appendFake(tbl, "", i); err != nil {
			t.Fatal(err)
		}
	}
	h := tbl.History()
	for i := 1; i < len(h); i++ {
		if h[i].Time.Before(h[i-1].Time) {
			t.Errorf("snapshot %d is of %s, the one before of %s", i, h[i].Time, h[i-1].Time)
		}
	}
	if len(h) != 5 {
		t.Errorf("%d snapshots", len(h))
	}
}

// TestClockAhead: a commit by a process whose clock is ahead keeps nobody from changing the table: what changes metadata alone goes along with a
// snapshot that changes no row. Where there is nothing to go along with, it is refused plainly, for nothing was sent.
func TestClockAhead(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	now := c.opts.Now
	ahead := func() time.Time { return now().Add(time.Hour) }
	c.opts.Now = ahead
	for i := range 2 {
		if _, err := appendFake(tbl, "", i); err != nil {
			t.Fatal(err)
		}
	}
	c.opts.Now = now
	before := tbl.Describe().Records
	p, err := tbl.PlanExpire(ExpireOptions{OlderThan: now().Add(2 * time.Hour)})
	if err != nil || len(p.Snapshots) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	wider, err := schema.Parse("later: Int64")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"expiry", func() error { return p.Execute(ctx) }},
		{"property", func() error { return tbl.SetProperties(ctx, map[string]string{"a": "b"}, nil) }},
		{"column", func() error { return tbl.AddColumns(ctx, wider) }},
		{"name", func() error { return tbl.RenameColumn(ctx, "later", "sooner") }},
		{"tag", func() error { _, err := tbl.CreateTag(ctx, "now", 0); return err }},
		{"append", func() error { _, err := appendFake(tbl, "", 2); return err }},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
	}
	again := g.load(g.open(nil, nil))
	if _, err := again.Schema().Lookup("sooner"); err != nil || again.Properties()["a"] != "b" {
		t.Errorf("%v, %v", again.Properties(), err)
	}
	h := again.History()
	for i := range h[1:] {
		if h[i+1].Time.Before(h[i].Time) || h[i+1].Sequence <= h[i].Sequence {
			t.Errorf("the history runs backwards: %+v", h)
		}
	}
	if again.Describe().Records <= before || again.Describe().Shards != 3 {
		t.Errorf("%+v", again.Describe())
	}
}

// TestRecordsOfLaterVersions: what a later version wrote may say things that matter, so it is not passed over.
func TestRecordsOfLaterVersions(t *testing.T) {
	ctx := context.Background()
	for _, record := range []string{"_owner.json", "_jobs/job.closed.json"} {
		g := newGround(t)
		tbl := g.create(g.open(nil, nil))
		if _, err := appendFake(tbl, "", 0); err != nil {
			t.Fatal(err)
		}
		at := tbl.VaultFolder() + record
		if err := tbl.cat.client.Delete(ctx, at, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			t.Fatal(err)
		}
		later, err := json.Marshal(map[string]any{"version": records.Version + 1, "table_uuid": tbl.UUID(), "catalog": tbl.cat.identity})
		if err != nil {
			t.Fatal(err)
		}
		for at, text := range map[string][]byte{at: later, tbl.VaultFolder() + "_jobs/job.json": []byte(`{"version":1}`)} {
			if err := tbl.cat.client.Put(ctx, at, text); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := appendFake(tbl, "job", 1); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s of a later version: %v", record, err)
		}
	}
}

// TestOtherVault: a table's shards lie in one vault; another one is refused before the first byte.
func TestOtherVault(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	g.create(c)
	ingest(t, g.load(c), IngestOptions{}, rows(0, 10))
	other := g.open(nil, nil)
	other.vault = "mem://" + g.bucket + "/elsewhere"
	tbl := g.load(other)
	before := other.client.Counters()
	if _, err := tbl.Ingest(ctx, source(rows(0, 10)), IngestOptions{}); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), c.vault) {
		t.Errorf("ingest: %v", err)
	}
	for _, err := range tbl.Scan(ctx, ScanOptions{}, nil) {
		if !errors.Is(err, ErrUnsafe) {
			t.Errorf("scan: %v", err)
		}
	}
	if io := other.client.Counters().Sub(before); io.Puts != 0 || io.Gets != 0 {
		t.Errorf("requests: %+v", io)
	}
	// A table of an earlier version gets the record with its next commit.
	old := g.load(c)
	if err := old.cat.commitUpdates(ctx, old, table.NewRemovePropertiesUpdate([]string{vaultProperty})); err != nil {
		t.Fatal(err)
	}
	old = g.load(c)
	if _, err := appendFake(old, "", 1); err != nil || old.Properties()[vaultProperty] != c.vault {
		t.Errorf("vault %q, %v", old.Properties()[vaultProperty], err)
	}
}

// commitUpdates changes a table as another engine would.
func (c *Catalog) commitUpdates(ctx context.Context, t *Table, updates ...table.Update) error {
	_, _, err := c.ice.CommitTable(ctx, t.name.identifier(), nil, updates)
	return err
}

// foreign makes a table as another engine would.
func (g *ground) foreign(c *Catalog, version string, fields ...iceberg.NestedField) *Table {
	g.t.Helper()
	ctx := context.Background()
	if err := c.CreateNamespace(ctx, tableName.Namespace); err != nil {
		g.t.Fatal(err)
	}
	_, err := c.ice.CreateTable(ctx, tableName.identifier(), iceberg.NewSchema(0, fields...),
		icecatalog.WithProperties(iceberg.Properties{"format-version": version}), icecatalog.WithLocation(c.newLocation(tableName)))
	if err != nil {
		g.t.Fatal(err)
	}
	return g.load(c)
}

func idField() iceberg.NestedField {
	return iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64}
}

// TestTablesOfOtherEngines: an empty one becomes a table of shards with all that belongs to it; one with data is
// refused.
func TestTablesOfOtherEngines(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.foreign(c, "2", idField())
	if _, err := appendFake(tbl, "", 1); err != nil {
		t.Fatal(err)
	}
	for key, want := range c.settings() {
		if got := tbl.Properties()[key]; got != want && key != "format-version" {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	g = newGround(t)
	c = g.open(nil, nil)
	tbl = g.foreign(c, "2", idField())
	appendParquet(t, tbl)
	if _, err := appendFake(tbl, "", 1); !errors.Is(err, ErrUnsafe) {
		t.Errorf("shards beside Parquet: %v", err)
	}
	if _, err := tbl.Register(ctx, []string{"mem://x/y.amudai.shard"}, RegisterOptions{}); err == nil {
		t.Error("a shard was registered beside Parquet")
	}
}

// appendParquet commits a data file of another engine, which no object backs.
func appendParquet(t *testing.T, tbl *Table) {
	t.Helper()
	spec := tbl.ice.Spec()
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, tbl.Location()+"/data/x.parquet", iceberg.ParquetFile, nil, nil, nil, 5, 100)
	if err != nil {
		t.Fatal(err)
	}
	tx := tbl.ice.NewTransaction()
	if err := tx.NewRowDelta(nil).AddRows(b.Build()).Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := tbl.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestForeignFeatures: what shards don't have blocks what needs it, and nothing else.
func TestForeignFeatures(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.foreign(c, "2", idField(), iceberg.NestedField{ID: 2, Name: "noon", Type: iceberg.PrimitiveTypes.Time})
	src := &rowSource{schema: people(), left: []string{`[{"id":1},{"id":2}]`}}
	src.schema.Fields = src.schema.Fields[:1]
	src.schema.Number()
	if _, err := tbl.Ingest(ctx, src, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{Select: []string{"id"}, Ordered: true}); !slices.Equal(ids, []int64{1, 2}) {
		t.Errorf("ids %v", ids)
	}
	if d := tbl.Describe(); d.Records != 2 || len(d.Columns) != 2 || d.Columns[1].Iceberg != "time" {
		t.Errorf("description: %+v", d)
	}
	for _, err := range tbl.Scan(ctx, ScanOptions{}, nil) {
		if !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), "noon") {
			t.Errorf("scan of all columns: %v", err)
		}
	}
	for name, version := range map[string]string{"format version 3": "3", "a required time": "2"} {
		g := newGround(t)
		c := g.open(nil, nil)
		tbl := g.foreign(c, version, idField(), iceberg.NestedField{ID: 2, Name: "noon", Type: iceberg.PrimitiveTypes.Time, Required: version == "2"})
		if len(tbl.History()) != 0 || tbl.Describe().Records != 0 {
			t.Errorf("%s: %+v", name, tbl.Describe())
		}
		if _, err := appendFake(tbl, "", 1); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRedeliveryAfterRollback: a job whose commit was rolled back is done again, also when its snapshot has expired;
// one whose commit stands is not.
func TestRedeliveryAfterRollback(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	base, err := appendFake(tbl, "base", 1)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := appendFake(tbl, "load", 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.Rollback(ctx, base.SnapshotID); err != nil {
		t.Fatal(err)
	}
	expireNow(t, tbl)
	if tbl.ice.Metadata().SnapshotByID(gone.SnapshotID) != nil {
		t.Fatal("the snapshot was not expired")
	}
	again, err := appendFake(tbl, "load", 3)
	if err != nil || again.Before {
		t.Fatalf("delivered again: %+v, %v", again, err)
	}
	if got := live(t, tbl); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("live: %v", got)
	}
	if _, err := appendFake(tbl, "", 4); err != nil {
		t.Fatal(err)
	}
	expireNow(t, tbl)
	for _, job := range []string{"load", "base"} {
		if third, err := appendFake(tbl, job, 5); err != nil || !third.Before {
			t.Errorf("%s delivered once more: %+v, %v", job, third, err)
		}
	}
}

// expireNow leaves the heads of the branches.
func expireNow(t *testing.T, tbl *Table) {
	t.Helper()
	p, err := tbl.PlanExpire(ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
	if err == nil {
		err = p.Execute(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDropOfATwin: a table that lives on under another name, or is brought back, has no record of a drop.
func TestDropOfATwin(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	if _, err := appendFake(tbl, "", 1); err != nil {
		t.Fatal(err)
	}
	twin := Name{"default", "twin"}
	if _, err := c.registrar.RegisterTable(ctx, twin.identifier(), tbl.MetadataLocation()); err != nil { // as another engine may
		t.Fatal(err)
	}
	record := tbl.VaultFolder() + droppedName
	if err := c.Drop(ctx, twin); err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.Stat(ctx, record); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("record of the twin's drop: %v", err)
	}
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.Stat(ctx, record); err != nil {
		t.Errorf("record of the drop: %v", err)
	}
	back, err := c.Recover(ctx, tbl.MetadataLocation(), RecoverOptions{As: tableName})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.Stat(ctx, record); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("record of the drop beside the living table: %v", err)
	}
	if got := live(t, back); !slices.Equal(got, []int{1}) {
		t.Errorf("live: %v", got)
	}
	// Brought back by another engine: the next writer withdraws the record.
	if err := c.client.Put(ctx, record, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := appendFake(back, "", 2); err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.Stat(ctx, record); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("record after the next write: %v", err)
	}
}

// TestRejectedAttemptsLeaveNothing: a metadata file whose commit came too late is deleted, and the winner's stays.
func TestRejectedAttemptsLeaveNothing(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	meanwhile := metadataio.NewReadBacks(c.metadata)
	meanwhile.Add(func(context.Context, *blobio.Client) error {
		_, err := appendFake(tbl, "", 1)
		return err
	})
	_, late, err := c.sql.CommitAfter(ctx, tableName.identifier(), nil, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{"a": "b"})}, meanwhile)
	if !errors.Is(err, table.ErrCommitFailed) || late == "" {
		t.Errorf("a commit on an old state: %v", err)
	}
	if _, err := c.metadata.Stat(ctx, late); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("the file of the rejected commit: %v", err)
	}
	if got := live(t, g.load(c)); !slices.Equal(got, []int{1}) {
		t.Errorf("live: %v", got)
	}
}

func TestDeleteFilesOfOtherEnginesAreRefused(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	if _, err := appendFake(tbl, "", 1); err != nil {
		t.Fatal(err)
	}
	b, err := iceberg.NewDataFileBuilder(tbl.ice.Spec(), iceberg.EntryContentPosDeletes, tbl.Location()+"/data/d.parquet", iceberg.ParquetFile, nil, nil, nil, 5, 100)
	if err != nil {
		t.Fatal(err)
	}
	tx := tbl.ice.NewTransaction()
	if err := tx.NewRowDelta(nil).AddDeletes(b.Build()).Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := tbl.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	for _, err := range tbl.Entries(ctx, At{}) {
		if err == nil {
			continue
		}
		if !errors.Is(err, corrupt.ErrUnsupported) {
			t.Error(err)
		}
		return
	}
	t.Error("delete files were counted as rows, or passed over")
}

func TestSecretsOfMistypedCatalogs(t *testing.T) {
	for _, uri := range []string{
		"postgres:u:secret@h/db", "rest+http:/u:secret@h/x", "postgres:user=u password=secret", "postgres://u:sec/ret@h/db",
		"u:secret@h", "rest+https//u:secret@h", "mysql://u:secret@h/db", "postgres://u:12/secret@h/db", "postgres://h/db?password=secret",
		"postgres://u:secret@h:port/db", "sqlite:/x?password=secret",
	} {
		_, err := Open(context.Background(), Options{URI: uri, Warehouse: t.TempDir(), RetryBudget: -1})
		if shown := caturi.Redact(uri); strings.Contains(shown, "secret") || strings.Contains(shown, "ret@") {
			t.Errorf("%s is shown as %s", uri, shown)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "ret@")) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// TestRemoteWarehouseNeedsACatalog: an SQLite file in the current folder would be the only key to it.
func TestRemoteWarehouseNeedsACatalog(t *testing.T) {
	_, err := Open(context.Background(), Options{Warehouse: "s3://remote/wh"})
	if !errors.Is(err, ErrUnsafe) {
		t.Errorf("a remote warehouse with the catalog left out: %v", err)
	}
}

// TestNamespacesStayOutOfTheVault: no table's metadata may lie among the shards.
func TestNamespacesStayOutOfTheVault(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	for _, namespace := range []string{"vault", "vault.deeper"} {
		if err := c.CreateNamespace(ctx, namespace); !errors.Is(err, ErrInvalid) {
			t.Errorf("namespace %s: %v", namespace, err)
		}
		_, err := c.Create(ctx, Name{Namespace: namespace, Table: "t"}, CreateOptions{Schema: people(), CreateNamespace: true})
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("a table in %s: %v", namespace, err)
		}
	}
	if err := c.CreateNamespace(ctx, "vaults"); err != nil {
		t.Error(err)
	}
}

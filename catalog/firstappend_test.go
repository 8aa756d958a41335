package catalog

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// breaking is a source that fails after its batches.
type breaking struct{ *rowSource }

var errBroken = errors.New("the source broke")

func (s breaking) Next(ctx context.Context) (arrow.RecordBatch, error) {
	b, err := s.rowSource.Next(ctx)
	if errors.Is(err, io.EOF) {
		err = errBroken
	}
	return b, err
}

// filesBelow lists the files of a folder, without those of the catalog itself.
func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

var asNew = CreateOptions{CreateNamespace: true, Partition: []string{"bucket(2, id)"}}

func TestIngestNewIsOneCommit(t *testing.T) {
	c, dir := openLocal(t)
	tbl, in, err := c.IngestNew(context.Background(), tableName, source(rows(0, 30), rows(30, 10)), asNew, IngestOptions{ShardRows: 10})
	if err != nil || in.Rows != 40 {
		t.Fatalf("%+v, %v", in, err)
	}
	// One metadata file: the table was never there without its rows.
	found, err := filepath.Glob(filepath.Join(dir, "warehouse", "default", "people-*", "metadata", "*.metadata.json"))
	if err != nil || len(found) != 1 {
		t.Errorf("metadata files %v, %v", found, err)
	}
	if n := len(tbl.ice.Metadata().Schemas()); n != 1 {
		t.Errorf("%d schemas", n)
	}
	loaded, err := c.Load(context.Background(), tableName)
	if err != nil {
		t.Fatal(err)
	}
	if d := loaded.Describe(); d.Records != 40 || d.Snapshots != 1 || !slices.Equal(d.Partition, []string{"bucket(2, id)"}) || d.Properties["gc.enabled"] != "false" {
		t.Errorf("%+v", d)
	}
	ids, _ := scanIDs(t, loaded, ScanOptions{})
	slices.Sort(ids)
	if !slices.Equal(ids, between(0, 40)) {
		t.Errorf("rows %v", ids)
	}
	ingest(t, loaded, IngestOptions{}, rows(40, 5))
	if _, _, err := c.IngestNew(context.Background(), tableName, source(rows(0, 1)), asNew, IngestOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("made twice: %v", err)
	}
}

func TestIngestNewLeavesNothingWhenItFails(t *testing.T) {
	c, dir := openLocal(t)
	ctx := context.Background()
	_, _, err := c.IngestNew(ctx, tableName, breaking{source(rows(0, 30))}, asNew, IngestOptions{ShardRows: 10})
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if left := filesBelow(t, filepath.Join(dir, "warehouse")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := c.Load(ctx, tableName); !errors.Is(err, ErrNotFound) {
		t.Errorf("a table is left: %v", err)
	}
	if _, _, err := c.IngestNew(ctx, tableName, &rowSource{schema: &schema.Schema{}}, asNew, IngestOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a table without columns: %v", err)
	}
	if _, in, err := c.IngestNew(ctx, tableName, source(rows(0, 30)), asNew, IngestOptions{}); err != nil || in.Rows != 30 {
		t.Errorf("the retry: %v", err)
	}
}

// TestIngestNewIntoAClosedVault: where a table is made before its first rows and its vault folder is refused, the table goes again.
func TestIngestNewIntoAClosedVault(t *testing.T) {
	g := newDamagedGround(t, "any~/vault/ *: fail denied")
	c := g.open(g.bucket)
	create := CreateOptions{Schema: people(), CreateNamespace: true, Location: "s3://damaged/elsewhere/t"}
	if _, _, err := c.IngestNew(context.Background(), tableName, source(rows(0, 10)), create, IngestOptions{}); !errors.Is(err, blobio.ErrDenied) {
		t.Errorf("%v, want ErrDenied", err)
	}
	if _, err := c.Load(context.Background(), tableName); !errors.Is(err, ErrNotFound) {
		t.Errorf("a table is left: %v", err)
	}
	g.bucket.Play(t, "")
	if _, in, err := c.IngestNew(context.Background(), tableName, source(rows(0, 10)), create, IngestOptions{}); err != nil || in.Rows != 10 {
		t.Errorf("with the right: %v", err)
	}
}

func TestIngestNewWithoutRows(t *testing.T) {
	c, _ := openLocal(t)
	tbl, in, err := c.IngestNew(context.Background(), tableName, source(), asNew, IngestOptions{})
	if err != nil || in.Rows != 0 || in.Shards == nil {
		t.Fatalf("%+v, %v", in, err)
	}
	if d := tbl.Describe(); len(d.Columns) != 4 || d.Snapshots != 0 {
		t.Errorf("%+v", d)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
}

// TestRacingCreationsAllDeliver: each of eight writers finds no table and makes it.
func TestRacingCreationsAllDeliver(t *testing.T) {
	c, dir := openLocal(t)
	ctx := context.Background()
	const writers = 8
	var planned []*Table
	create := asNew
	create.Schema = people()
	for range writers { // all of them before the first commits
		tbl, err := c.plannedTable(ctx, tableName, create)
		if err != nil {
			t.Fatal(err)
		}
		planned = append(planned, tbl)
	}
	var group sync.WaitGroup
	for i, tbl := range planned {
		group.Go(func() {
			if _, err := tbl.Ingest(ctx, source(rows(10*i, 10)), IngestOptions{ShardRows: 5}); err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	group.Wait()
	tbl, err := c.Load(ctx, tableName)
	if err != nil {
		t.Fatal(err)
	}
	ids, _ := scanIDs(t, tbl, ScanOptions{})
	slices.Sort(ids)
	if !slices.Equal(ids, between(0, 10*writers)) {
		t.Errorf("rows %v", ids)
	}
	vaults, _ := os.ReadDir(filepath.Join(dir, "warehouse", "vault"))
	for _, v := range vaults {
		if left := filesBelow(t, filepath.Join(dir, "warehouse", "vault", v.Name())); v.Name() != tbl.UUID() && len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	other := create
	other.Schema = &schema.Schema{Fields: []*schema.Node{{Name: "x", Basic: schema.Boolean, Nullable: true}}}
	other.Schema.Number()
	if _, _, err := c.IngestNew(ctx, tableName, source(rows(0, 1)), other, IngestOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("another schema: %v", err)
	}
}

func TestIngestNewOverREST(t *testing.T) {
	g := newGround(t)
	server, open := g.startREST()
	server.lose.Store(1) // the answer to the creation is lost
	tbl, in, err := open().IngestNew(context.Background(), tableName, source(rows(0, 30)), CreateOptions{CreateNamespace: true}, IngestOptions{})
	if err != nil || in.Rows != 30 {
		t.Fatalf("%+v, %v", in, err)
	}
	if d := g.load(open()).Describe(); d.Records != 30 || d.Snapshots != 1 || d.UUID != tbl.UUID() {
		t.Errorf("%+v", d)
	}
}

// TestReadOnlyNeedsNoWritableCatalog reads a catalog whose folder can't be written, and makes none where none is.
func TestReadOnlyNeedsNoWritableCatalog(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	o := Options{URI: "sqlite:" + filepath.Join(dir, "catalog", "catalog.db"), Warehouse: filepath.Join(dir, "warehouse")}
	for _, access := range []Access{ReadOnly, Existing} {
		o.Access = access
		if _, err := Open(ctx, o); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: a catalog that is not there: %v", access, err)
		}
	}
	if left := filesBelow(t, dir); len(left) > 0 {
		t.Fatalf("opening made %v", left)
	}
	o.Access = ReadWrite
	c, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.IngestNew(ctx, tableName, source(rows(0, 10)), asNew, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	o.Access = ReadOnly
	read := func() {
		t.Helper()
		c, err := Open(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		tbl, err := c.Load(ctx, tableName)
		if err != nil {
			t.Fatal(err)
		}
		if ids, _ := scanIDs(t, tbl, ScanOptions{}); len(ids) != 10 {
			t.Errorf("rows %v", ids)
		}
		if err := c.CreateNamespace(ctx, "more"); err == nil {
			t.Error("a catalog that was opened to read was written to")
		}
	}
	read() // beside a writer
	c.Close()
	folder := filepath.Join(dir, "catalog")
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o755)
	read()
}

package catalog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// theirIO is the IO that a program has registered for tables of its own: files in memory, requests counted.
type theirIO struct {
	files map[string][]byte
	calls *atomic.Int64
}

func (m theirIO) Open(name string) (iceio.File, error) {
	m.calls.Add(1)
	b, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return theirOpened{bytes.NewReader(b)}, nil
}

// theirOpened is a file that is read.
type theirOpened struct{ *bytes.Reader }

func (theirOpened) Close() error               { return nil }
func (theirOpened) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

func (m theirIO) Remove(name string) error {
	m.calls.Add(1)
	delete(m.files, name)
	return nil
}

func (m theirIO) WriteFile(name string, p []byte) error {
	m.calls.Add(1)
	m.files[name] = bytes.Clone(p)
	return nil
}

func (m theirIO) Create(name string) (iceio.FileWriter, error) {
	return &theirFile{io: m, name: name}, nil
}

type theirFile struct {
	bytes.Buffer
	io   theirIO
	name string
}

func (f *theirFile) Close() error { return f.io.WriteFile(f.name, f.Bytes()) }

// TestOtherTablesKeepTheirIO: a program has Iceberg tables of its own, with an IO of its own for the very scheme of our
// warehouse. Both work side by side, neither sees the other's files, and the registry is as it was.
func TestOtherTablesKeepTheirIO(t *testing.T) {
	ctx := context.Background()
	theirs := theirIO{files: map[string][]byte{}, calls: new(atomic.Int64)}
	iceio.Unregister("mem") // that of a package which this test binary happens to link
	iceio.Register("mem", func(context.Context, *url.URL, map[string]string) (iceio.IO, error) { return theirs, nil })
	t.Cleanup(func() { iceio.Unregister("mem") })
	schemes := func() []string { return slices.Sorted(slices.Values(iceio.GetRegisteredSchemes())) }
	before := schemes()

	dir := t.TempDir()
	ours, err := Open(ctx, Options{URI: "sqlite:" + filepath.Join(dir, "ours.db"), Warehouse: "mem://ours/wh"})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if after := schemes(); !slices.Equal(before, after) {
		t.Fatalf("schemes in the registry: %v before, %v after", before, after)
	}
	tbl, err := ours.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	if n := theirs.calls.Load(); n != 0 {
		t.Errorf("our table asked their IO %d times", n)
	}

	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "theirs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := sqlcatalog.NewCatalog("other", db, sqlcatalog.SQLite, iceberg.Properties{"warehouse": "mem://ours/theirs"})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.CreateNamespace(ctx, table.Identifier{"ns"}, nil); err != nil {
		t.Fatal(err)
	}
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "a", Type: iceberg.PrimitiveTypes.Int64})
	there, err := other.CreateTable(ctx, table.Identifier{"ns", "t"}, sc)
	if err != nil {
		t.Fatal(err)
	}
	tx := there.NewTransaction()
	if err := tx.SetProperties(iceberg.Properties{"k": "v"}); err != nil {
		t.Fatal(err)
	}
	if there, err = tx.Commit(ctx); err != nil || there.Properties()["k"] != "v" {
		t.Fatalf("their table: %v, %v", there, err)
	}
	if theirs.calls.Load() == 0 || len(theirs.files) == 0 {
		t.Error("their table did not use their IO")
	}

	again, err := ours.Load(ctx, tableName)
	if err != nil || again.Head() == 0 {
		t.Fatalf("our table beside theirs: %v", err)
	}
}

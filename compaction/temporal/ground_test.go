package temporal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporaltest"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

var ctx = context.Background()

var name = catalog.Name{Namespace: "default", Table: "t"}

// quiet keeps what is expected to go wrong out of the tests' output.
var quiet = slog.New(slog.DiscardHandler)

func optionsOf(dir string) catalog.Options {
	return catalog.Options{
		URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "wh"),
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}), Log: quiet,
	}
}

func open(t testing.TB, dir string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(ctx, optionsOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func load(t testing.TB, dir string) *catalog.Table {
	t.Helper()
	tbl, err := open(t, dir).Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

func fields() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "id", Basic: schema.Int64, Signed: true, Nullable: true},
		{Name: "name", Basic: schema.String, Nullable: true},
	}}
	s.Number()
	return s
}

// rows yields one batch of rows.
type rows struct{ first, n int }

func (r *rows) Schema() *schema.Schema { return fields() }

func (r *rows) Next(context.Context) (arrow.RecordBatch, error) {
	if r.n == 0 {
		return nil, io.EOF
	}
	var out []string
	for i := r.first; i < r.first+r.n; i++ {
		out = append(out, fmt.Sprintf(`{"id":%d,"name":"n%d"}`, i, i%7))
	}
	r.n = 0
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(fields()), strings.NewReader("["+strings.Join(out, ",")+"]"))
	return b, err
}

// tableOf makes a table of so many shards, ten rows each, and settings of compaction.
func tableOf(t testing.TB, shards int, settings map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	tbl, err := open(t, dir).Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	when := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := tbl.Ingest(ctx, &rows{0, 10 * shards}, catalog.IngestOptions{ShardRows: 10, CreationTime: when}); err != nil {
		t.Fatal(err)
	}
	if err := compaction.SetPolicy(ctx, tbl, settings); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents reads all rows as text, sorted.
func contents(t testing.TB, tbl *catalog.Table) (out []string) {
	t.Helper()
	for b, err := range tbl.Scan(ctx, catalog.ScanOptions{}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			out = append(out, b.Column(0).ValueStr(i)+"|"+b.Column(1).ValueStr(i))
		}
	}
	slices.Sort(out)
	return out
}

// holds checks that a table has all its rows, in so many shards, and that no job is open.
func holds(t testing.TB, dir string, before []string, shards int64) {
	t.Helper()
	after := load(t, dir)
	if got := contents(t, after); !slices.Equal(got, before) || after.Describe().Shards != shards {
		t.Errorf("%d rows became %d, in %d shards; want %d", len(before), len(got), after.Describe().Shards, shards)
	}
	if jobs, err := after.Jobs(ctx, false); err != nil || len(jobs) != 0 {
		t.Errorf("%d jobs are open, %v", len(jobs), err)
	}
}

// server starts a Temporal server in this process.
func server(t testing.TB) (*temporaltest.TestServer, client.Client) {
	t.Helper()
	s := temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: quiet}))
	t.Cleanup(s.Stop)
	return s, s.GetDefaultClient()
}

// work starts a worker over the catalog in a folder.
func work(t testing.TB, c client.Client, dir string, o WorkerOptions) *Worker {
	t.Helper()
	o.Log = quiet
	w := NewWorker(c, open(t, dir), o)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

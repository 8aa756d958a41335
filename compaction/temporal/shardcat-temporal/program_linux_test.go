package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/temporaltest"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction/temporal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// asProgram makes the test's binary the program.
const asProgram = "SHARDCAT_TEMPORAL_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is the program with arguments, over the catalog in a folder and a server.
func program(ctx context.Context, dir string, s *temporaltest.TestServer, args ...string) *exec.Cmd {
	args = append(args, "--catalog", "sqlite:"+filepath.Join(dir, "catalog.db"), "--warehouse", filepath.Join(dir, "wh"),
		"--address", s.GetFrontendHostPort(), "--namespace", s.GetDefaultNamespace())
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// numbers yields one batch of ten numbers.
type numbers struct{ done bool }

func (*numbers) Schema() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{{Name: "id", Basic: schema.Int64, Signed: true, Nullable: true}}}
	s.Number()
	return s
}

func (n *numbers) Next(context.Context) (arrow.RecordBatch, error) {
	if n.done {
		return nil, io.EOF
	}
	n.done = true
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(n.Schema()))
	defer b.Release()
	for i := range 10 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
	}
	return b.NewRecordBatch(), nil
}

// ground is a table of three shards in a catalog of a folder, and a Temporal server.
func ground(ctx context.Context, t *testing.T, dir, name string) (*catalog.Table, *temporaltest.TestServer) {
	t.Helper()
	tables, err := catalog.Open(ctx, catalog.Options{URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "wh")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tables.Close() })
	tbl, err := tables.Create(ctx, catalog.Name{Namespace: "default", Table: name}, catalog.CreateOptions{Schema: new(numbers).Schema(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := tbl.Ingest(ctx, new(numbers), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	server := temporaltest.NewServer(temporaltest.WithBaseClientOptions(client.Options{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(server.Stop)
	return tbl, server
}

// A worker, a run and a schedule are processes that know of each other only through Temporal; the worker ends in order at SIGTERM.
func TestProgram(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	tbl, server := ground(ctx, t, dir, "t")

	worker := program(ctx, dir, server, "worker")
	var said bytes.Buffer
	worker.Stderr = &said
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := program(ctx, dir, server, "run", "default.t").Output()
	var report temporal.TableReport
	if err != nil || json.Unmarshal(out, &report) != nil || report.Groups != 1 {
		t.Errorf("run: %s, %v", out, err)
	}
	if err := tbl.Refresh(ctx); err != nil || tbl.Describe().Shards != 1 || tbl.Describe().Records != 30 {
		t.Errorf("%+v, %v", tbl.Describe(), err)
	}
	for _, args := range [][]string{{"schedule", "--all"}, {"schedule", "default.t", "--remove"}} {
		var one struct{ Table string }
		if out, err := program(ctx, dir, server, args...).Output(); err != nil || json.Unmarshal(out, &one) != nil || one.Table != "default.t" {
			t.Errorf("%v: %s, %v", args, out, err)
		}
	}
	if out, err := program(ctx, dir, server, "worker", "--classes", "huge").CombinedOutput(); err == nil || !bytes.Contains(out, []byte("not small, medium or large")) {
		t.Errorf("%s, %v", out, err)
	}
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := worker.Wait(); err != nil {
		t.Errorf("the worker ended with %v: %s", err, said.String())
	}
}

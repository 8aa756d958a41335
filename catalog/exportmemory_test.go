package catalog

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// randomNumbers is a source of so many batches of so many rows, of columns of random numbers, which nothing makes smaller.
type randomNumbers struct {
	schema        *schema.Schema
	columns, rows int
	batches       int
	random        *rand.Rand
	// part, if not 0, is how many values the first column has.
	part uint64
}

func newRandomNumbers(t *testing.T, columns, rows, batches int) *randomNumbers {
	t.Helper()
	var fields []arrow.Field
	for i := range columns {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: arrow.PrimitiveTypes.Int64})
	}
	s, _, err := arrowtype.FromArrow(arrow.NewSchema(fields, nil))
	if err != nil {
		t.Fatal(err)
	}
	return &randomNumbers{schema: s, columns: columns, rows: rows, batches: batches, random: rand.New(rand.NewPCG(1, 2))}
}

func (s *randomNumbers) Schema() *schema.Schema { return s.schema }

func (s *randomNumbers) Next(context.Context) (arrow.RecordBatch, error) {
	if s.batches--; s.batches < 0 {
		return nil, io.EOF
	}
	var columns []arrow.Array
	for range s.columns {
		values := make([]int64, s.rows)
		for i := range values {
			values[i] = int64(s.random.Uint64())
			if s.part > 0 && len(columns) == 0 {
				values[i] = int64(s.random.Uint64N(s.part))
			}
		}
		columns = append(columns, array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, s.rows,
			[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(values))}, nil, 0, 0)))
	}
	return array.NewRecordBatch(arrowtype.Schema(s.schema), columns, int64(s.rows)), nil
}

// TestExportMemory: an export to Parquet on two processors has 200 MiB live at most, whatever the table: here rows of 80 columns, of
// which a row group could have all.
func TestExportMemory(t *testing.T) {
	const columns, rows, batches, limit = 80, 1 << 14, 32, 200 << 20
	if data := columns * 8 * rows * batches; data < limit*5/4 {
		t.Fatalf("%d bytes of rows show nothing", data)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // each further processor reads ahead
	ctx := context.Background()
	c, dir := openLocal(t)
	src := newRandomNumbers(t, columns, rows, batches)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: src.schema, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Ingest(ctx, src, IngestOptions{Profile: shardfmt.Plain}); err != nil {
		t.Fatal(err)
	}
	live := func() uint64 {
		bufpool.Forget()
		runtime.GC()
		runtime.GC() // the first one leaves what lies in pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, calls := live(), uint64(0), 0
	file := filepath.Join(dir, "out.parquet")
	done, err := tbl.Export(ctx, "file://"+file, ExportOptions{Format: fileio.Parquet, Progress: func(int64) {
		calls++
		most = max(most, live())
	}})
	if err != nil || done.Rows != rows*batches {
		t.Fatalf("%+v, %v", done, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() < columns*8*rows*batches {
		t.Fatalf("%v, %v", info, err)
	}
	most -= min(most, before)
	t.Logf("%d calls, %d bytes live at most, a file of %d", calls, most, info.Size())
	if most > limit {
		t.Errorf("%d bytes live, want at most %d", most, limit)
	}
}

// TestPartitionedExportMemory: the open files of a partitioned export hold no more together than the limit, and lose no rows to it.
func TestPartitionedExportMemory(t *testing.T) {
	const columns, rows, parts, limit = 8, 1 << 14, 16, 1 << 20
	ctx := context.Background()
	c, dir := openLocal(t)
	src := newRandomNumbers(t, columns, rows, 4)
	src.part = parts
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: src.schema, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Ingest(ctx, src, IngestOptions{Profile: shardfmt.Plain}); err != nil {
		t.Fatal(err)
	}
	p, err := tbl.Plan(ctx, ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var x *exporter
	most, calls := int64(0), 0
	o := &ExportOptions{Format: fileio.Parquet, PartitionBy: []string{"c0"}, Progress: func(int64) {
		held, _ := x.held()
		most, calls = max(most, held), calls+1
	}}
	x = &exporter{client: c.client, out: "file://" + filepath.Join(dir, "out"), o: o, fields: p.Fields(), done: &ExportResult{}, limit: limit}
	if err := x.prepare(); err != nil {
		t.Fatal(err)
	}
	for b, err := range p.Run(ctx, new(ScanStats)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := x.write(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.close(ctx); err != nil {
		t.Fatal(err)
	}
	if most > limit || most < limit/2 || calls < parts {
		t.Errorf("%d bytes held at most, in %d calls; the limit is %d", most, calls, limit)
	}
	back, err := fileio.OpenSource(ctx, c.client, x.done.Files, fileio.SourceOptions{Format: fileio.Parquet, InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	n := int64(0)
	for {
		b, err := back.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += b.NumRows()
	}
	if len(x.done.Files) != parts || n != 4*rows || x.done.Rows != n {
		t.Errorf("%d files, %d rows, %d counted", len(x.done.Files), n, x.done.Rows)
	}
}

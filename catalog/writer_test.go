package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

func batchOf(t *testing.T, first, n int) arrow.RecordBatch {
	t.Helper()
	b, err := source(rows(first, n)).Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWriter flushes when asked, by rows and at the end, each time in one snapshot.
func TestWriter(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	g.create(g.open(nil, nil))
	var flushed []int64
	w, err := g.load(g.open(nil, nil)).NewWriter(ctx, people(), WriterOptions{
		FlushRows: 10, FlushAge: -1, Flushed: func(i *IngestResult) { flushed = append(flushed, i.Rows) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ first, n int }{{0, 10}, {10, 4}, {14, 3}} {
		if err := w.Write(ctx, batchOf(t, step.first, step.n)); err != nil {
			t.Fatal(err)
		}
		if step.first < 14 {
			if err := w.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, batchOf(t, 0, 1)); !errors.Is(err, errWriterClosed) {
		t.Errorf("written after the end: %v", err)
	}
	tbl := g.load(g.open(nil, nil))
	if !slices.Equal(flushed, []int64{10, 4, 3}) || tbl.Describe().Snapshots != 3 {
		t.Errorf("flushes of %v rows in %d snapshots", flushed, tbl.Describe().Snapshots)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 17)) {
		t.Errorf("ids %v", ids)
	}
	if _, err := tbl.NewWriter(ctx, people(), WriterOptions{Ingest: IngestOptions{JobID: "x"}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("with a job id: %v", err)
	}
}

// TestWriterAgeAndPressure: what waits is flushed by age, and a full buffer makes Write wait instead of growing.
func TestWriterAgeAndPressure(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	g.create(g.open(nil, nil))
	flushed := make(chan int64, 100)
	w, err := g.load(g.open(nil, nil)).NewWriter(ctx, people(), WriterOptions{FlushAge: time.Millisecond, FlushBytes: 1 << 10, MaxBytes: 1 << 10,
		Flushed: func(i *IngestResult) { flushed <- i.Rows }})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, batchOf(t, 0, 1)); err != nil {
		t.Fatal(err)
	}
	if n := <-flushed; n != 1 {
		t.Errorf("%d rows by age", n)
	}
	for i := range 5 { // each batch alone is larger than MaxBytes
		if err := w.Write(ctx, batchOf(t, 100*i+100, 100)); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		if len(w.waiting) > 1 {
			t.Errorf("%d batches wait", len(w.waiting))
		}
		w.mu.Unlock()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := counted(t, g.load(g.open(nil, nil))); n != 501 {
		t.Errorf("%d rows", n)
	}
	if _, err := g.load(g.open(nil, nil)).NewWriter(ctx, people(), WriterOptions{FlushBytes: 10, MaxBytes: 5}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a buffer smaller than a flush: %v", err)
	}
}

// TestExport writes one file, or one a partition, and nothing after a failure.
func TestExport(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 30))
	at := "mem://" + g.bucket + "/out/"
	x, err := tbl.Export(ctx, at+"a.ndjson", ExportOptions{Format: fileio.NDJSON, ScanOptions: ScanOptions{Where: where(t, "id < 3"), Select: []string{"id"}, Ordered: true}})
	if err != nil || x.Rows != 3 {
		t.Fatalf("%+v, %v", x, err)
	}
	text, _, err := tbl.cat.client.ReadAll(ctx, at+"a.ndjson", 1<<20)
	if err != nil || string(text) != "{\"id\":0}\n{\"id\":1}\n{\"id\":2}\n" {
		t.Errorf("%q, %v", text, err)
	}
	x, err = tbl.Export(ctx, at+"p", ExportOptions{Format: fileio.CSV, PartitionBy: []string{"small"},
		ScanOptions: ScanOptions{Where: where(t, "id < 3"), Select: []string{"id", "small"}}})
	if err != nil || x.Rows != 3 || len(x.Files) != 3 || !strings.Contains(x.Files[0], "/p/small=") {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := tbl.Export(ctx, at+"q", ExportOptions{Format: fileio.CSV, PartitionBy: []string{"tags"}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("by a list: %v", err)
	}
	if _, err := tbl.Export(ctx, at+"a.ndjson", ExportOptions{Format: fileio.NDJSON}); err == nil {
		t.Error("a file was overwritten")
	}
}

// TestFlushEndsWhileOthersWrite: Flush waits for what was written before it, not for what comes meanwhile.
func TestFlushEndsWhileOthersWrite(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	g.create(g.open(nil, nil))
	var w *Writer
	var more atomic.Int64
	more.Store(100)
	w, err := g.load(g.open(nil, nil)).NewWriter(ctx, people(), WriterOptions{FlushRows: 1, FlushAge: -1, Flushed: func(*IngestResult) {
		if left := more.Add(-1); left > 0 { // something waits at all times
			if err := w.Write(ctx, batchOf(t, 1000-int(left), 1)); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(ctx, batchOf(t, 0, 1)), w.Flush(ctx)); err != nil {
		t.Fatal(err)
	}
	if left := more.Load(); left < 90 {
		t.Errorf("flush returned after %d commits", 100-left)
	}
	more.Store(0)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestFailedFlushReleases: after a flush that failed, or panicked, no batch is held, and every call reports why.
func TestFailedFlushReleases(t *testing.T) {
	for name, fault := range map[string]func(){"an error": nil, "a panic": func() { panic("told") }} {
		ctx, cancel := context.WithCancel(context.Background())
		g := newGround(t)
		g.create(g.open(nil, nil))
		entered, started := make(chan struct{}, 10), make(chan struct{})
		w, err := g.load(g.open(nil, nil)).NewWriter(ctx, people(), WriterOptions{FlushRows: 1, FlushAge: -1, Flushed: func(*IngestResult) {
			entered <- struct{}{}
			<-started
			if fault != nil {
				fault()
			}
			cancel()
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, batchOf(t, 0, 1)); err != nil {
			t.Fatal(err)
		}
		<-entered // the first is in the table, and its flush not yet over
		if err := w.Write(ctx, batchOf(t, 1, 1)); err != nil {
			t.Fatal(err)
		}
		close(started)
		if err := w.Close(); err == nil {
			t.Errorf("%s: no error", name)
		}
		w.mu.Lock()
		if len(w.waiting) > 0 || w.held != 0 {
			t.Errorf("%s: %d batches with %d bytes are held", name, len(w.waiting), w.held)
		}
		w.mu.Unlock()
		if err := w.Flush(context.Background()); err == nil {
			t.Errorf("%s: flush says nothing of it", name)
		}
		cancel()
	}
}

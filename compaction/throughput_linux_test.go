package compaction

import (
	"context"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// made yields batches of made-up rows, without holding more than one of them.
type made struct {
	source
	left, first int
}

const madeBatch = 16 << 10

func (m *made) Next(context.Context) (arrow.RecordBatch, error) {
	n := min(m.left, madeBatch)
	if n == 0 {
		return nil, io.EOF
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(m.schema))
	defer b.Release()
	x := uint64(m.first) + 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.Field(0).(*array.Int64Builder).Append(int64(x >> 8))
		text := []byte("request 00000000 of client 0000 answered")
		for j, v := 8, x; j < 16; j++ {
			text[j], v = 'a'+byte(v%26), v/26
		}
		b.Field(1).(*array.LargeStringBuilder).Append(string(text))
		b.Field(2).AppendNull()
	}
	m.first, m.left = m.first+n, m.left-n
	return b.NewRecordBatch(), nil
}

// BenchmarkRebuild rewrites a table's rows, as a job with its commit, and beside it reads and writes the same rows with no catalog around
// them. x-alone is the speed of the job as a share of that: the goal is 0.8.
func BenchmarkRebuild(b *testing.B) {
	dir := b.TempDir()
	c, err := catalog.Open(ctx, catalog.Options{URI: "sqlite:" + dir + "/catalog.db", Warehouse: dir + "/wh"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	t, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
	if err != nil {
		b.Fatal(err)
	}
	const shards, rows = 4, 250_000
	for i := range shards {
		if _, err := t.Ingest(ctx, &made{source: source{schema: fields()}, left: rows, first: i * rows}, catalog.IngestOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	alone := func(number int) {
		plan, err := t.Plan(ctx, catalog.ScanOptions{Ordered: true})
		if err != nil {
			b.Fatal(err)
		}
		w, err := shardfmt.NewWriter(ctx, c.Client(), t.VaultFolder()+"alone-"+string(rune('a'+number))+".amudai.shard", t.Schema(), shardfmt.WriterOptions{
			FieldIDs: t.FieldIDs(), DataPrefix: "data/alone/",
		})
		if err != nil {
			b.Fatal(err)
		}
		for batch, err := range plan.Run(ctx, nil) {
			if err == nil {
				err = w.Write(ctx, batch)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		written, err := w.Close(ctx)
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range written.Objects {
			if err := c.Client().Delete(ctx, o.URL, ""); err != nil {
				b.Fatal(err)
			}
		}
	}
	var job, bare float64
	for n := 0; b.Loop(); n++ {
		began := processorTime()
		alone(n % 26)
		bare += (processorTime() - began).Seconds()
		began = processorTime()
		report, err := Compact(ctx, t, Policy{RebuildAll: true}, Options{})
		if err != nil || len(report.Results) != 1 {
			b.Fatalf("%+v, %v", report, err)
		}
		job += (processorTime() - began).Seconds()
	}
	b.ReportMetric(bare/job, "x-alone")
	b.ReportMetric(float64(b.N)*shards*rows/job/1e6, "Mrows/cpu-s")
}

// A worker that rewrites rows holds no more than two stripes of them, besides what a scan may have and what two encoders work with (tables to find
// symbols of texts, and 65,536 values that are planned together): however many there are.
func TestRebuildHoldsTwoStripes(t *testing.T) {
	const stripe, stripes, allowance, encoders = 32 << 10, 24, 8 << 20, 2 * 4 << 20
	dir := t.TempDir()
	c, err := catalog.Open(ctx, catalog.Options{URI: "sqlite:" + dir + "/catalog.db", Warehouse: dir + "/wh", MaxMemory: allowance})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		source := &made{source: source{schema: fields()}, left: stripe * stripes / 2, first: i}
		if _, err := tbl.Ingest(ctx, source, catalog.IngestOptions{StripeRows: stripe}); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := NewPlan(ctx, tbl, Policy{RebuildAll: true})
	if err != nil || len(plan.Groups) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	run, _, err := tbl.BeginJob(ctx, catalog.JobCompact, "", plan.Groups[0].Inputs.Paths(), tbl.Outputs)
	if err != nil {
		t.Fatal(err)
	}
	before, most, looks := liveHeap(), int64(0), 0
	done, err := run.Rewrite(ctx, plan.Groups[0].entries(), catalog.RewriteOptions{StripeRows: stripe, Progress: func(int64) {
		if looks++; looks%8 == 0 {
			most = max(most, liveHeap())
		}
	}})
	if err != nil || done.Rows != stripe*stripes {
		t.Fatalf("%d rows, %v", done.Rows, err)
	}
	run.Fail(ctx, done.Objects)
	const raw = stripe * (8 + 40) // of a stripe: a number and a text of 40 bytes a row
	if held, bound := most-before, int64(2*raw+allowance+encoders); looks < 8 || held > bound {
		t.Errorf("%d bytes were held after %d batches, %d at most are promised; a stripe has %d, all have %d", held, looks, bound, raw, raw*stripes)
	} else {
		t.Logf("%d bytes held of %d promised; all rows have %d", held, bound, raw*stripes)
	}
}

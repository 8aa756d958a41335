package compaction

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestParquetIsNotPackedAtOnce: shards over Parquet files, whose data can't be copied, are concatenated where others would be packed.
func TestParquetIsNotPackedAtOnce(t *testing.T) {
	const rows = 20_000
	g := newGround(t)
	cat := g.open(nil)
	of, err := schema.Parse("id: Int64")
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := cat.Create(ctx, name, catalog.CreateOptions{Schema: of, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	types := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	r, client := rand.New(rand.NewPCG(1, 2)), cat.Client()
	var urls []string
	for i := range manyAtOnce {
		b := array.NewRecordBuilder(memory.DefaultAllocator, types)
		for range rows {
			b.Field(0).(*array.Int64Builder).Append(int64(r.Uint64()))
		}
		var file bytes.Buffer
		w, err := pqarrow.NewFileWriter(types, &file, nil, pqarrow.DefaultWriterProps())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		folder := fmt.Sprintf("mem://%s/lake/%02d/", g.bucket, i)
		if err := client.Put(ctx, folder+"part.parquet", file.Bytes()); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, folder+"over.amudai.shard")
		if _, err := shardfmt.WriteExternalParquet(ctx, client, urls[i], []string{folder + "part.parquet"}, shardfmt.ExternalOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tbl.Register(ctx, urls, catalog.RegisterOptions{}); err != nil {
		t.Fatal(err)
	}
	report, err := Compact(ctx, tbl, Policy{External: true, NoRebuild: true, MaxCreationRange: -1}, Options{})
	if err != nil || report.ShardsAfter != 1 || report.BytesMoved != 0 || report.Plan.Groups[0].Mode != Concat {
		t.Fatalf("%+v, %v", report, err)
	}
	n := int64(0)
	for b, err := range g.load(nil).Scan(ctx, catalog.ScanOptions{}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		n += b.NumRows()
	}
	if n != manyAtOnce*rows {
		t.Errorf("%d rows", n)
	}
}

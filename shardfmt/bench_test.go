package shardfmt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// workloads are columns of one kind each, a million rows, and the bytes that their values take.
func workloads() map[string]func() (arrow.RecordBatch, *schema.Schema, int64) {
	const n = 1 << 20
	number := func(next func(r *rand.Rand, i int) int64) func() (arrow.RecordBatch, *schema.Schema, int64) {
		return func() (arrow.RecordBatch, *schema.Schema, int64) {
			s, _ := schema.Parse("v: Int64")
			r := rand.New(rand.NewPCG(1, 2))
			b := array.NewInt64Builder(memory.DefaultAllocator)
			for i := range n {
				b.Append(next(r, i))
			}
			return array.NewRecordBatch(arrowtype.Schema(s), []arrow.Array{b.NewArray()}, n), s, 8 * n
		}
	}
	text := func(next func(r *rand.Rand, i int) string) func() (arrow.RecordBatch, *schema.Schema, int64) {
		return func() (arrow.RecordBatch, *schema.Schema, int64) {
			s, _ := schema.Parse("v: String")
			r := rand.New(rand.NewPCG(1, 2))
			b := array.NewLargeStringBuilder(memory.DefaultAllocator)
			size := int64(0)
			for i := range n {
				v := next(r, i)
				size += int64(len(v)) + 8
				b.Append(v)
			}
			return array.NewRecordBatch(arrowtype.Schema(s), []arrow.Array{b.NewArray()}, n), s, size
		}
	}
	return map[string]func() (arrow.RecordBatch, *schema.Schema, int64){
		"int64-small":  number(func(r *rand.Rand, i int) int64 { return r.Int64N(1000) }),
		"int64-walk":   number(func(r *rand.Rand, i int) int64 { return int64(i)*1000 + r.Int64N(1000) }),
		"int64-random": number(func(r *rand.Rand, i int) int64 { return r.Int64() }),
		"text-few":     text(func(r *rand.Rand, i int) string { return fmt.Sprintf("category %d", r.IntN(300)) }),
		"text-many":    text(func(r *rand.Rand, i int) string { return fmt.Sprintf("/a/path/%d/of/request/%d", r.IntN(1000), i) }),
	}
}

func BenchmarkWrite(b *testing.B) {
	defer bufpool.StopSpoiling()()
	for name, make := range workloads() {
		batch, s, size := make()
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for i := range b.N {
				sp := blobio.NewClient(blobio.ClientOptions{})
				w, err := NewWriter(context.Background(), sp, fmt.Sprintf("mem://benchw/%s%d/s.amudai.shard", name, i), s, WriterOptions{Workers: 1})
				if err != nil {
					b.Fatal(err)
				}
				if err := w.Write(context.Background(), batch); err != nil {
					b.Fatal(err)
				}
				out, err := w.Close(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(out.Objects[0].Size)/float64(size), "stored/raw")
				for _, o := range out.Objects {
					sp.Delete(context.Background(), o.URL, "")
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	defer bufpool.StopSpoiling()()
	for name, make := range workloads() {
		batch, s, size := make()
		sp := blobio.NewClient(blobio.ClientOptions{})
		w, err := NewWriter(context.Background(), sp, "mem://benchr/"+name+"/s.amudai.shard", s, WriterOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Write(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
		out, err := w.Close(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for range b.N {
				sh, err := Open(context.Background(), sp, out.URL, OpenOptions{Size: out.Size})
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range sh.Scan(context.Background(), ScanOptions{Workers: 1}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

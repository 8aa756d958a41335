package shardfmt

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// sample is a schema of a few types and n records of it, from record first on.
func sampleSchema(testing.TB) *schema.Schema {
	s, err := schema.Parse("id: Int64, name: String, score: Float64, ok: Boolean, same: Int32, tags: List<String>, pos: Struct<x: Float32, y: Float32>")
	if err != nil {
		panic(err)
	}
	return s
}

func sampleBatch(s *schema.Schema, first, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%10 == 3 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.LargeStringBuilder).Append(fmt.Sprintf("name %d", i%97))
		}
		b.Field(2).(*array.Float64Builder).Append(float64(i) / 8)
		b.Field(3).(*array.BooleanBuilder).Append(i%3 == 0)
		b.Field(4).(*array.Int32Builder).Append(7)
		l := b.Field(5).(*array.LargeListBuilder)
		if i%7 == 0 {
			l.AppendNull()
		} else {
			l.Append(true)
			for k := range i % 4 {
				l.ValueBuilder().(*array.LargeStringBuilder).Append(fmt.Sprint("t", k*i%5))
			}
		}
		p := b.Field(6).(*array.StructBuilder)
		if i%11 == 0 {
			p.AppendNull()
			continue
		}
		p.Append(true)
		p.FieldBuilder(0).(*array.Float32Builder).Append(float32(i))
		p.FieldBuilder(1).(*array.Float32Builder).Append(-float32(i))
	}
	return b.NewRecordBatch()
}

// writeSample writes n records in batches of 1000.
func writeSample(t testing.TB, sp *blobio.Client, url string, n int, o WriterOptions) *Written {
	t.Helper()
	s := sampleSchema(t)
	w, err := NewWriter(context.Background(), sp, url, s, o)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < n; at += 1000 {
		if err := w.Write(context.Background(), sampleBatch(s, at, min(1000, n-at))); err != nil {
			t.Fatal(err)
		}
	}
	out, err := w.Close(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func equalBatches(t testing.TB, got []arrow.RecordBatch, want arrow.RecordBatch) {
	t.Helper()
	at := int64(0)
	for _, b := range got {
		if at+b.NumRows() > want.NumRows() {
			t.Fatalf("more than %d rows", want.NumRows())
		}
		part := want.NewSlice(at, at+b.NumRows())
		for c := range int(b.NumCols()) {
			if !array.Equal(b.Column(c), part.Column(c)) {
				t.Fatalf("column %q, rows from %d on:\ngot  %.300v\nwant %.300v", b.ColumnName(c), at, b.Column(c), part.Column(c))
			}
		}
		at += b.NumRows()
	}
	if at != want.NumRows() {
		t.Fatalf("%d rows, want %d", at, want.NumRows())
	}
}

func TestWriteAndScan(t *testing.T) {
	ctx := context.Background()
	for _, layout := range []Layout{TwoLevel, Single, Auto} {
		for _, n := range []int{0, 1, 999, 2500, 10_000} {
			for _, place := range []string{"mem://box/a/", "file://" + t.TempDir() + "/"} {
				sp := blobio.NewClient(blobio.ClientOptions{})
				url := fmt.Sprintf("%s%v-%d.amudai.shard", place, layout, n)
				written := writeSample(t, sp, url, n, WriterOptions{Layout: layout, StripeRows: 3000})
				s, err := Open(ctx, sp, url, OpenOptions{Size: written.Size})
				if err != nil {
					t.Fatal(err)
				}
				if s.Records() != uint64(n) || len(s.Stripes()) != (n+2999)/3000 {
					t.Errorf("%d records, %d stripes", s.Records(), len(s.Stripes()))
				}
				want := sampleBatch(sampleSchema(t), 0, n)
				equalBatches(t, readAll(t, s, ScanOptions{}), want)
				if n > 1000 {
					equalBatches(t, readAll(t, s, ScanOptions{Start: 777, End: 2345, BatchRows: 100}), want.NewSlice(777, 2345))
				}
				sp.Close()
			}
		}
	}
}

package convert_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// zoned writes a file of two points in time, with nanoseconds and a zone.
func zoned(t *testing.T, c *blobio.Client, url string, f fileio.Format) *arrow.Schema {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Paris"}, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	b.Field(0).(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{1_700_000_000_000_000_100, 1_700_000_000_000_000_123}, nil)
	out, err := f.CreateBatches(context.Background(), c, url, s, fileio.SinkOptions{})
	if err == nil {
		err = errors.Join(out.Write(b.NewRecordBatch()), out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Between formats of batches every digit and the zone are kept.
func TestNanosecondsAndZonesAreKept(t *testing.T) {
	ctx, c := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	want := zoned(t, c, "mem://convert-kept/in.parquet", fileio.Parquet)
	for i, out := range []string{"mem://convert-kept/a.arrow", "mem://convert-kept/b.parquet"} {
		in := []string{"mem://convert-kept/in.parquet", "mem://convert-kept/a.arrow"}[i]
		r, err := convert.File(ctx, c, in, out, convert.Options{Strict: true})
		if err != nil || r.Rows != 2 || len(r.Losses) != 0 {
			t.Fatalf("%s: %+v, %v", out, r, err)
		}
		src, err := fileio.OpenBatches(ctx, c, out, fileio.SourceOptions{Format: r.To})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		batch, err := src.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got := batch.Column(0).(*array.Timestamp); got.Value(1) != 1_700_000_000_000_000_123 || !arrow.TypeEqual(got.DataType(), want.Field(0).Type) {
			t.Errorf("%s: %v of %v", out, got, got.DataType())
		}
	}
}

// A shard has no space for single nanoseconds: they are refused with their row, or cut and counted on request. Nothing is
// left of a conversion that was refused.
func TestNanosecondsAreNeverCutInSilence(t *testing.T) {
	ctx, c := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	zoned(t, c, "mem://convert-cut/in.parquet", fileio.Parquet)
	for i, o := range []convert.Options{{}, {Strict: true}} {
		out := fmt.Sprintf("mem://convert-cut/%d.amudai.shard", i)
		_, err := convert.File(ctx, c, "mem://convert-cut/in.parquet", out, o)
		var record *fileio.RecordError
		if !errors.As(err, &record) || record.Row != 2 || record.Field != "t" {
			t.Errorf("%+v: %v", o, err)
		}
		if _, err := c.Stat(ctx, out); !errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("%+v: %s is there: %v", o, out, err)
		}
	}
	r, err := convert.File(ctx, c, "mem://convert-cut/in.parquet", "mem://convert-cut/x.amudai.shard", convert.Options{AllowLossy: true})
	if err != nil || len(r.Losses) != 1 || r.Losses[0].Field != "t" || r.Losses[0].Count != 1 {
		t.Errorf("allowed: %+v, %v", r, err)
	}
	// Text has no place for the name of a zone: told, and refused strictly.
	r, err = convert.File(ctx, c, "mem://convert-cut/x.amudai.shard", "mem://convert-cut/x.ndjson", convert.Options{})
	if err != nil || r.Rows != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = convert.File(ctx, c, "mem://convert-cut/in.parquet", "mem://convert-cut/y.ndjson", convert.Options{Strict: true})
	if !errors.Is(err, convert.ErrLossy) {
		t.Errorf("a zone, strictly: %v", err)
	}
	if _, err := convert.File(ctx, c, "a", "b", convert.Options{Strict: true, AllowLossy: true}); !errors.Is(err, convert.ErrOptions) {
		t.Errorf("both: %v", err)
	}
}

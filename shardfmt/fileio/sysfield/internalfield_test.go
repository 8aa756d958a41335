package sysfield

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const now = 638_000_000_000_000_000

// write makes a shard of three records with both fields.
func write(t *testing.T, sp *blobio.Client, url string) {
	t.Helper()
	ctx := context.Background()
	src, err := fileio.OpenSource(ctx, sp, []string{fileio.Stdin}, fileio.SourceOptions{
		Format: fileio.NDJSON, Stdin: bytes.NewReader([]byte("{\"a\":1}\n{\"a\":2}\n{\"a\":null}\n")), BatchRows: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	added := Source(src, Options{IngestionTime: true, Now: now, RecordID: true})
	w, err := shardfmt.NewWriter(ctx, sp, url, added.Schema(), shardfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		batch, err := added.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, batch); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestInternalFieldsAreWrittenAndHidden(t *testing.T) {
	ctx, sp := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	write(t, sp, "mem://internalfield/x.amudai.shard")
	shard, err := shardfmt.Open(ctx, sp, "mem://internalfield/x.amudai.shard", shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := shard.Schema(ctx)
	if err != nil || len(s.Fields) != 3 || s.Fields[1].Internal != schema.InternalIngestionTimestamp || s.Fields[2].Internal != schema.InternalRecordIdentity {
		t.Fatalf("schema %v, %v", s, err)
	}
	for batch, err := range shard.Scan(ctx, shardfmt.ScanOptions{}) {
		if err != nil || batch.NumCols() != 1 {
			t.Fatalf("a scan shows %d columns, %v", batch.NumCols(), err)
		}
	}
	rows, seen := 0, map[string]bool{}
	for batch, err := range shard.Scan(ctx, shardfmt.ScanOptions{Internal: true}) {
		if err != nil || batch.NumCols() != 3 {
			t.Fatalf("%d columns, %v", batch.NumCols(), err)
		}
		for i, ticks := range batch.Column(1).(*arrowtype.DateTimeArray).Ticks() {
			if ticks != now {
				t.Errorf("row %d was ingested at %d", i, ticks)
			}
			seen[string(batch.Column(2).(*array.FixedSizeBinary).Value(i))] = true
			rows++
		}
	}
	if rows != 3 || len(seen) != 3 {
		t.Errorf("%d rows with %d identities", rows, len(seen))
	}
}

func TestIdentitiesOfTwoAddersDiffer(t *testing.T) {
	s := &schema.Schema{}
	if a, b := New(s, Options{RecordID: true}), New(s, Options{RecordID: true}); a.prefix == b.prefix {
		t.Error("two adders share their prefix")
	}
	if len(s.Fields) != 0 {
		t.Error("the given schema was changed")
	}
}

func TestNoFieldsNoSource(t *testing.T) {
	if src := fileio.Source(nil); Source(src, Options{}) != nil {
		t.Error("a source was wrapped for nothing")
	}
}

package shardfmt

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop/rows"
)

// Every golden shard reads back to its rows.
func TestGoldenShards(t *testing.T) {
	for _, c := range slices.Concat(interop.Cases(t), interop.DefectCases(t)) {
		t.Run(c.Name, func(t *testing.T) { checkRows(t, c, ScanOptions{}) })
	}
}

// readAll reads a shard into one list of batches.
func readAll(t testing.TB, s *Shard, o ScanOptions) (out []arrow.RecordBatch) {
	t.Helper()
	for b, err := range s.Scan(context.Background(), o) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func checkRows(t *testing.T, c *interop.Case, o ScanOptions) {
	t.Helper()
	ctx := context.Background()
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	url, err := sp.Mount(ctx, c.Shard())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, sp, url, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Project(ctx, o.Columns, false)
	if err != nil {
		t.Fatal(err)
	}
	batches := readAll(t, s, o)
	at, failures := 0, 0
	c.ExpectedRows(t, func(row int, line []byte) {
		for len(batches) > 0 && at == int(batches[0].NumRows()) {
			batches, at = batches[1:], 0
		}
		if failures > 5 {
			return
		}
		if len(batches) == 0 {
			t.Errorf("row %d is missing", row)
			failures++
			return
		}
		if err := rows.Compare(line, all, batches[0], at); err != nil {
			t.Errorf("row %d: %v", row, err)
			failures++
		}
		at++
	})
	if failures > 0 {
		return
	}
	if len(batches) > 1 || len(batches) == 1 && at != int(batches[0].NumRows()) {
		t.Errorf("more rows than expected")
	}
}

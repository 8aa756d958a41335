package shardfmt

import (
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// Who scans a file with one worker gets batches that fit a processor's cache, unless they would cut blocks, whose values are decoded
// aside then; others get as many rows as they may.
func TestBatchesFitTheCache(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	want := map[string]int64{"ids": 64 << 10, "small": 32 << 10, "strings": 16 << 10}
	for _, c := range costColumns {
		rows, asked := want[c.name]
		if !asked {
			continue
		}
		shard, _ := costShard(t, client, c.typ, c.append)
		for _, s := range []struct {
			o    ScanOptions
			rows int64
		}{
			{ScanOptions{Workers: 1}, rows},
			{ScanOptions{Workers: 1, BatchRows: 20_000}, 20_000},
			{ScanOptions{Workers: 2}, DefaultBatchRows},
			{ScanOptions{Workers: 1, Filter: bind(t, shard, "v IS NOT NULL")}, DefaultBatchRows},
		} {
			all, most := int64(0), int64(0)
			for b, err := range shard.Scan(t.Context(), s.o) {
				if err != nil {
					t.Fatal(err)
				}
				all += b.NumRows()
				most = max(most, b.NumRows())
				b.Release()
			}
			if all != costRows || most != s.rows {
				t.Errorf("%s, %+v: %d rows in batches of up to %d, want %d", c.name, s.o, all, most, s.rows)
			}
		}
	}
}

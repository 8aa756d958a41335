package tablescan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/internal/tablescan"
)

// TestTopRowsOfRemoteStores: a sample is read of a remote store too where the keys are large and few rows are wanted, and the bounds of blocks then leave
// a third of the bytes out at least.
func TestTopRowsOfRemoteStores(t *testing.T) {
	smallSamples(t, 20_000)
	was := *tablescan.RemoteSample
	t.Cleanup(func() { *tablescan.RemoteSample = was })
	*tablescan.TopBytes = 0
	const columns, shards, rows = "id: Int64, any: Int64", 8, 60_000
	tbl := remoteTable(t, columns)
	r := rand.New(rand.NewPCG(3, 5))
	for shard := range shards {
		var text strings.Builder
		for i := range rows {
			fmt.Fprintf(&text, `,{"id":%d,"any":%d}`, shard*rows+i, r.Int64N(1<<60))
		}
		oneShard(t, tbl, columns, "["+text.String()[1:]+"]")
	}
	for _, c := range []struct {
		order  string
		limit  int64
		sample bool
	}{{"id desc", 2, true}, {"any", 1, true}, {"any desc", 1, true}, {"any", 2, true}, {"any", 3, false}} {
		order, limit := c.order, c.limit
		var bytes, gets [2]int64
		var last [2]string
		for i, least := range []int64{1 << 40, 0} {
			*tablescan.RemoteSample = least
			keys, err := catalog.ParseOrder(order)
			if err != nil {
				t.Fatal(err)
			}
			p, err := tbl.Plan(t.Context(), catalog.ScanOptions{Limit: limit, OrderBy: keys})
			if err != nil {
				t.Fatal(err)
			}
			before := tbl.Catalog().Client().Counters()
			row, err := p.LastOf(t.Context(), &catalog.ScanStats{}, p.TopKeys())
			if err != nil || row == nil {
				t.Fatal(row, err)
			}
			n := tbl.Catalog().Client().Counters().Sub(before)
			bytes[i], gets[i], last[i] = n.GetBytes, n.Gets, fmt.Sprint(row.Values())
		}
		t.Logf("%s: %d bytes by %d requests, with a sample %d by %d", order, bytes[0], gets[0], bytes[1], gets[1])
		if (bytes[1] < bytes[0]*2/3) != c.sample || last[0] != last[1] {
			t.Errorf("%s: %d bytes, with a sample %d; the last row is %s and %s", order, bytes[0], bytes[1], last[0], last[1])
		}
	}
}

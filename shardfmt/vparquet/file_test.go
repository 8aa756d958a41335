package vparquet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
)

// Every type and every way of nesting comes back as it is in the shard, with and without nulls, from several stripes and pages.
func TestEveryTypeAndNesting(t *testing.T) {
	c := blobio.NewClient()
	defer c.Close()
	for i, nulls := range []float64{0, 0.3, 1} {
		s := parseSchema(t, everyType)
		f := &filler{rand.New(rand.NewPCG(1, uint64(i))), nulls}
		batches := []arrow.RecordBatch{randomBatch(s, f, 9000), randomBatch(s, f, 1), randomBatch(s, f, 1003)}
		shard := writeShard(t, c, fmt.Sprintf("mem://vparquet-types/%d.amudai.shard", i), s, batches...)
		file := openFile(t, shard, Options{})
		b := whole(t, file)
		if path := os.Getenv("VPARQUET_DUMP"); path != "" {
			if err := os.WriteFile(fmt.Sprintf("%s/types%d.parquet", path, i), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checkRows(t, b, s, batches...)
	}
}

package merge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
)

// slow is a bucket whose reads take as long as a cloud's.
type slow struct{ blobio.Bucket }

const latency = 30 * time.Millisecond

func (s slow) ReadRange(ctx context.Context, key string, off int64, dst []byte, opts blobio.ReadOptions) (int, blobio.Info, error) {
	time.Sleep(latency)
	return s.Bucket.ReadRange(ctx, key, off, dst, opts)
}

// BenchmarkThousand merges 1,000 shards of 20 fields at 30 ms a request.
func BenchmarkThousand(b *testing.B) {
	ctx := context.Background()
	var text []string
	for i := range 20 {
		text = append(text, fmt.Sprintf("f%d: Int64", i))
	}
	plain := blobio.NewClient(blobio.ClientOptions{})
	in := make([]Input, 1000)
	for i := range in {
		in[i] = spec{schema: strings.Join(text, ", "), stripes: []uint64{10}, creation: [2]uint64{1, 2}}.make(b, plain, fmt.Sprintf("mem://thousand/%d/r.amudai.shard", i))
	}
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	if err := (sp.MountBucket("mem://thousand/", slow{memblob.Open("thousand")})); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		before := sp.Counters()
		res, err := Concat(ctx, sp, fmt.Sprintf("mem://thousand/out%d-%d.amudai.shard", b.N, n), in, Options{Limits: Limits{Objects: -1}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(sp.Counters().Sub(before).Gets), "gets")
		b.ReportMetric(float64(res.Size), "root-B")
	}
}

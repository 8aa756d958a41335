package vparquet

import (
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// BenchmarkChunk makes column chunks of 262,144 rows without a cache.
func BenchmarkChunk(b *testing.B) {
	for i, column := range []string{"a: Int64", "a: Int32", "a: Boolean", "a: DateTime", "a: String", "a: Decimal", "a: List<Int32>", "a: Struct<x: Struct<y: Int64>>"} {
		for name, nulls := range map[string]float64{"": 0, " nulls": 0.2} {
			b.Run(column+name, func(b *testing.B) {
				c := blobio.NewClient(blobio.ClientOptions{})
				defer c.Close()
				s := parseSchema(b, column)
				f := openFile(b, writeShard(b, c, "mem://vparquet-bench/"+strconv.Itoa(i)+strings.TrimSpace(name)+".amudai.shard", s, randomBatch(s, &filler{rand.New(rand.NewPCG(9, 9)), nulls}, 1<<18)), Options{})
				size := f.groups[0].chunks[0].room
				b.SetBytes(size)
				for b.Loop() {
					if err := f.WriteRange(b.Context(), io.Discard, f.groups[0].chunks[0].start, size); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

package merge_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// Two shards become one: the new root lists the stripes of both, whose bytes stay where they are.
func ExampleConcat() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	s, err := schema.Parse("id: Int64")
	check(err)
	var inputs []merge.Input
	for i, text := range []string{`[{"id": 1}, {"id": 2}]`, `[{"id": 3}, {"id": 4}]`} {
		w, err := shardfmt.NewWriter(ctx, client, fmt.Sprintf("mem://merging/%d.amudai.shard", i), s, shardfmt.WriterOptions{})
		check(err)
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader(text))
		check(err)
		check(w.Write(ctx, b))
		written, err := w.Close(ctx)
		check(err)
		inputs = append(inputs, merge.Input{URL: written.URL, Size: written.Size})
	}

	merged, err := merge.Concat(ctx, client, "mem://merging/all.amudai.shard", inputs, merge.Options{})
	check(err)
	fmt.Println(merged.Records, "records in", merged.Stripes, "stripes of", len(merged.Objects), "objects")

	report, err := verify.Shard(ctx, client, merged.URL, verify.Options{Size: merged.Size})
	check(err)
	fmt.Println("sound:", report.OK)
	// Output:
	// 4 records in 2 stripes of 2 objects
	// sound: true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

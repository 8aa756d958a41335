package verify_test

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
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// A shard that is sound; Report.Errors reports what is wrong with one that is not.
func ExampleShard() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const url = "mem://verified/cities.amudai.shard"
	written(ctx, client, url, shardfmt.WriterOptions{})

	report, err := verify.Shard(ctx, client, url, verify.Options{})
	check(err)
	fmt.Println(report.OK, len(report.Errors))
	// Output:
	// true 0
}

// written writes a shard of three records.
func written(ctx context.Context, client *blobio.Client, url string, o shardfmt.WriterOptions) *schema.Schema {
	s, err := schema.Parse("id: Int64, city: String")
	check(err)
	w, err := shardfmt.NewWriter(ctx, client, url, s, o)
	check(err)
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s),
		strings.NewReader(`[{"id": 1, "city": "Bonn"}, {"id": 2, "city": "Berlin"}, {"id": 3, "city": "Kiel"}]`))
	check(err)
	check(w.Write(ctx, b))
	_, err = w.Close(ctx)
	check(err)
	return s
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

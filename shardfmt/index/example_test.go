package index_test

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
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// The rows of a stripe whose text has a term.
func ExampleDescriptor_OpenText() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const url = "mem://indexed/cities.amudai.shard"
	var spec shardfmt.IndexSpec
	err := spec.Set("text:city")
	check(err)
	written(ctx, client, url, shardfmt.WriterOptions{Indexes: []shardfmt.IndexSpec{spec}})
	shard, err := shardfmt.Open(ctx, client, url, shardfmt.OpenOptions{})
	check(err)

	found, err := shard.Indexes(ctx, 0)
	check(err)
	text, err := found[0].OpenText(ctx, client, url, urlresolve.Policy{})
	check(err)
	entries, err := text.Lookup(ctx, "berlin")
	check(err)
	answer, err := index.Combine(entries)
	check(err)
	for _, set := range answer.Certain {
		fmt.Println("stripe", set.Stripe, "rows", set.Positions)
	}
	// Output: stripe 0 rows [1]
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

package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// What a shard states about a field, and how its blocks are encoded, as a person reads it.
func ExampleShard() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const url = "mem://inspected/cities.amudai.shard"
	written(ctx, client, url, shardfmt.WriterOptions{})

	seen, err := inspect.Shard(ctx, client, url, inspect.Options{Detail: inspect.Statistics})
	check(err)
	fmt.Println(seen.Records, "records in", len(seen.Stripes), "stripe")
	var stated struct {
		Range struct {
			Min string `json:"min_value"`
			Max string `json:"max_value"`
		} `json:"range_stats"`
	}
	city := seen.Fields["city"]
	check(json.Unmarshal(city.Shard, &stated))
	fmt.Println(city.Type, "from", stated.Range.Min, "to", stated.Range.Max)
	// Output:
	// 3 records in 1 stripe
	// String from Berlin to Kiel
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

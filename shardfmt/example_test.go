package shardfmt_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// writeCities writes a shard of three records.
func writeCities(ctx context.Context, client *blobio.Client, url string, o shardfmt.WriterOptions) *shardfmt.Written {
	s, err := schema.Parse("id: Int64, city: String")
	check(err)
	w, err := shardfmt.NewWriter(ctx, client, url, s, o)
	check(err)
	check(w.Write(ctx, batch(s, `[{"id": 1, "city": "Bonn"}, {"id": 2, "city": "Berlin"}, {"id": 3, "city": "Kiel"}]`)))
	written, err := w.Close(ctx)
	check(err)
	return written
}

// batch makes records of the canonical types of a schema.
func batch(s *schema.Schema, text string) arrow.RecordBatch {
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader(text))
	check(err)
	return b
}

// Write a shard, open it, and read the records that a filter leaves, of one column.
func Example() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const url = "mem://example/cities.amudai.shard"
	writeCities(ctx, client, url, shardfmt.WriterOptions{})

	shard, err := shardfmt.Open(ctx, client, url, shardfmt.OpenOptions{})
	check(err)
	s, err := shard.Schema(ctx)
	check(err)
	expr, err := filter.Parse("id >= 2 AND city LIKE 'B%'")
	check(err)
	bound, err := filter.Bind(expr, s)
	check(err)

	fmt.Println(shard.Records(), "records of", s)
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{Columns: []string{"city"}, Filter: bound}) {
		check(err)
		fmt.Println(b.Column(0))
	}
	// Output:
	// 3 records of id: Int64, city: String
	// ["Berlin"]
}

// A shard in memory, or behind anything that reads at an offset, is opened without a store.
func ExampleOpenReaderAt() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const url = "mem://example/single.amudai.shard"
	written := writeCities(ctx, client, url, shardfmt.WriterOptions{Layout: shardfmt.Single})
	data, _, err := client.ReadAll(ctx, url, 1<<20)
	check(err)

	shard, err := shardfmt.OpenReaderAt(ctx, bytes.NewReader(data), written.Size, shardfmt.OpenOptions{})
	check(err)
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{Columns: []string{"id"}, Start: 1, End: 3}) {
		check(err)
		fmt.Println(b.Column(0))
	}
	// Output: [2 3]
}

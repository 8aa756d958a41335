package vparquet_test

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
	"github.com/shardcat/shardcat/shardfmt/vparquet"
)

// A shard as a Parquet file: its size is known before any of it is made, and any range of it can be requested.
func ExampleOpen() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const url = "mem://virtual/cities.amudai.shard"
	written(ctx, client, url, shardfmt.WriterOptions{})
	shard, err := shardfmt.Open(ctx, client, url, shardfmt.OpenOptions{})
	check(err)

	file, err := vparquet.Open(ctx, shard, vparquet.Options{Cache: vparquet.NewCache(64 << 20)})
	check(err)
	magic := make([]byte, 4)
	check(file.ReadRange(ctx, file.Size()-4, magic))
	fmt.Println(file.Rows(), "rows,", len(file.RowGroups()), "row group,", string(magic))
	// Output:
	// 3 rows, 1 row group, PAR1
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

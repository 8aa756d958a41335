package convert_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
)

// A CSV file becomes a Parquet file; the names report the formats.
func ExampleFile() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if err := client.Put(ctx, "mem://converted/cities.csv", []byte("id,city\n1,Bonn\n2,Berlin\n")); err != nil {
		log.Fatal(err)
	}
	result, err := convert.File(ctx, client, "mem://converted/cities.csv", "mem://converted/cities.parquet", convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Rows, "rows from", result.From, "to", result.To, "with", len(result.Losses), "losses")
	// Output: 2 rows from csv to parquet with 0 losses
}

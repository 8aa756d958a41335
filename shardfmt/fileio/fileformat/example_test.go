package fileformat_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/fileio/convert"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
)

// Settings belong to a format: one that it lacks, or a value that makes no sense, is an error that names the option.
func ExampleSettings() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if err := client.Put(ctx, "mem://settings/n.csv", []byte("n\n1\n2\n")); err != nil {
		log.Fatal(err)
	}
	_, err := convert.File(ctx, client, "mem://settings/n.csv", "mem://settings/n.parquet", convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	seen, err := fileio.Inspect(ctx, client, "mem://settings/n.parquet", fileio.Parquet, 1, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(seen.Format, seen.Records, "records")
	fmt.Println(fileio.CheckSettings(fileio.Parquet, fileformat.Settings{"no-such-option": "1"}))
	// Output:
	// parquet 2 records
	// invalid argument "1" for --no-such-option: the format parquet has no such option
}

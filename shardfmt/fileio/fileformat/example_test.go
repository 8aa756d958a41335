package fileformat_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
)

// Settings belong to a format: one that it lacks, or a value that makes no sense, is an error that names the option.
func ExampleSettings() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	s := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"n": 1}, {"n": 2}]`))
	if err != nil {
		log.Fatal(err)
	}
	out, err := fileio.Parquet.CreateBatches(ctx, client, "mem://settings/n.parquet", s, fileio.SinkOptions{})
	if err == nil {
		err = errors.Join(out.Write(b), out.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
	seen, err := fileio.Parquet.Inspect(ctx, client, "mem://settings/n.parquet", 1, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(seen.Format, seen.Records, "records")
	fmt.Println(fileio.Parquet.CheckSettings(fileformat.Settings{"no-such-option": "1"}))
	// Output:
	// parquet 2 records
	// invalid argument "1" for --no-such-option: the format parquet has no such option
}

package gcsblob_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
)

// Mount opens a bucket with the options of its URL; objects are named without them from then on. Credentials
// come from the environment, as Google's library finds them.
func Example() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()

	folder, err := client.Mount(ctx, "gs://logs/2026")
	if err != nil {
		log.Fatal(err)
	}
	tail, info, err := client.ReadSuffix(ctx, folder+"/day.amudai.shard", 64<<10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(tail), "of", info.Size, "bytes")
}

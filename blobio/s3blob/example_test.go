package s3blob_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
)

// Mount opens a bucket with the options of its URL; objects are named without them from then on. Credentials
// come from the environment, as the AWS SDK finds them.
func Example() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()

	folder, err := client.Mount(ctx, "s3://logs/2026?region=eu-central-1")
	if err != nil {
		log.Fatal(err)
	}
	tail, info, err := client.ReadSuffix(ctx, folder+"/day.amudai.shard", 64<<10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(tail), "of", info.Size, "bytes")
}

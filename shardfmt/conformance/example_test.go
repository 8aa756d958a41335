package conformance_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/conformance"
)

// Write the kit into a folder, and count the damaged shards that a reader must refuse.
func Example() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	kit, err := conformance.Write(ctx, client, "file:///srv/kit/")
	if err != nil {
		log.Fatal(err)
	}
	damaged := 0
	for _, c := range kit.Cases {
		if c.Answer != "" {
			damaged++
		}
	}
	fmt.Println(len(kit.Cases), "cases,", damaged, "damaged")
}

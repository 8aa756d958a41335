package conformance_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/conformance"
)

// Write the kit into a folder, and ask a reader in another language for every case of it.
func Example() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if _, err := conformance.Write(ctx, client, "file:///srv/kit/"); err != nil {
		log.Fatal(err)
	}
	outcomes, err := conformance.Run(ctx, "/srv/kit", "myreader cat "+conformance.Placeholder, conformance.RunOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, score := range conformance.Scores(outcomes) {
		fmt.Printf("%+v\n", score)
	}
}

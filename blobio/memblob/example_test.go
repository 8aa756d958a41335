package memblob_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
)

// Objects of one name are shared by all clients of the process.
func Example() {
	ctx := context.Background()
	writer, reader := blobio.NewClient(blobio.ClientOptions{}), blobio.NewClient(blobio.ClientOptions{})
	defer writer.Close()
	defer reader.Close()

	if err := writer.Put(ctx, "mem://example/greeting.txt", []byte("hello")); err != nil {
		log.Fatal(err)
	}
	data, _, err := reader.ReadAll(ctx, "mem://example/greeting.txt", 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data))
	// Output: hello
}

package fileblob_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
)

// An object is created once: the second writer of a name is refused, and the first one's content stays.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "objects")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()

	url := "file://" + dir + "/greeting.txt"
	if err := client.Put(ctx, url, []byte("hello")); err != nil {
		log.Fatal(err)
	}
	err = client.Put(ctx, url, []byte("another"))
	fmt.Println(errors.Is(err, blobio.ErrExists))
	data, info, err := client.ReadAll(ctx, url, 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data), info.Size)
	// Output:
	// true
	// hello 5
}

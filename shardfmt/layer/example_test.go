package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/layer"
)

// A file of two sorted keys with their weights, and a lookup in it.
func Example() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	const types = "string,i64"

	var file bytes.Buffer
	w, err := layer.NewWriter(&file, types, layer.WriteOptions{})
	check(err)
	check(w.Write(0, layer.Value{Bytes: []byte("Berlin")}, layer.Value{Int: 1}))
	check(w.Write(0, layer.Value{Bytes: []byte("Bonn")}, layer.Value{Int: 2}))
	check(w.Close())
	check(client.Put(ctx, "mem://layers/cities.feldera", file.Bytes()))

	f, err := layer.Open(ctx, client, "mem://layers/cities.feldera", types)
	check(err)
	found, err := f.Lookup(ctx, layer.Value{Bytes: []byte("Bonn")})
	check(err)
	fmt.Println(f.Rows(0), "rows, found:", found != nil)
	// Output: 2 rows, found: true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

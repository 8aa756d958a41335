package fileio_test

import (
	"context"
	"errors"
	"io"
	"log"
	"os"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// Records of a CSV file, whose types are inferred, as NDJSON.
func Example() {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	check(client.Put(ctx, "mem://files/cities.csv", []byte("id,city\n1,Bonn\n2,\n")))

	source, err := fileio.OpenSource(ctx, client, []string{"mem://files/cities.csv"}, fileio.SourceOptions{})
	check(err)
	defer source.Close()
	sink, err := fileio.NewSink(fileio.NDJSON, os.Stdout, source.Schema(), fileio.SinkOptions{})
	check(err)
	for {
		batch, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		check(sink.Write(batch))
		batch.Release()
	}
	check(sink.Close())
	// Output:
	// {"id":1,"city":"Bonn"}
	// {"id":2,"city":null}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

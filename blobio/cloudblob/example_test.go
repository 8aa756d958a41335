package cloudblob_test

import (
	"context"
	"fmt"
	"log"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/memblob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/cloudblob"
)

// A bucket of gocloud's that the caller opened, here one in memory below a prefix, is read and written like any other.
// FromBucket of its provider's package (s3blob, azblob, gcsblob) has no limits of reading.
func ExampleFromBucket() {
	ctx := context.Background()
	opened, err := blob.OpenBucket(ctx, "mem://")
	if err != nil {
		log.Fatal(err)
	}
	bucket := cloudblob.FromBucket("mem://mine/", blob.PrefixedBucket(opened, "flights/"))
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if err := client.MountBucket("mem://mine/", bucket); err != nil {
		log.Fatal(err)
	}
	if err := client.Put(ctx, "mem://mine/a.txt", []byte("written once")); err != nil {
		log.Fatal(err)
	}
	tail, info, err := client.ReadSuffix(ctx, "mem://mine/a.txt", 4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, the end of %d bytes\n", tail, info.Size)
	fmt.Println(len(bucket.(blobio.Limited).Limits()), "limits without hooks")
	// Output:
	// once, the end of 12 bytes
	// 5 limits without hooks
}

//go:build cloud

package blobtest_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/azblob"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/gcsblob"
	"github.com/shardcat/shardcat/blobio/s3blob"
)

// TestCloud runs the suite on real buckets, which needs accounts and costs a few cents; see
// docs/guides/object-stores.md. It writes below shardcat-conformance/ and deletes what it wrote.
//
//	SHARDCAT_CLOUD_S3=s3://bucket?region=eu-west-1 go test -tags cloud -run TestCloud ./blobio/blobtest
func TestCloud(t *testing.T) {
	for variable, open := range map[string]blobio.OpenBucket{"SHARDCAT_CLOUD_S3": s3blob.OpenURL,
		"SHARDCAT_CLOUD_AZURE": azblob.OpenURL, "SHARDCAT_CLOUD_GCS": gcsblob.OpenURL} {
		t.Run(variable, func(t *testing.T) {
			raw := os.Getenv(variable)
			if raw == "" {
				t.Skipf("%s is not set: no bucket to test with", variable)
			}
			u, err := url.Parse(raw)
			if err != nil {
				t.Fatalf("%s is not a URL", variable)
			}
			prefix := fmt.Sprintf("shardcat-conformance/%d/", time.Now().UnixNano())
			t.Cleanup(func() { sweep(t, raw, prefix) })
			blobtest.Run(t, blobtest.Store{
				Open: func(t *testing.T) blobio.Bucket {
					b, err := open(context.Background(), u)
					if err != nil {
						t.Fatal(err)
					}
					return b
				},
				Prefix: prefix,
			})
		})
	}
}

// sweep deletes what the suite wrote.
func sweep(t *testing.T, raw, prefix string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	root, err := client.Mount(ctx, raw)
	if err != nil {
		t.Error(err)
		return
	}
	for info, err := range client.List(ctx, root+prefix) {
		if err == nil {
			err = client.Delete(ctx, info.URL, "")
		}
		if err != nil {
			t.Errorf("an object was left below %s: %v", prefix, err)
			return
		}
	}
}

package gcsblob

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
)

// server is the environment variable that names a bucket on a real server, with its options.
const server = "SHARDCAT_TEST_GCS"

// TestConformance runs the suite of all stores on a real server.
func TestConformance(t *testing.T) {
	raw := os.Getenv(server)
	if raw == "" {
		t.Skipf("%s is not set: no server to test with (.ci/servers starts one)", server)
	}
	u, err := url.Parse(raw + "&list_page=15&part_size=2097152")
	if err != nil {
		t.Fatalf("%s is no URL", server)
	}
	blobtest.Run(t, blobtest.Store{
		Open: func(t *testing.T) blobio.Bucket {
			b, err := OpenURL(context.Background(), u)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		Prefix:            fmt.Sprintf("conformance/%d/", time.Now().UnixNano()),
		IgnoresDeletePins: "fake-gcs-server does not look at ifGenerationMatch of a delete",
	})
}

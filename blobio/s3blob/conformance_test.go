package s3blob

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

// TestConformance runs the suite of all stores on real servers, each a bucket with its options.
func TestConformance(t *testing.T) {
	for variable, start := range map[string]string{
		"SHARDCAT_TEST_S3":    ".ci/servers starts versitygw",
		"SHARDCAT_TEST_MINIO": "SHARDCAT_SERVERS=minio .ci/servers starts MinIO",
	} {
		t.Run(variable, func(t *testing.T) {
			raw := os.Getenv(variable)
			if raw == "" {
				t.Skipf("%s is not set: no server to test with (%s)", variable, start)
			}
			u, err := url.Parse(raw + "&list_page=15&part_size=5242880")
			if err != nil {
				t.Fatalf("%s is no URL", variable)
			}
			blobtest.Run(t, blobtest.Store{
				Open: func(t *testing.T) blobio.Bucket {
					b, err := OpenURL(context.Background(), u)
					if err != nil {
						t.Fatal(err)
					}
					return b
				},
				Parts:  11 << 20,
				Prefix: fmt.Sprintf("conformance/%d/", time.Now().UnixNano()),
			})
		})
	}
}

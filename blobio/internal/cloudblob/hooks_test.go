package cloudblob_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/azblob"
	"github.com/shardcat/shardcat/blobio/gcsblob"
	"github.com/shardcat/shardcat/blobio/s3blob"
)

// onAzure is onS3 for Azure.
func onAzure(t *testing.T, handler http.HandlerFunc) *blob.Bucket {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := container.NewClientWithNoCredential(server.URL+"/c", nil)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := azureblob.OpenBucket(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

// onePage is how each store lists the object below/k.
var onePage = map[string]string{
	"s3":     `<ListBucketResult><Contents><Key>below/k</Key><Size>20</Size><ETag>"1"</ETag><LastModified>2026-01-01T00:00:00Z</LastModified></Contents></ListBucketResult>`,
	"azure":  `<EnumerationResults><Blobs><Blob><Name>below/k</Name><Properties><Content-Length>20</Content-Length><Etag>1</Etag><Last-Modified>Mon, 02 Jan 2006 15:04:05 GMT</Last-Modified><Content-MD5></Content-MD5></Properties></Blob></Blobs></EnumerationResults>`,
	"google": `{"items":[{"name":"below/k","size":"20","generation":"1","updated":"2026-01-01T00:00:00Z"}]}`,
}

// TestHooksKeepThePrefix: with the hooks of its provider, a bucket below a prefix reads and lists what lies there; a read
// has its condition, and reports the ETag in one request.
func TestHooksKeepThePrefix(t *testing.T) {
	for name, tc := range map[string]struct {
		open func(*testing.T, http.HandlerFunc) *blob.Bucket
		from func(root string, below *blob.Bucket) blobio.Bucket
		etag string
	}{
		"s3":     {onS3, s3blob.FromBucket, `"1"`},
		"azure":  {onAzure, azblob.FromBucket, `"1"`},
		"google": {onGCS, gcsblob.FromBucket, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			var reads []string
			below := tc.open(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("prefix") {
					fmt.Fprint(w, onePage[name])
					return
				}
				reads = append(reads, r.URL.Path+" "+r.Header.Get("If-Match")+r.URL.Query().Get("ifGenerationMatch"))
				h := w.Header()
				h.Set("Content-Range", "bytes 5-14/20")
				h.Set("ETag", `"1"`)
				h.Set("X-Goog-Generation", "1")
				h.Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
				w.WriteHeader(http.StatusPartialContent)
				fmt.Fprint(w, "0123456789")
			})
			b := tc.from("mem://stranger/", blob.PrefixedBucket(below, "below/"))
			dst := make([]byte, 10)
			_, info, err := b.ReadRange(t.Context(), "k", 5, dst, blobio.ReadOptions{IfMatch: tc.etag})
			if err != nil || string(dst) != "0123456789" || info.ETag != tc.etag || info.Size != 20 {
				t.Errorf("%q of %+v, %v", dst, info, err)
			}
			if len(reads) != 1 || !strings.Contains(reads[0], "below/k "+tc.etag) {
				t.Errorf("requests %q, want one for below/k with its condition", reads)
			}
			var listed []string
			for info, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
				listed = append(listed, fmt.Sprint(info.Key, " ", info.ETag, err))
			}
			if want := "k " + tc.etag + "<nil>"; len(listed) != 1 || listed[0] != want {
				t.Errorf("listed %q, want %q", listed, want)
			}
		})
	}
}

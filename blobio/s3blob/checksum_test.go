package s3blob

import (
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestUploadsCarryChecksums: also to an endpoint of one's own, in a form that every store knows.
func TestUploadsCarryChecksums(t *testing.T) {
	open := func(t *testing.T, handler http.HandlerFunc) blobio.Bucket { return stub(t, handler, "") }
	answer := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Method == http.MethodPost {
			fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
		}
	}
	blobfake.SendsChecksums(t, open, answer, func(r *http.Request) bool { return r.Method == http.MethodPut },
		func(r *http.Request, body []byte) (told, same bool) {
			sum := md5.Sum(body)
			got := r.Header.Get("Content-Md5")
			return got != "", got == base64.StdEncoding.EncodeToString(sum[:])
		})
}

// TestProbeChecksum: a store that refuses the wrong checksum compares them, one that takes it does not.
func TestProbeChecksum(t *testing.T) {
	for want, handler := range map[bool]http.HandlerFunc{
		true: refuse(400, "BadDigest"), false: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"1"`) }} {
		client := blobio.NewClient(blobio.ClientOptions{})
		if err := client.MountBucket("s3://b/", stub(t, handler, "")); err != nil {
			t.Fatal(err)
		}
		if got, known, err := client.ProbeChecksum(t.Context(), "s3://b/k"); got != want || !known || err != nil {
			t.Errorf("%v, %v, %v; want %v", got, known, err, want)
		}
	}
}

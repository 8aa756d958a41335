package s3blob

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// TestReceiptIsMD5: the ETag of an object of one request is taken as the MD5 of its content, however it is printed; others prove nothing.
func TestReceiptIsMD5(t *testing.T) {
	for quirks, proves := range map[string]bool{"": true, "etag-bare=put": true, "etag-weak=put": true, "etag-upper=put": true, "etag-gzip=put": true, "etag-none=put": false} {
		s, bucket := quirky(t, quirks, "")
		client := blobio.NewClient(blobio.ClientOptions{})
		if err := client.MountBucket("s3://b/", bucket); err != nil {
			t.Fatal(err)
		}
		for i, data := range []string{"content", "", "other content"} {
			proved, err := client.PutProved(t.Context(), fmt.Sprintf("s3://b/k%d", i), []byte(data))
			if err != nil || proved != proves {
				t.Errorf("%q, %q: proved %v, %v, want %v", quirks, data, proved, err, proves)
			}
		}
		if n := len(s.Requests("get")); n > 0 {
			t.Errorf("%q: %d reads", quirks, n)
		}
		client.Close()
	}
	for etag, is := range map[string]bool{`"0123456789abcdef0123456789ABCDEF"`: true, `"0123456789abcdef0123456789abcdef-2"`: false,
		`"0123456789abcdef0123456789abcdeg"`: false, "": false, `"0x8D4BCC2E4835CD0"`: false} {
		if _, ok := took(&http.Response{Header: http.Header{"Etag": {etag}}}); ok != is {
			t.Errorf("%s: %v, want %v", etag, ok, is)
		}
	}
}

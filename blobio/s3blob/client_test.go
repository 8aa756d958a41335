package s3blob

import (
	"net/http"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// TestMount: any spelling with options becomes the canonical location without them.
func TestMount(t *testing.T) {
	stub(t, func(http.ResponseWriter, *http.Request) {}, "")
	for raw, want := range map[string]string{
		"s3://b/p/q?endpoint=http://127.0.0.1:9&region=x": "s3://b/p/q",
		"s3a://b/p?region=x":                              "s3://b/p",
		"s3a://b?region=x":                                "s3://b/",
	} {
		client := blobio.NewClient()
		got, err := client.Mount(t.Context(), raw)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", raw, got, err, want)
		}
		client.Close()
	}
	client := blobio.NewClient()
	defer client.Close()
	for _, raw := range []string{"s3://AKID:" + secret + "@b/p", "s3://b/p?secret_access_key=" + secret} {
		_, err := client.Mount(t.Context(), raw)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("mounting a URL with a secret: %v", err)
		}
	}
}

package gcsblob

import (
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// TestMount: any spelling with options becomes the canonical location without them.
func TestMount(t *testing.T) {
	for raw, want := range map[string]string{
		"gs://b/p/q?endpoint=http://127.0.0.1:9": "gs://b/p/q",
		"gcs://b/p?anonymous=true":               "gs://b/p",
		"gcs://b?anonymous=true":                 "gs://b/",
	} {
		client := blobio.NewClient()
		got, err := client.Mount(t.Context(), raw)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", raw, got, err, want)
		}
		client.Close()
	}
}

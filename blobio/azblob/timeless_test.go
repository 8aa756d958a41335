package azblob

import (
	"io"
	"net/http"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// TestListWithoutTimes: a list whose entries lack their times or sizes is an error of an unknown outcome, never a list of old or of no objects.
func TestListWithoutTimes(t *testing.T) {
	for name, properties := range map[string]string{
		"no time":       `<Properties><Content-Length>20</Content-Length><Etag>1</Etag></Properties>`,
		"no size":       `<Properties><Etag>1</Etag><Last-Modified>Mon, 02 Jan 2006 15:04:05 GMT</Last-Modified></Properties>`,
		"no properties": ``,
	} {
		t.Run(name, func(t *testing.T) {
			b := stub(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/xml")
				io.WriteString(w, `<EnumerationResults><Blobs><Blob><Name>k</Name>`+properties+`</Blob></Blobs></EnumerationResults>`)
			}, "")
			n := 0
			var failed error
			for _, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
				if failed = err; err == nil {
					n++
				}
			}
			if n != 0 || blobio.Class(failed) != blobio.ErrUnknown {
				t.Errorf("%d entries, %v", n, failed)
			}
		})
	}
}

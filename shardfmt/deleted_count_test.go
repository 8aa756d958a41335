package shardfmt

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// The marks decide which records are deleted, not their number: of four records the first and the last are marked, whatever count the directory
// has. verify compares the two.
func TestMarksDecideWhatIsDeleted(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	for name, whole := range map[string]bool{"zero": false, "one": false, "two": true} {
		url, err := client.Mount(t.Context(), "testdata/deleted/deleted-count-"+name+".amudai.shard")
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), client, url, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, b := range readAll(t, s, ScanOptions{}) {
			text, err := array.RecordToStructArray(b).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, string(text))
		}
		if got := strings.ReplaceAll(strings.Join(rows, ""), "\n", ""); got != `[{"n":2},{"n":3}]` {
			t.Errorf("count %s: %s", name, got)
		}
		if marked, err := s.DeletedRecords(t.Context(), 0); err != nil || len(marked) != 1 || marked[0] != 9 {
			t.Errorf("count %s: marked %x, %v", name, marked, err)
		}
		r, err := verify.Shard(t.Context(), client, url, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.OK != whole || !whole && !strings.Contains(r.Errors[0].What, "2 records are marked as deleted") {
			t.Errorf("count %s: whole=%v, %v", name, r.OK, r.Errors)
		}
	}
}

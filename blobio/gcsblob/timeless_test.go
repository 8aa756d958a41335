package gcsblob

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// TestListWithoutTimes: an entry of a list without a time is completed by a HEAD; one that is gone by then is left out, and if the
// store knows no time at all it stays unknown.
func TestListWithoutTimes(t *testing.T) {
	heads := make(chan string, 10)
	b := stub(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		key := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		switch key {
		case "o":
			fmt.Fprint(w, `{"items":[{"name":"a","size":"1","generation":"1","updated":"2026-01-01T00:00:00Z"},{"name":"b","size":"2","generation":"1"},`+
				`{"name":"c","size":"3","generation":"1","updated":"1970-01-01T00:00:00Z"},{"name":"d","size":"4","generation":"1"},{"name":"e","size":"5","generation":"1"}]}`)
			return
		case "d":
			refuse(404, "notFound")(w, r)
		case "e":
			fmt.Fprint(w, `{"name":"e","bucket":"b","generation":"1","size":"5","crc32c":"AAAAAQ=="}`)
		default:
			fmt.Fprintf(w, `{"name":%q,"bucket":"b","generation":"1","size":"2","crc32c":"AAAAAQ==","updated":"2026-02-02T00:00:00Z"}`, key)
		}
		heads <- key
	}, "")
	got := map[string]time.Time{}
	for info, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		got[info.Key] = info.ModTime.UTC()
	}
	want := map[string]time.Time{"a": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), "b": time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC),
		"c": time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC), "e": {}}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(heads) != 4 {
		t.Errorf("%v after %d HEADs, want %v", got, len(heads), want)
	}
}

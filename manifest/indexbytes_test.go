package manifest

import (
	"testing"

	"github.com/apache/iceberg-go/table"
)

// TestIndexBytesOfATable: a snapshot has the bytes of all indexes, or none of them where an entry of an older version has not.
func TestIndexBytesOfATable(t *testing.T) {
	const key = "shardcat.total-index-bytes"
	b := newBench(t, nil)
	indexed := func(i int, bytes int64) *Entry {
		e := fake(i)
		e.IndexBytes, e.IndexesKnown = bytes, true
		return e
	}
	check := func(change Change, want string) {
		t.Helper()
		if got := b.commit(change).Summary.Properties[key]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(Change{Operation: table.OpAppend, Add: []*Entry{indexed(1, 70)}}, "70")
	check(Change{Operation: table.OpAppend, Add: []*Entry{indexed(2, 0), indexed(3, 5)}}, "75")
	check(Change{Operation: table.OpReplace, Add: []*Entry{indexed(4, 60)}, Remove: []string{fake(1).Path}}, "65")
	check(Change{Operation: table.OpAppend, Add: []*Entry{fake(5)}}, "")
	check(Change{Operation: table.OpAppend, Add: []*Entry{indexed(6, 1)}}, "")
	whole := indexed(7, 9)
	whole.Records = 500
	check(Change{Operation: table.OpReplace, Add: []*Entry{whole}, Remove: []string{fake(2).Path, fake(3).Path, fake(4).Path, fake(5).Path, fake(6).Path}}, "9")
}

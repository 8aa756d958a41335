package catalog

import (
	"slices"
	"testing"
)

// Small appends to a table try fewer encodings together than the first one did, by whichever handle, and what they append is read as ever.
func TestSmallAppendsRepeatEncodings(t *testing.T) {
	g := newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	const n, appends = 1200, 6
	var tried []int64
	for i := range appends {
		before := c.choices.of(tbl).Tried()
		ingest(t, g.load(c), IngestOptions{}, rows(i*n, n))
		tried = append(tried, c.choices.of(tbl).Tried()-before)
	}
	later := int64(0)
	for _, more := range tried[1:] {
		later += more
	}
	if tried[0] == 0 || later > tried[0] {
		t.Errorf("tries of each append: %v", tried)
	}
	if ids, _ := scanIDs(t, g.load(c), ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, appends*n)) {
		t.Errorf("%d rows", len(ids))
	}
}

package catalog

import (
	"context"
	"os"
	"testing"
)

// TestClosedCatalogsLeaveNoFiles: a catalog that was written to and read, and is closed, has no open file, of its database or of the warehouse.
func TestClosedCatalogsLeaveNoFiles(t *testing.T) {
	ctx := context.Background()
	dir, names := twoTables(t)
	files := func() map[string]bool {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc here:", err)
		}
		open := map[string]bool{}
		for _, e := range entries {
			name, _ := os.Readlink("/proc/self/fd/" + e.Name())
			open[e.Name()+" "+name] = true
		}
		return open
	}
	before := files()
	for n := range 10 {
		c, err := Open(ctx, Options{URI: "sqlite:" + dir + "/a.db", Warehouse: dir + "/warehouse"})
		if err != nil {
			t.Fatal(err)
		}
		tbl, err := c.Load(ctx, names[0])
		if err != nil {
			t.Fatal(err)
		}
		ingest(t, tbl, IngestOptions{}, rows(1000+10*n, 10))
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	after := files()
	if len(after) > len(before) {
		t.Errorf("%d open files, %d before: %v", len(after), len(before), after)
	}
}

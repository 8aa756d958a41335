package catalog

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// TestRecordsOfReaderAreReleased: a reader's record is gone at the next one, as with any reader, unless it was retained; in
// either types.
func TestRecordsOfReaderAreReleased(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl, err := c.Create(ctx, Name{Table: "everyday"}, CreateOptions{Arrow: everyday, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	const files, rows = 3, 50
	var lines []string
	for i := range rows {
		lines = append(lines, strings.Replace(strings.Trim(everydayRows, "[]"), `"name": "a"`, fmt.Sprintf(`"name": "row %d"`, i), 1))
	}
	all := "[" + strings.Join(lines, ",") + "]"
	for range files {
		if _, err := tbl.Append(ctx, reader(t, everyday, all), IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want := reader(t, everyday, all)
	want.Next()
	tbl = loadNamed(t, c, "everyday")
	for _, canonical := range []bool{false, true} {
		r, err := tbl.Read(ctx, ReadOptions{ScanOptions: ScanOptions{Ordered: true}, Canonical: canonical})
		if err != nil {
			t.Fatal(err)
		}
		var kept []arrow.RecordBatch
		var passed arrow.RecordBatch
		for r.Next() {
			b := r.RecordBatch()
			if len(kept) == files-1 {
				passed = b
			} else {
				b.Retain()
			}
			kept = append(kept, b)
		}
		if r.Err() != nil || len(kept) != files || passed.Columns() != nil {
			t.Fatalf("%d records, %v; the last one has %d columns", len(kept), r.Err(), passed.NumCols())
		}
		for _, b := range kept[:files-1] {
			if !canonical && !array.RecordEqual(want.RecordBatch(), b) || !array.RecordEqual(kept[0], b) {
				t.Errorf("canonical %v: a retained record is %.300s", canonical, fmt.Sprint(b))
			}
		}
		for _, b := range kept[:files-1] {
			b.Release()
		}
		r.Release()
	}
}

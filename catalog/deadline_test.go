package catalog

import (
	"context"
	"testing"
)

// TestTableOutlivesTheCallThatLoadedIt: the state that a call with a deadline has loaded serves later calls, appends and reads.
func TestTableOutlivesTheCallThatLoadedIt(t *testing.T) {
	c, _ := openLocal(t)
	tbl, err := c.Create(t.Context(), tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	ctx, cancel := context.WithCancel(t.Context())
	if err := tbl.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	ctx, cancel = context.WithCancel(t.Context())
	if tbl, err = c.Load(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	cancel()
	p, err := tbl.Plan(t.Context(), ScanOptions{})
	if err != nil || p.Total != 2 {
		t.Fatal(p, err)
	}
}

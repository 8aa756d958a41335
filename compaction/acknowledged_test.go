package compaction

import (
	"context"
	"testing"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// missingOnce answers the first load after a successful commit with "no such table", as a server behind a balancer may that fails over.
type missingOnce struct {
	icecatalog.Catalog
	committed, missed bool
}

func (m *missingOnce) CommitTable(ctx context.Context, ident table.Identifier, r []table.Requirement, u []table.Update) (table.Metadata, string, error) {
	meta, at, err := m.Catalog.CommitTable(ctx, ident, r, u)
	m.committed = err == nil
	return meta, at, err
}

func (m *missingOnce) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if m.committed && !m.missed {
		m.missed = true
		return nil, icecatalog.ErrNoSuchTable
	}
	return m.Catalog.LoadTable(ctx, ident)
}

// TestAcknowledgedCompaction: a compaction whose commit succeeded loses no row, whatever the catalog returns afterwards.
func TestAcknowledgedCompaction(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 4)
	before := len(contents(t, tbl))
	o := g.options()
	icebergaccess.Wrap(&o, func(ice icecatalog.Catalog) icecatalog.Catalog { return &missingOnce{Catalog: ice} })
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	own, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Compact(ctx, own, Policy{}, Options{})
	if report == nil || len(report.Results) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if err := tbl.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if shards, after := tbl.Describe().Shards, len(contents(t, tbl)); shards != 1 || after != before {
		t.Errorf("%d shards with %d rows, before %d rows", shards, after, before)
	}
}

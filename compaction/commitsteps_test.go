package compaction_test

import (
	"context"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// many makes a table by so many appends of one row.
func (s *slowStore) many(t *testing.T, appends int) {
	t.Helper()
	s.fill(t, 1, 1)
	cat, client := s.open(t, 0)
	defer client.Close()
	defer cat.Close()
	table, err := cat.Load(t.Context(), stepsTable)
	if err != nil {
		t.Fatal(err)
	}
	for range appends - 1 {
		if _, err := table.Ingest(t.Context(), stepsRows(t, 1), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMetadataSteps: manifests are read side by side, by a count and by the commit that merges a hundred of them.
func TestMetadataSteps(t *testing.T) {
	count := func(t *testing.T, table *catalog.Table) int64 {
		p, err := table.Plan(t.Context(), catalog.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := p.Count(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	append100 := func(t *testing.T, table *catalog.Table) int64 {
		done, err := table.Ingest(context.WithoutCancel(t.Context()), stepsRows(t, 100), catalog.IngestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return done.Rows
	}
	for _, c := range []struct {
		appends                 int
		countSteps, appendSteps int
	}{{99, 4, 8}, {100, 4, 10}} {
		s := newSlowStore(t)
		s.many(t, c.appends)
		got := s.measure(t, count)
		t.Logf("count after %d appends: %+v", c.appends, got)
		if got.steps > c.countSteps || got.rows != int64(c.appends) {
			t.Errorf("count after %d appends: %+v, want at most %d steps", c.appends, got, c.countSteps)
		}
		got = s.measure(t, append100)
		t.Logf("an append after %d: %+v", c.appends, got)
		if got.steps > c.appendSteps || got.rows != 100 {
			t.Errorf("an append after %d: %+v, want at most %d steps", c.appends, got, c.appendSteps)
		}
	}
}

// TestTermFilterSteps: a compaction reads the term filters of its inputs in as many steps as the roots, by the store's requests in
// flight: three steps for 130 shards.
func TestTermFilterSteps(t *testing.T) {
	const shards = 130
	s := newSlowStore(t)
	cat, client := s.open(t, 0)
	defer client.Close()
	defer cat.Close()
	of, err := schema.Parse(stepsSchema)
	if err != nil {
		t.Fatal(err)
	}
	table, err := cat.Create(t.Context(), stepsTable, catalog.CreateOptions{Schema: of, CreateNamespace: true,
		Properties: map[string]string{catalog.IndexesProperty: "hash:id"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Ingest(t.Context(), stepsRows(t, shards*20), catalog.IngestOptions{ShardRows: 20}); err != nil {
		t.Fatal(err)
	}
	got := s.measure(t, func(t *testing.T, table *catalog.Table) int64 {
		r, err := compaction.Compact(t.Context(), table, compaction.Policy{NoRebuild: true, NoPack: true}, compaction.Options{})
		if err != nil || r.ShardsAfter != 1 {
			t.Fatal(r, err)
		}
		return int64(r.ShardsBefore)
	})
	t.Logf("a compaction: %+v", got)
	if got.rows != shards || got.steps > 20 || got.gets > 2*shards+10 {
		t.Errorf("a compaction: %+v, want %d shards in at most 20 steps and %d requests", got, shards, 2*shards+10)
	}
	found := s.measure(t, scan("id = 1234", "id"))
	if t.Logf("a lookup: %+v", found); found.rows != 1 || found.steps > 7 {
		t.Errorf("a lookup after it: %+v, want 1 row in at most 7 steps", found)
	}
}

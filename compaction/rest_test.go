package compaction

import (
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

// A table for which there was nothing to do is not read again, until something has changed, or may have become due.
func TestTableAtRest(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 1)
	c, clock := g.open(nil), fakeclock.New(time.Now())
	s := NewService(c, ServiceOptions{Now: clock.Now, Discover: time.Second})
	look := func() (reads int64, run Run) {
		t.Helper()
		if err := s.discover(ctx); err != nil {
			t.Fatal(err)
		}
		before := c.Client().Counters().Gets + c.MetadataCounters().Gets
		s.maintain(ctx, name)
		h := statusOf(t, s, name).History
		run = h[len(h)-1]
		if run.Error != "" {
			t.Errorf("%+v", run)
		}
		return c.Client().Counters().Gets + c.MetadataCounters().Gets - before, run
	}
	reads := func(why string, want bool) {
		t.Helper()
		if n, _ := look(); n > 0 != want {
			t.Errorf("%s: %d objects were read", why, n)
		}
		clock.Advance(time.Minute)
	}
	reads("at first", true)
	reads("a minute later", false)
	reads("once more", false)
	clock.Advance(longestRest)
	reads("after an hour", true)
	reads("after that", false)
	if n := len(statusOf(t, s, name).History); n != 1 {
		t.Errorf("%d looks at a table at rest are kept", n)
	}
	if err := SetNamespacePolicy(ctx, c, name.Namespace, map[string]string{"min-inputs": "3"}); err != nil {
		t.Fatal(err)
	}
	reads("after a setting of the namespace", true)
	reads("after that", false)
	if err := s.RunNow(name); err != nil {
		t.Fatal(err)
	}
	reads("when it was asked for", true)
	reads("after that", false)
	s.Reload(Overrides{"*": {"max-rows": "100"}})
	reads("after the file changed", true)
	reads("after that", false)
	fill(t, g.load(nil), 2)
	if n, run := look(); n == 0 || len(run.Results) != 1 {
		t.Errorf("three shards: %+v", run)
	}
	reads("after its work", true)
	reads("at rest again", false)

	// A short retention is kept to: what is due is not waited for.
	if err := SetPolicy(ctx, g.load(nil), map[string]string{"retention": "100m"}); err != nil {
		t.Fatal(err)
	}
	if _, run := look(); run.RowsExpired != 30 {
		t.Errorf("%+v", run)
	}
	if _, err := g.load(nil).Ingest(ctx, rows(0, 10), catalog.IngestOptions{CreationTime: clock.Now()}); err != nil {
		t.Fatal(err)
	}
	reads("after a commit", true)
	clock.Advance(30 * time.Second)
	reads("a hundredth of the retention later", true)
}

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/compaction"
)

// TestManyShards opens a table of 100,000 shards: the page stays as small as any, and answers.
func TestManyShards(t *testing.T) {
	const shards = 100_000
	g := newGround(t, "", func(g *ground) {
		g.entries("large", shards, map[string]string{compaction.PropertyPrefix + "pause": "true"})
	})
	began := time.Now()
	g.open("/tables/default.large")
	t.Logf("the page of %d shards came after %v", shards, time.Since(began).Round(10*time.Millisecond))
	if text := g.text("main"); !strings.Contains(text, "100,000 shards") || !strings.Contains(text, "page 1 of 1000") {
		t.Errorf("the page says %.2000s", text)
	}
	// A hundred lines, as many bars with four colours, and fifty groups: whatever the table.
	const mostNodes, mostBytes = 4000, 512 << 10
	if n := eval[int](g, `document.querySelectorAll("*").length`); n > mostNodes {
		t.Errorf("%d elements", n)
	}
	if n := eval[int](g, `document.documentElement.outerHTML.length`); n > mostBytes {
		t.Errorf("%d bytes of HTML", n)
	}
	g.shoot("large")
	g.open("/tables/default.large?page=1000")
	if text := g.text("main"); !strings.Contains(text, "shard-00000000") {
		t.Error("the oldest shard is not on the last page")
	}
	g.open("/tables/default.large?where=id+%3C+5")
	if text := g.text("[role=status]"); !strings.Contains(text, "Of 100,000 shards") {
		t.Errorf("the filter says %q", text)
	}
}

// TestManyTables: the first page has so many lines and no more, and finds tables by their names.
func TestManyTables(t *testing.T) {
	const tables = 250
	g := newGround(t, "", func(g *ground) {
		for i := range tables {
			g.rows(fmt.Sprintf("t%03d", i), 0, atRest)
		}
	})
	g.open("/")
	if n := eval[int](g, `document.querySelectorAll("[aria-label='Tables'] tbody tr:not(.because)").length`); n != 100 {
		t.Errorf("%d lines", n)
	}
	g.open("/?find=t24")
	if n := eval[int](g, `document.querySelectorAll("[aria-label='Tables'] tbody tr:not(.because)").length`); n != 10 {
		t.Errorf("%d lines with t24", n)
	}
}

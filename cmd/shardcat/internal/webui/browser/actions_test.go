package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// TestActions logs in and runs, pauses and resumes a table by its buttons; without the token there are none.
func TestActions(t *testing.T) {
	g := newGround(t, token, func(g *ground) { g.rows("events", 4, atRest) })
	g.open("/tables/default.events")
	if n := eval[int](g, `document.querySelectorAll("form.actions button").length`); n != 0 {
		t.Errorf("%d buttons before anybody logged in", n)
	}
	g.open("/login")
	g.do(chromedp.SendKeys(chromedp.CSS("#token"), "wrong\r"), chromedp.WaitVisible(chromedp.CSS("[role=alert]")))
	if text := g.text("[role=alert]"); !strings.Contains(text, "Wrong token") {
		t.Errorf("another token: %q", text)
	}
	g.do(chromedp.SendKeys(chromedp.CSS("#token"), token+"\r"), chromedp.WaitReady(chromedp.CSS("#find")))
	if visible := eval[string](g, "document.cookie"); visible != "" {
		t.Errorf("scripts see the cookie: %q", visible)
	}
	settings := g.settings()
	g.press("Dry run")
	if text := g.text("main"); !strings.Contains(text, "nothing was changed") || !strings.Contains(text, "fewer than 50 adjacent shards") {
		t.Errorf("dry run: %s", text)
	}
	g.press("Pause")
	g.wait("span.state", "paused")
	g.press("Resume")
	settings(map[string]string{"min-inputs": "2", "max-creation-range": "none"})
	g.press("Dry run")
	if text := g.text("main"); !strings.Contains(text, "1 group of 4 shards") || !strings.Contains(text, "concat") {
		t.Errorf("dry run with another policy: %s", text)
	}
	g.shoot("dryrun")
	g.press("Run now")
	g.wait("main", "1 shard, 2,000 rows")
	g.shoot("compacted")
}

// settings changes the policy of the table.
func (g *ground) settings() func(map[string]string) {
	return func(settings map[string]string) {
		g.t.Helper()
		t, err := g.catalog.Load(g.t.Context(), catalog.Name{Namespace: "default", Table: "events"})
		if err == nil {
			err = compaction.SetPolicy(g.t.Context(), t, settings)
		}
		if err != nil {
			g.t.Fatal(err)
		}
	}
}

// press clicks a button of the table's page, and waits for the page that it leads to. A table that is being worked on says so, and is
// asked again.
func (g *ground) press(button string) {
	g.t.Helper()
	for {
		g.open("/tables/default.events")
		if _, err := chromedp.RunResponse(g.tab, chromedp.Click(`//button[.="`+button+`"]`)); err != nil {
			g.t.Fatal(err)
		}
		if !strings.Contains(g.text("main"), "is being worked on") {
			return
		}
	}
}

// wait opens the table's page again and again until an element says something.
func (g *ground) wait(selector chromedp.CSS, want string) {
	g.t.Helper()
	for {
		g.open("/tables/default.events")
		text := g.text(selector)
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-g.tab.Done():
			g.t.Fatalf("never %q, but %q", want, text)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestRefresh: a page that is looked at shows what happened, without being loaded anew, and not under the hands of who works in it.
func TestRefresh(t *testing.T) {
	g := newGround(t, token, func(g *ground) { g.rows("events", 2, atRest) })
	g.open("/tables/default.events")
	eval[bool](g, `window.kept = true; document.body.dataset.asked = 0; const real = window.fetch; window.fetch = (...a) => { document.body.dataset.asked++; return real(...a); }; true`)
	g.rowsMore("events")
	g.until(`document.querySelector("main").textContent.includes("3 shards,")`)
	if !eval[bool](g, "window.kept === true") {
		t.Error("the page was loaded anew")
	}
	g.do(chromedp.Focus(chromedp.CSS("#where")))
	before := eval[string](g, "document.body.dataset.asked")
	if testing.Short() {
		return
	}
	time.Sleep(11 * time.Second)
	if after := eval[string](g, "document.body.dataset.asked"); after != before {
		t.Errorf("fetched %s times, %s before somebody typed", after, before)
	}
}

// rowsMore adds a shard.
func (g *ground) rowsMore(name string) {
	g.t.Helper()
	t, err := g.catalog.Load(g.t.Context(), catalog.Name{Namespace: "default", Table: name})
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := t.Ingest(g.t.Context(), newSource(t.Schema(), 1e6, 10), catalog.IngestOptions{}); err != nil {
		g.t.Fatal(err)
	}
}

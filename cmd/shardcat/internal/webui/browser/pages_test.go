package browser

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/shardcat/shardcat/compaction"
)

// atRest are the settings of a table that a service looks at once, and finds nothing to do.
var atRest = map[string]string{compaction.PropertyPrefix + "min-inputs": "50", compaction.PropertyPrefix + "schedule": "24h"}

// TestPages looks at every page in light and in dark: what is on it, that it can be read, and that a screen reader has names for all.
func TestPages(t *testing.T) {
	g := newGround(t, token, func(g *ground) {
		g.rows("events", 12, atRest)
		g.rows("paused", 2, map[string]string{compaction.PropertyPrefix + "pause": "true"})
		g.entries("broken", 30, nil) // a service that compacts shards that are not there fails
	})
	var shard string
	pages := []struct {
		name, path string
		want       []string
	}{
		{"tables", "/", []string{"default.events", "12", "waiting", "paused", "Backlog", "Next run"}},
		{"table", "/tables/default.events", []string{"Shards over creation time", "What the next plan would do", "fewer than 50 adjacent shards", "Past runs", "Policy"}},
		{"problem", "/tables/default.broken", []string{"Try shardcat", "the root of a live shard is missing"}},
		{"filter", "/tables/default.events?where=" + url.QueryEscape("id < 700"), []string{"bounds 10; remaining: 2 with"}},
		{"shard", "", []string{"Where the bytes are", "message", "Stripes", "First rows", "GET /items/"}},
		{"login", "/login", []string{"Token"}},
		{"missing", "/tables/default.nobody", []string{"Not Found", "Back to the tables"}},
	}
	for _, p := range pages {
		if p.path == "" {
			p.path = shard
		}
		for _, dark := range []bool{false, true} {
			label := p.name + map[bool]string{false: "-light", true: "-dark"}[dark]
			g.dark(dark)
			g.open(p.path)
			text := g.text("body")
			for _, want := range p.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s lacks %q:\n%s", label, want, text)
				}
			}
			for _, poor := range eval[[]string](g, contrasts) {
				t.Errorf("%s can't be read: %s", label, poor)
			}
			if wide := eval[bool](g, "document.documentElement.scrollWidth > innerWidth"); wide {
				t.Errorf("%s is wider than the window", label)
			}
			g.shoot(label)
		}
		g.named(p.name)
		if p.name == "table" {
			shard = eval[string](g, `document.querySelector('a[href*="shard?root="]').getAttribute("href")`)
		}
	}
	for _, asked := range *g.asked {
		if !strings.HasPrefix(asked, g.URL) {
			t.Errorf("a page asks another server: %s", asked)
		}
	}
	for _, e := range *g.errors {
		t.Errorf("the browser says: %s", e)
	}
}

// TestNarrow opens every page in windows of 390 and 1280 pixels, with names that have no place to break: none is wider than its window, and what stands
// in a table can be read without scrolling sideways.
func TestNarrow(t *testing.T) {
	long := "a_table_" + strings.Repeat("whose_name_has_no_place_to_break_", 4)
	g := newGround(t, token, func(g *ground) {
		g.rows(long, 3, atRest)
		g.rows("broken_"+long, 0, nil)
		g.entries("lost_"+long, 30, nil) // of shards that are not there
	})
	g.open("/login")
	g.do(chromedp.SendKeys(chromedp.CSS("#token"), token+"\r"), chromedp.WaitReady(chromedp.CSS("#find")))
	table := "/tables/default." + long
	for _, width := range []int64{390, 1280} {
		size := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1}
		if _, err := chromedp.Call(g.tab, emulation.SetDeviceMetricsOverride, size); err != nil {
			t.Fatal(err)
		}
		g.open(table)
		shard := eval[string](g, `document.querySelector('a[href*="shard?root="]').getAttribute("href")`)
		for _, path := range []string{"/", "/?only=problems&sort=average", "/?namespace=default", table, "/tables/default.lost_" + long, "/tables/default.nobody_" + long, shard} {
			g.open(path)
			g.fits(width, path)
		}
		for _, button := range []string{"Dry run", "Verify 5 %", "Repair, dry run"} {
			for g.text("h1") == "Conflict" || !strings.Contains(g.text("h1"), "un of") && !strings.Contains(g.text("h1"), "Verification") {
				g.open("/tables/default.lost_" + long)
				if _, err := chromedp.RunResponse(g.tab, chromedp.Click(`//button[.="`+button+`"]`)); err != nil {
					t.Fatal(err)
				}
			}
			g.fits(width, button)
			g.open("/")
		}
	}
}

// fits asserts that a page is not wider than its window, and in a narrow one that no table is, with all that can be opened open.
func (g *ground) fits(width int64, what string) {
	g.t.Helper()
	eval[int](g, `document.querySelectorAll("details").forEach(d => d.open = true); 0`)
	if wide := eval[int64](g, "document.documentElement.scrollWidth"); wide > width {
		g.t.Errorf("%s is %d pixels wide in a window of %d: %q", what, wide, width, eval[[]string](g,
			`[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + " " + e.textContent.slice(0, 60))`))
	}
	for _, wide := range eval[[]string](g, `[...document.querySelectorAll(".wide:not(.rows)")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute("aria-label"))`) {
		g.t.Errorf("%s: the table %q has to be scrolled sideways in a window of %d", what, wide, width)
	}
}

// contrasts lists text whose colour has a contrast below 4.5 with what is behind it, as WCAG 2 counts.
const contrasts = `(() => {
  const rgb = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; } return [255, 255, 255, 1]; };
  const out = [];
  for (const e of document.body.querySelectorAll("*")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest("svg") || !e.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) out.push(e.tagName + " " + e.textContent.trim().slice(0, 40) + ": " + ((a + 0.05) / (b + 0.05)).toFixed(2));
  }
  return out;
})()`

// named asserts that whatever can be operated or is a picture has a name for who can't see it, and that headings come in order.
func (g *ground) named(page string) {
	g.t.Helper()
	tree, err := chromedp.Call(g.tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		g.t.Fatal(err)
	}
	controls := 0
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		switch role := strings.Trim(string(n.Role.Value), `"`); role {
		case "button", "link", "textbox", "searchbox", "checkbox", "image", "region", "navigation", "form", "search":
			controls++
			if name := n.Name; (name == nil || strings.Trim(string(name.Value), `" `) == "") && role != "search" {
				g.t.Errorf("%s: a %s has no name (node %s)", page, role, n.NodeID)
			}
		}
	}
	if controls < 4 {
		g.t.Errorf("%s: only %d things have a role", page, controls)
	}
	last := 0
	for _, level := range eval[[]int](g, `[...document.querySelectorAll("h1,h2,h3,h4")].map(h => Number(h.tagName[1]))`) {
		if level > last+1 {
			g.t.Errorf("%s: a heading of level %d follows one of level %d", page, level, last)
		}
		last = level
	}
}

// TestKeyboard goes through the pages without a mouse.
func TestKeyboard(t *testing.T) {
	g := newGround(t, token, func(g *ground) { g.rows("events", 3, atRest) })
	g.open("/")
	g.do(chromedp.KeyEvent(kb.Tab))
	if at := focused(g); at != "Skip to the content" {
		t.Errorf("the first stop is %q", at)
	}
	if ring := eval[string](g, "getComputedStyle(document.activeElement).outlineStyle"); ring == "none" {
		t.Error("the focus can't be seen")
	}
	g.do(chromedp.KeyEvent(kb.Enter))
	if at := eval[string](g, "document.activeElement.id"); at != "main" {
		t.Errorf("the skip link leads to %q", at)
	}
	g.tabTo("default.events")
	g.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS("#where")))
	g.tabTo("Log in")
	g.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS("#token")))
	g.tabTo("token")
	g.do(chromedp.KeyEvent(token+kb.Enter), chromedp.WaitReady(chromedp.CSS("#find")))
	g.open("/tables/default.events")
	g.tabTo("Dry run")
	g.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`//h1[contains(., "Dry run")]`))
	g.open("/tables/default.events")
	g.tabTo("where")
	g.do(chromedp.KeyEvent("id < 10"+kb.Enter), chromedp.WaitVisible(chromedp.CSS("svg.pruned")))
	if text := g.text("[role=status]"); !strings.Contains(text, "remaining: 1 with") {
		t.Errorf("the filter says %q", text)
	}
}

// focused is the text or the name of what has the focus.
func focused(g *ground) string {
	return eval[string](g, `document.activeElement.textContent.trim() || document.activeElement.id`)
}

// tabTo presses the tabulator until something has the focus.
func (g *ground) tabTo(what string) {
	g.t.Helper()
	seen := []string{}
	for range 100 {
		g.do(chromedp.KeyEvent(kb.Tab))
		if seen = append(seen, focused(g)); seen[len(seen)-1] == what {
			return
		}
	}
	g.t.Fatalf("%q is never reached by the keyboard: %q", what, seen)
}

package webui

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const token = "open sesame"

type source struct {
	schema *schema.Schema
	json   string
}

func (s *source) Schema() *schema.Schema { return s.schema }

func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	if s.json == "" {
		return nil, io.EOF
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s.schema), strings.NewReader(s.json))
	s.json = ""
	return b, err
}

// ground is a server over a catalog with one table of three shards, and the service that has looked at it.
type ground struct {
	*httptest.Server
	service *compaction.Service
	table   *catalog.Table
}

// numbers is the schema of the tables.
func numbers() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{{Name: "id", Basic: schema.Int64, Signed: true, Nullable: true}, {Name: "<b>", Basic: schema.String, Nullable: true}}}
	s.Number()
	return s
}

// newServer is a server without a service at work.
func newServer(c *catalog.Catalog, service *compaction.Service, metrics *Metrics, tbl *catalog.Table) *ground {
	return &ground{httptest.NewServer(New(c, service, metrics, Options{})), service, tbl}
}

func newGround(t *testing.T, o Options) *ground {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := catalog.Open(ctx, catalog.Options{
		URI: "sqlite:" + filepath.Join(t.TempDir(), "catalog.db"), Warehouse: "mem://" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")) + "/wh",
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := numbers()
	tbl, err := c.Create(ctx, catalog.Name{Namespace: "default", Table: "t"}, catalog.CreateOptions{Schema: s, CreateNamespace: true,
		Properties: map[string]string{compaction.PropertyPrefix + "pause": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		src := &source{s, fmt.Sprintf(`[{"id":%d,"<b>":"<script>alert(1)</script>"}]`, i)}
		if _, err := tbl.Ingest(ctx, src, catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, i, 0, 0, 0, time.UTC)}); err != nil {
			t.Fatal(err)
		}
	}
	metrics, looked := NewMetrics(), make(chan bool, 10)
	service := compaction.NewService(c, compaction.ServiceOptions{Finished: func(r compaction.Run) { metrics.Finished(r); looked <- true }})
	done := make(chan error)
	go func() { done <- service.Run(ctx) }()
	g := &ground{httptest.NewServer(New(c, service, metrics, o)), service, tbl}
	t.Cleanup(func() {
		g.Close()
		cancel()
		<-done
		c.Close()
	})
	select {
	case <-looked:
	case <-time.After(time.Minute):
		t.Fatal("no run within a minute")
	}
	for range 1000 {
		if service.Status()[0].State != compaction.Running {
			return g
		}
		time.Sleep(time.Millisecond)
	}
	return g
}

// ask sends a request and does not follow where it leads.
func (g *ground) ask(t *testing.T, method, path string, header map[string]string, body url.Values) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, g.URL+path, strings.NewReader(body.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

func TestPagesShowWhatIs(t *testing.T) {
	g := newGround(t, Options{})
	code, text, header := g.ask(t, "GET", "/", nil, nil)
	if code != 200 || !strings.Contains(text, "default.t") || !strings.Contains(text, "paused") || !strings.Contains(text, "3 shards,") {
		t.Errorf("%d\n%s", code, text)
	}
	if csp := header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("content security policy %q", csp)
	}
	code, text, _ = g.ask(t, "GET", "/tables/default.t?where="+url.QueryEscape("id = 1"), nil, nil)
	for _, want := range []string{"<rect class=\"s1\"", "concat", "bounds 2; remaining: 1", "2024-01-01 02:00:00", "min-inputs", "Read-only"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of the table (%d) lacks %q", code, want)
		}
	}
	link := regexp.MustCompile(`/tables/default\.t/shard\?root=[^"]+`).FindString(text)
	code, text, _ = g.ask(t, "GET", strings.ReplaceAll(link, "&amp;", "&"), nil, nil)
	for _, want := range []string{"Where the bytes are", "&lt;b&gt;", "&lt;script&gt;alert(1)", "Int64"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of the shard (%d) lacks %q:\n%s", code, want, text)
		}
	}
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<b>") {
		t.Error("values of the table became markup")
	}
	for path, want := range map[string]int{
		"/tables/default.nobody": 404, "/tables/a.b.c.d e": 404, "/nothing": 404, "/healthz": 200, "/readyz": 200, "/assets/style.css": 200,
		"/tables/default.t/shard?root=file:///etc/passwd": 404, "/debug/pprof/": 404, "/tables/default.t?page=99999999": 200,
		"/tables/default.t?where=" + url.QueryEscape("id ="): 200,
	} {
		if code, _, _ := g.ask(t, "GET", strings.ReplaceAll(path, " ", "%20"), nil, nil); code != want {
			t.Errorf("GET %s: %d, want %d", path, code, want)
		}
	}
}

func TestActionsNeedTheToken(t *testing.T) {
	g := newGround(t, Options{Token: token})
	bearer := map[string]string{"Authorization": "Bearer " + token}
	for name, c := range map[string]struct {
		header map[string]string
		want   int
	}{
		"nothing":      {nil, 403},
		"another":      {map[string]string{"Authorization": "Bearer open"}, 403},
		"a bad cookie": {map[string]string{"Cookie": access.Cookie + "=" + token}, 403},
		"another site": {map[string]string{"Authorization": "Bearer " + token, "Sec-Fetch-Site": "cross-site"}, 403},
		"the token":    {bearer, 303},
	} {
		if code, _, _ := g.ask(t, "POST", "/tables/default.t/pause", c.header, nil); code != c.want {
			t.Errorf("%s: %d, want %d", name, code, c.want)
		}
	}
	if code, text, _ := g.ask(t, "POST", "/tables/default.t/dry-run", bearer, nil); code != 200 || !strings.Contains(text, "nothing was changed") {
		t.Errorf("a dry run: %d\n%s", code, text)
	}
	if code, _, _ := g.ask(t, "POST", "/tables/default.t/dry-run", nil, nil); code != 403 {
		t.Errorf("a dry run without the token: %d", code)
	}
	if code, _, _ := g.ask(t, "POST", "/tables/default.t/burn", bearer, nil); code != 404 {
		t.Errorf("an action that there is not: %d", code)
	}
	if code, _, _ := g.ask(t, "GET", "/tables/default.t/run", bearer, nil); code != 405 {
		t.Errorf("a GET changes something: %d", code)
	}
	if code, _, _ := g.ask(t, "POST", "/login", nil, url.Values{"token": {"open"}}); code != 403 {
		t.Errorf("another token logs in: %d", code)
	}
	code, _, header := g.ask(t, "POST", "/login", nil, url.Values{"token": {token}})
	set := header.Get("Set-Cookie")
	if code != 303 || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") || strings.Contains(set, token) {
		t.Fatalf("login: %d, %q", code, set)
	}
	value, _, _ := strings.Cut(set, ";")
	if code, _, _ := g.ask(t, "POST", "/tables/default.t/pause", map[string]string{"Cookie": value}, nil); code != 303 {
		t.Errorf("the cookie of the login: %d", code)
	}
	if code, _, _ := g.ask(t, "POST", "/login", nil, url.Values{"token": {strings.Repeat("x", maxBody)}}); code != 403 {
		t.Errorf("a huge body: %d", code)
	}
}

// Everything that shows names, bounds, plans or rows needs the read token, as /v1 does; probes and metrics do not.
func TestPagesNeedTheReadToken(t *testing.T) {
	const read = "let me look"
	g := newGround(t, Options{Token: token, ReadToken: read, Profile: true})
	shard := "/tables/default.t/shard?root=" + url.QueryEscape(liveRoot(t, g))
	login := func(token string) map[string]string {
		_, _, header := g.ask(t, "POST", "/login", nil, url.Values{"token": {token}})
		value, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
		return map[string]string{"Cookie": value}
	}
	readCookie, writeCookie := login(read), login(token)
	secret := []string{"/", "/tables/default.t", "/tables/default.t?where=id+%3D+1", "/tables/default.t?page=2", shard, "/api/tables", "/debug/pprof/", "/nothing"}
	for _, path := range secret {
		for name, c := range map[string]struct {
			header map[string]string
			want   int
		}{
			"nothing":              {nil, 401},
			"another token":        {map[string]string{"Authorization": "Bearer look"}, 401},
			"the read token":       {map[string]string{"Authorization": "Bearer " + read}, 200},
			"the write token":      {map[string]string{"Authorization": "Bearer " + token}, 200},
			"a login for reading":  {readCookie, 200},
			"a login for changes":  {writeCookie, 200},
			"a page of other site": {map[string]string{"Cookie": readCookie["Cookie"], "Sec-Fetch-Site": "cross-site"}, 403},
		} {
			if path == "/nothing" && c.want == 200 {
				c.want = 404
			}
			code, text, _ := g.ask(t, "GET", path, c.header, nil)
			if code != c.want {
				t.Errorf("GET %s with %s: %d, want %d", path, name, code, c.want)
			}
			if refused := code == 401 || code == 403; refused && (strings.Contains(text, "default.t") || strings.Contains(text, "script>alert")) {
				t.Errorf("GET %s with %s shows something:\n%s", path, name, text)
			}
		}
	}
	for _, path := range []string{"/login", "/healthz", "/readyz", "/metrics", "/assets/style.css"} {
		if code, _, _ := g.ask(t, "GET", path, nil, nil); code != 200 {
			t.Errorf("GET %s: %d", path, code)
		}
	}
	if code, _, _ := g.ask(t, "POST", "/tables/default.t/pause", readCookie, nil); code != 403 {
		t.Errorf("the read token pauses a table: %d", code)
	}
}

// Without a read token, what came through a proxy or for another site is not from this machine.
func TestPagesOfThisMachineOnly(t *testing.T) {
	g := newGround(t, Options{Token: token})
	for _, path := range []string{"/", "/tables/default.t?where=id+%3D+1", "/tables/default.t/shard?root=" + url.QueryEscape(liveRoot(t, g)), "/api/tables"} {
		for _, name := range []string{"X-Forwarded-For", "Via", "X-Real-IP", "Forwarded"} {
			if code, text, _ := g.ask(t, "GET", path, map[string]string{name: "192.0.2.7"}, nil); code != 403 || strings.Contains(text, "default.t") {
				t.Errorf("GET %s with %s: %d", path, name, code)
			}
		}
		for site, want := range map[string]int{"none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403} {
			if code, _, header := g.ask(t, "GET", path, map[string]string{"Sec-Fetch-Site": site}, nil); code != want || header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("GET %s from %s: %d, want %d; %v", path, site, code, want, header)
			}
		}
	}
}

func liveRoot(t *testing.T, g *ground) string {
	t.Helper()
	for e, err := range g.table.BriefEntries(t.Context(), catalog.At{}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		return e.Path
	}
	t.Fatal("the table has no shard")
	return ""
}

// Pages that open shards or read all entries wait for a slot of the answers with rows, and take its share of the memory.
func TestPagesTakeSlots(t *testing.T) {
	var err error
	taken, released := 0, 0
	g := newGround(t, Options{Token: token, Turn: func(*http.Request) (func(), int64, error) {
		taken++
		return func() { released++ }, 1 << 10, err
	}})
	bearer := map[string]string{"Authorization": "Bearer " + token}
	for _, c := range []struct{ method, path string }{
		{"GET", "/tables/default.t"}, {"GET", "/tables/default.t?where=id+%3D+1"}, {"GET", "/tables/default.t/shard?root=" + url.QueryEscape(liveRoot(t, g))}, {"POST", "/tables/default.t/dry-run"},
	} {
		taken, released, err = 0, 0, nil
		code, text, _ := g.ask(t, c.method, c.path, bearer, nil)
		if code != 200 || taken != 1 || released != 1 {
			t.Errorf("%s %s: %d; %d slots taken, %d released", c.method, c.path, code, taken, released)
		}
		if shard := strings.Contains(c.path, "shard"); shard && !strings.Contains(text, "1024") && !strings.Contains(text, "512") {
			t.Errorf("the page of a shard took more than its share:\n%s", text)
		}
		err = arrowhttp.ErrBusy
		if code, _, header := g.ask(t, c.method, c.path, bearer, nil); code != 503 || header.Get("Retry-After") == "" {
			t.Errorf("%s %s without a slot: %d", c.method, c.path, code)
		}
	}
}

// Without a token in the environment nobody can act, whatever they send.
func TestReadOnlyWithoutToken(t *testing.T) {
	g := newGround(t, Options{})
	for _, bearer := range []string{"Bearer ", "Bearer x"} {
		if code, _, _ := g.ask(t, "POST", "/tables/default.t/run", map[string]string{"Authorization": bearer}, nil); code != 403 {
			t.Errorf("%q: %d", bearer, code)
		}
	}
}

func TestMetricsAreThoseOfTheDocs(t *testing.T) {
	g := newGround(t, Options{Reads: func() arrowhttp.Stats { return arrowhttp.Stats{Shed: 7} }})
	_, text, _ := g.ask(t, "GET", "/metrics", nil, nil)
	if !strings.Contains(text, `shardcat_backlog_shards{table="default.t"} 3`) || !strings.Contains(text, `shardcat_runs_total{result="ok",table="default.t"} 1`) ||
		!strings.Contains(text, `shardcat_answers_total{result="shed"} 7`) {
		t.Errorf("metrics:\n%s", text)
	}
	docs, err := os.ReadFile("../../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("`(shardcat_[a-z_]+)`").FindAllStringSubmatch(string(docs), -1) {
		listed[m[1]] = true
		if name := m[1]; !strings.Contains(text, name) {
			t.Errorf("docs/reference/metrics.md names %s, which is not served", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (shardcat_[a-z_]+)`).FindAllStringSubmatch(text, -1) {
		if !listed[m[1]] {
			t.Errorf("%s is not in docs/reference/metrics.md", m[1])
		}
	}
}

// A page of elsewhere whose name was made to stand for 127.0.0.1 must not read tables.
func TestNamesThatWereRebound(t *testing.T) {
	g := newGround(t, Options{})
	for host, want := range map[string]int{"evil.example": 421, "evil.example:8099": 421, "localhost:8099": 200, "[::1]:8099": 200, "127.0.0.9": 200} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", g.URL+"/api/tables", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("Host %s: %d, want %d", host, answer.StatusCode, want)
		}
	}
}

// An overview is made once for a state of a table, and again for another.
func TestOverviewsAreKept(t *testing.T) {
	g := newGround(t, Options{})
	in, err := g.service.Effective(t.Context(), g.table)
	if err != nil {
		t.Fatal(err)
	}
	var o overviews
	first, err := o.of(t.Context(), g.table, in)
	if err != nil || len(first.lines) != 3 {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := o.of(t.Context(), g.table, in); err != nil || again != first {
		t.Errorf("made anew: %v", err)
	}
	src := &source{g.table.Schema(), `[{"id":9}]`}
	if _, err := g.table.Ingest(t.Context(), src, catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	if other, err := o.of(t.Context(), g.table, in); err != nil || len(other.lines) != 4 {
		t.Errorf("a table that has grown: %+v, %v", other, err)
	}
	if o.keep(&overview{lines: make([]shardLine, keptShards), made: time.Now()}); len(o.last) != 1 {
		t.Errorf("%d are kept", len(o.last))
	}
}

func TestExactNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -123456: "-123,456", 1234567: "1,234,567"} {
		if got := exact(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// A page stays small whatever the table: the picture has so many bars, the list so many lines.
func TestPictureOfManyShards(t *testing.T) {
	lines := make([]shardLine, 100_000)
	for i := range lines {
		lines[i] = shardLine{created: int64(len(lines)-i) * 1e7, First: "x", Stripes: int64(i % 2000)}
	}
	lines = append(lines, shardLine{})
	p := newPicture(lines)
	for _, b := range p.Bars {
		if n := len(b.Parts); n == 0 || b.Parts[0].Y+b.Parts[0].Height != barHeight || b.Parts[n-1].Y < 0 {
			t.Errorf("bar %+v", b)
		}
	}
	total := 0
	for _, c := range p.Classes {
		total += c.Shards
	}
	if len(p.Bars) == 0 || len(p.Bars) > bars || p.Unknown != 1 || p.Most < (len(lines)-1)/bars || total != len(lines) {
		t.Errorf("%d bars of %d shards, %d unknown, %d at most", len(p.Bars), total, p.Unknown, p.Most)
	}
	if empty := newPicture(nil); len(empty.Bars) != 0 {
		t.Error("bars of nothing")
	}
}

// A run under way has a bar, how far it is in words, and how long it will take: among all tables, and on the page of its own.
func TestRunUnderWayHasABar(t *testing.T) {
	pace := &compaction.Pace{
		Progress:         compaction.Progress{Step: "write", Groups: 4, GroupsDone: 1, Records: 200_000, RecordsDone: 50_000},
		RecordsPerSecond: 1666.6, SecondsLeft: 90,
	}
	status := compaction.TableStatus{Table: catalog.Name{Namespace: "default", Table: "t"}, State: compaction.Running, Progress: pace}
	for name, data := range map[string]any{
		"tables.html": tablesData{All: 1, Tables: []compaction.TableStatus{status}},
		"table.html":  tableData{Status: status},
	} {
		var b strings.Builder
		if err := pages().ExecuteTemplate(&b, name, page{Data: data}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`<progress max="200000" value="50000"`, "25 %, 1 of 4 groups, about 1m30s left"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

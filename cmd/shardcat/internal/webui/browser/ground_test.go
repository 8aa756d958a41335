package browser

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/webui"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const token = "open sesame"

// patience bounds a test; it decides nothing.
const patience = 2 * time.Minute

// ground is a server over a catalog and a tab of a browser that looks at it.
type ground struct {
	*httptest.Server
	t       *testing.T
	catalog *catalog.Catalog
	tab     context.Context
	// asked are the URLs that the browser asked for, errors what its console says.
	asked, errors *[]string
}

// newGround serves a catalog that fill has filled, and opens a tab once the service has looked at all tables.
func newGround(t *testing.T, secret string, fill func(*ground)) *ground {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := catalog.Open(ctx, catalog.Options{
		URI: "sqlite:" + filepath.Join(t.TempDir(), "catalog.db"), Warehouse: "mem://browser-" + strings.ToLower(t.Name()) + "/wh",
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{t: t, catalog: c}
	fill(g)
	names, err := c.Tables(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	metrics, looked := webui.NewMetrics(), make(chan bool, 1000)
	service := compaction.NewService(c, compaction.ServiceOptions{Finished: func(r compaction.Run) { metrics.Finished(r); looked <- true }})
	done := make(chan error)
	go func() { done <- service.Run(ctx) }()
	g.Server = httptest.NewServer(webui.New(c, service, metrics, webui.Options{Token: secret}))
	t.Cleanup(func() {
		g.Close()
		cancel()
		<-done
		c.Close()
	})
	for range names {
		select {
		case <-looked:
		case <-time.After(patience):
			t.Fatal("the service does not look at its tables")
		}
	}
	g.openTab()
	return g
}

// openTab starts a browser, which ends with the test.
func (g *ground) openTab() {
	g.t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		g.t.Skip("there is no chromium on this machine; Debian's package is tested with")
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.Headless, chromedp.WindowSize(1280, 900)}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	ctx, endBrowser := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	g.t.Cleanup(func() { closeTab(); endBrowser(); cancel() })
	g.tab, g.asked, g.errors = ctx, new([]string), new([]string)
	err = chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			*g.asked = append(*g.asked, e.Request.URL)
		case *runtime.EventExceptionThrown:
			*g.errors = append(*g.errors, e.ExceptionDetails.Text)
		case *network.EventLoadingFailed:
			*g.errors = append(*g.errors, string(e.Type)+": "+e.ErrorText)
		}
	})
	if err != nil {
		g.t.Fatal(err)
	}
}

// do carries actions out in the tab.
func (g *ground) do(actions ...chromedp.Action[chromedp.Void]) {
	g.t.Helper()
	if err := chromedp.Do(g.tab, actions...); err != nil {
		g.t.Fatal(err)
	}
}

// open goes to a page.
func (g *ground) open(path string) {
	g.t.Helper()
	g.do(chromedp.Navigate(g.URL+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// text is what a person reads of an element.
func (g *ground) text(selector chromedp.CSS) string {
	g.t.Helper()
	return get(g, chromedp.Text(selector))
}

// eval runs a script in the page.
func eval[T any](g *ground, script string) T {
	g.t.Helper()
	return get(g, chromedp.Evaluate[T](script))
}

// get carries out an action that finds something.
func get[T any](g *ground, action chromedp.Action[T]) T {
	g.t.Helper()
	out, err := chromedp.Run(g.tab, action)
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

// until waits for something to become true in the page.
func (g *ground) until(script string) {
	g.t.Helper()
	get(g, chromedp.Poll[bool](script))
}

// dark tells the browser that its person prefers dark pages, or light ones.
func (g *ground) dark(on bool) {
	g.t.Helper()
	value := "light"
	if on {
		value = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}}
	if _, err := chromedp.Call(g.tab, emulation.SetEmulatedMedia, media); err != nil {
		g.t.Fatal(err)
	}
}

// shoot keeps a picture of the whole page, if somebody wants it.
func (g *ground) shoot(name string) {
	g.t.Helper()
	folder := os.Getenv("SHARDCAT_SCREENSHOTS")
	if folder == "" {
		return
	}
	png := get(g, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// rows makes a table of so many shards with a few rows each, a day apart.
func (g *ground) rows(name string, shards int, properties map[string]string) {
	g.t.Helper()
	s, err := schema.Parse("id: Int64, host: String, message: String, took: Float64, at: DateTime")
	if err != nil {
		g.t.Fatal(err)
	}
	tbl := g.create(name, s, properties)
	for i := range shards {
		at := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		if _, err := tbl.Ingest(g.t.Context(), newSource(s, int64(i)*500, 500), catalog.IngestOptions{CreationTime: at}); err != nil {
			g.t.Fatal(err)
		}
	}
}

func (g *ground) create(name string, s *schema.Schema, properties map[string]string) *catalog.Table {
	g.t.Helper()
	tbl, err := g.catalog.Create(g.t.Context(), catalog.Name{Namespace: "default", Table: name}, catalog.CreateOptions{Schema: s, CreateNamespace: true, Properties: properties})
	if err != nil {
		g.t.Fatal(err)
	}
	return tbl
}

// entries makes a table of shards that are only entries, five minutes apart.
func (g *ground) entries(name string, shards int, properties map[string]string) {
	g.t.Helper()
	s, err := schema.Parse("id: Int64")
	if err != nil {
		g.t.Fatal(err)
	}
	tbl := g.create(name, s, properties)
	j, _, err := tbl.BeginJob(g.t.Context(), catalog.JobAppend, "", nil, func(string) []string { return []string{tbl.VaultFolder() + "*"} })
	if err != nil {
		g.t.Fatal(err)
	}
	entries := make([]*manifest.Entry, shards)
	first := literal.Ticks(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	for i := range entries {
		at := first + int64(i)*5*60*10_000_000
		entries[i] = &manifest.Entry{
			Path: fmt.Sprintf("%sshard-%08d.amudai.shard", tbl.VaultFolder(), i), Format: manifest.Format, Records: int64(1000 + i%777), RootBytes: 1000,
			Private: manifest.Private{Created: manifest.CreationRange{First: at, Last: at + 10_000_000}, Stripes: stripesOf(i), MetadataBytes: 900,
				StoredBytes: int64(40_000 + i%9999), Objects: 2},
		}
	}
	if _, err := j.Append(g.t.Context(), entries); err != nil {
		g.t.Fatal(err)
	}
}

// stripesOf is few for the youngest shards, and many for some of the old ones.
func stripesOf(i int) int64 { return []int64{400, 40, 4, 1}[i/7%4] }

// source yields one batch.
type source struct {
	schema *schema.Schema
	batch  arrow.RecordBatch
}

func newSource(s *schema.Schema, first, n int64) *source {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.LargeStringBuilder).Append(fmt.Sprintf("host-%02d", i%7))
		b.Field(2).(*array.LargeStringBuilder).Append(fmt.Sprintf("GET /items/%d?session=%x answered", i, i*7919))
		b.Field(3).(*array.Float64Builder).Append(float64(i%311) / 7)
		b.Field(4).AppendNull()
	}
	return &source{s, b.NewRecordBatch()}
}

func (s *source) Schema() *schema.Schema { return s.schema }

func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	if s.batch == nil {
		return nil, io.EOF
	}
	b := s.batch
	s.batch = nil
	return b, nil
}

package gateway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/gateway/view"
	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/shardfmt"
)

// gated is a data file whose ranges write their first byte, and then wait until their request ends.
type gated struct {
	view.DataFile
	began, ended chan struct{}
}

func (g *gated) WriteRange(ctx context.Context, w io.Writer, off, _ int64) error {
	b := make([]byte, 1)
	if err := g.ReadRange(ctx, off, b); err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	g.began <- struct{}{}
	<-ctx.Done()
	g.ended <- struct{}{}
	return ctx.Err()
}

// servedBy starts a gateway with its own slots and data files.
func servedBy(t *testing.T, c *catalog.Catalog, open view.OpenShard, rows *arrowhttp.Server, log io.Writer) string {
	t.Helper()
	mux := http.NewServeMux()
	New(c, Options{Tokens: access.Tokens{Read: readToken}, Open: open, CacheBytes: 1 << 20, Log: slog.New(slog.NewTextHandler(log, nil)), Turn: rows.Turn}).Register(mux)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h.URL
}

// dataKey is the key of the only data file of a table.
func dataKey(t *testing.T, server string, l *loaded) string {
	t.Helper()
	for location := l.Metadata.Snapshots[len(l.Metadata.Snapshots)-1].List; ; {
		_, body := do(t, l.request(t, "GET", server, keyOf(t, location), "", time.Now()))
		_, rest, ok := strings.Cut(body, "s3://"+Bucket+"/")
		if !ok {
			t.Fatalf("%s names no object", location)
		}
		if name, _, ok := strings.Cut(rest, ".parquet"); ok && !strings.Contains(name, ".avro") {
			return name + ".parquet"
		}
		name, _, _ := strings.Cut(rest, ".avro")
		location = "s3://" + Bucket + "/" + name + ".avro"
	}
}

// TestClientThatGoes: an answer ends with its client and gives its slot back; while it lasts, a request that finds no slot is refused with a
// counter and a time to come back, without touching the object.
func TestClientThatGoes(t *testing.T) {
	c := openCatalog(t)
	appendFlights(t, createFlights(t, c, "flat"), 0, 100, "")
	g := &gated{began: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
	real := Shards(1<<20, 64<<20)
	rows := arrowhttp.New(c, arrowhttp.Options{ReadToken: readToken, Answers: 1, Patience: 50 * time.Millisecond})
	server := servedBy(t, c, func(ctx context.Context, shard *shardfmt.Shard, ids []int, types func(int) string) (view.DataFile, error) {
		f, err := real(ctx, shard, ids, types)
		g.DataFile = f
		return g, err
	}, rows, io.Discard)
	l := loadTable(t, server, "flat", "")
	key := dataKey(t, server, l)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	answered := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(l.request(t, "GET", server, key, "", time.Now()).WithContext(ctx))
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		answered <- err
	}()
	<-g.began
	res, body := do(t, l.request(t, "GET", server, key, "", time.Now()))
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(body, "SlowDown") {
		t.Errorf("a request without a slot: %d %s", res.StatusCode, body)
	}
	if refused := rows.Stats().Refused; refused != 1 {
		t.Errorf("%d requests were refused", refused)
	}
	leave()
	<-g.ended // the object is no longer read
	if err := <-answered; err == nil {
		t.Error("the answer was whole")
	}
	for { // the slot is given back a moment later
		res, _ := do(t, l.request(t, "HEAD", server, key, "", time.Now()))
		if res.StatusCode == http.StatusOK {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the slot was not given back")
		}
	}
}

// turns is a data file whose ranges note where they begin, and wait before their first byte until they may go on.
type turns struct {
	view.DataFile
	began chan int64
	goOn  chan struct{}
}

func (f *turns) WriteRange(ctx context.Context, w io.Writer, off, n int64) error {
	f.began <- off
	<-f.goOn
	b := make([]byte, n)
	if err := f.ReadRange(ctx, off, b); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// TestClientsTakeTurnsForRanges: a client that floods the server with requests for ranges does not keep others waiting behind them. Those that came
// later with one request each are the second and the third to be served, also where all of them come through one proxy.
func TestClientsTakeTurnsForRanges(t *testing.T) {
	const slots, flood = 2, 8 // no more of one client may wait
	c := openCatalog(t)
	appendFlights(t, createFlights(t, c, "flat"), 0, 100, "")
	f := &turns{began: make(chan int64, slots+flood+2), goOn: make(chan struct{})}
	real := Shards(1<<20, 64<<20)
	rows := arrowhttp.New(c, arrowhttp.Options{ReadToken: readToken, Answers: slots, Patience: time.Hour,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	server := servedBy(t, c, func(ctx context.Context, shard *shardfmt.Shard, ids []int, types func(int) string) (view.DataFile, error) {
		file, err := real(ctx, shard, ids, types)
		f.DataFile = file
		return f, err
	}, rows, io.Discard)
	l := loadTable(t, server, "flat", "")
	key := dataKey(t, server, l)
	var all sync.WaitGroup
	waiting := int64(0)
	ask := func(off int64, forwarded string) {
		all.Go(func() {
			r := l.request(t, "GET", server, key, "", time.Now(), "Range", fmt.Sprintf("bytes=%d-%d", off, off))
			r.Header.Set("X-Forwarded-For", forwarded)
			if res, body := do(t, r); res.StatusCode != http.StatusPartialContent || len(body) != 1 {
				t.Errorf("range at %d: %d %s", off, res.StatusCode, body)
			}
		})
	}
	for range slots { // they have the slots
		ask(0, "10.0.0.1")
		<-f.began
	}
	for range flood {
		waiting++
		ask(0, "10.0.0.1")
	}
	allWait := func() {
		for rows.Stats().Waiting != waiting {
			if rows.Stats().Refused > 0 {
				close(f.goOn)
				t.Fatal("a request was refused")
			}
			runtime.Gosched()
		}
	}
	for client := range 2 {
		allWait()
		waiting++
		ask(int64(client+1), fmt.Sprintf("10.0.0.1, 10.0.0.%d", client+2))
	}
	allWait()
	var order []int64
	for range slots + flood + 2 {
		f.goOn <- struct{}{}
		if len(order) < flood+2 {
			order = append(order, <-f.began)
		}
	}
	all.Wait()
	if want := []int64{0, 1, 2}; !slices.Equal(order[:3], want) {
		t.Errorf("ranges were served in the order of %v, want %v first", order, want)
	}
}

// TestMemoryOfAnAnswer: values that exceed the memory of an answer break the answer, with the budget as the reason; with enough
// of it they are answered.
func TestMemoryOfAnAnswer(t *testing.T) {
	c := openCatalog(t)
	s := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	tbl, err := c.Create(t.Context(), catalog.Name{Namespace: "default", Table: "large"}, catalog.CreateOptions{Arrow: s, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for id := range 64 {
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat(fmt.Sprint(id), 64<<10))
	}
	r, err := array.NewRecordReader(s, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Append(t.Context(), r, catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	rows := arrowhttp.New(c, arrowhttp.Options{ReadToken: readToken})
	for memory, want := range map[int64]bool{256 << 10: false, 256 << 20: true} {
		log := new(lockedBuffer)
		server := servedBy(t, c, Shards(1<<20, memory), rows, log)
		l := loadTable(t, server, "large", "")
		res, err := http.DefaultClient.Do(l.request(t, "GET", server, dataKey(t, server, l), "", time.Now()))
		var n int64
		if err == nil {
			n, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		if whole := err == nil && n == res.ContentLength; whole != want || strings.Contains(log.String(), "budget of the scan is exceeded") == want {
			t.Errorf("%d bytes of memory: %d bytes, %v; log: %s", memory, n, err, log)
		}
	}
}

// lockedBuffer is a buffer that a server writes to.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

package arrowhttp_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/compaction"
)

// An error behind the first rows breaks the connection: nothing that a client can look at passes for a whole answer.
func TestBrokenAnswerIsNoWholeOne(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	g.table("t", shardOf(0, 100), shardOf(100, 200))
	files := g.dataFiles()
	if len(files) != 2 {
		t.Fatalf("stripes %v", files)
	}
	if err := os.Truncate(files[1], 10); err != nil {
		t.Fatal(err)
	}
	for _, parameters := range [][]string{{"format", "arrow"}, {"format", "csv"}, {"format", "ndjson"}, {"format", "csv", "compression", "zstd"}} {
		header := map[string]string{}
		if len(parameters) == 4 {
			header["Accept-Encoding"] = "gzip"
		}
		answer := g.open(t.Context(), "GET", rowsPath("t", parameters...), header, nil)
		var err error
		switch {
		case parameters[1] == "arrow":
			r, openErr := ipc.NewReader(answer.Body)
			if openErr != nil {
				t.Fatal(openErr)
			}
			n := int64(0)
			for r.Next() {
				n += r.RecordBatch().NumRows()
			}
			if err = r.Err(); n != 100 {
				t.Errorf("%d rows before the break", n)
			}
		case header["Accept-Encoding"] != "":
			z, openErr := gzip.NewReader(answer.Body)
			if openErr != nil {
				t.Fatal(openErr)
			}
			_, err = io.Copy(io.Discard, z)
		default:
			_, err = io.Copy(io.Discard, answer.Body)
		}
		answer.Body.Close()
		if answer.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v: %d, %v", parameters, answer.StatusCode, err)
		}
	}
	eventually(t, "four answers failed", func() bool { return g.rows.Stats().Failed == 4 && g.rows.Stats().Whole == 0 })
	// Where the damage is in the first rows, there is time to report it.
	answer, text := g.ask("GET", rowsPath("t", "where", "id >= 100"), nil, nil)
	if p := problemIn(t, answer, text); p.Status != 500 || p.Code != "corrupt" {
		t.Errorf("%+v", p)
	}
	if _, err := g.http10(rowsPath("t")); err == nil {
		t.Error("rows over HTTP/1.0, where a break looks like an end")
	}
}

// http10 asks as a client of HTTP/1.0 does.
func (g *ground) http10(path string) (int, error) {
	recorder := &answer10{header: http.Header{}}
	r, err := http.NewRequest("GET", g.URL+path, nil)
	if err != nil {
		return 0, err
	}
	r.Proto, r.ProtoMajor, r.ProtoMinor, r.RemoteAddr = "HTTP/1.0", 1, 0, "127.0.0.1:9"
	g.rows.ServeHTTP(recorder, r)
	if recorder.status == http.StatusHTTPVersionNotSupported {
		return recorder.status, errors.New("refused")
	}
	return recorder.status, nil
}

type answer10 struct {
	header http.Header
	status int
}

func (a *answer10) Header() http.Header         { return a.header }
func (a *answer10) WriteHeader(status int)      { a.status = status }
func (a *answer10) Write(p []byte) (int, error) { return len(p), nil }

// begun opens an answer that is far longer than what buffers on the way hold, and reads its first bytes.
func (g *ground) begun(ctx context.Context) *http.Response {
	g.t.Helper()
	answer := g.open(ctx, "GET", rowsPath("large", "format", "arrow"), nil, nil)
	if answer.StatusCode != 200 {
		g.t.Fatalf("%d", answer.StatusCode)
	}
	if _, err := io.ReadFull(answer.Body, make([]byte, 1000)); err != nil {
		g.t.Fatal(err)
	}
	return answer
}

// A client that goes ends its scan: nothing more is read, and every goroutine ends. One that stands still holds the
// scan back, whatever there is to read.
func TestClientsThatGoAndStand(t *testing.T) {
	g := newGround(t, arrowhttp.Options{})
	const shards = 30
	g.large(shards)
	gets := func() int64 { return g.cat.Client().Counters().Gets }
	g.ask("GET", "/v1/tables", nil, nil)
	before, resting := gets(), runtime.NumGoroutine()
	ctx, leave := context.WithCancel(t.Context())
	answer := g.begun(ctx)
	last := int64(-1)
	eventually(t, "a client that takes nothing holds the scan back", func() bool {
		now := gets()
		still := now == last
		last = now
		time.Sleep(100 * time.Millisecond)
		return still
	})
	if all := int64(2 * shards); last-before > all/2 {
		t.Errorf("%d GETs for a client that took 1000 bytes; all rows take %d", last-before, all)
	}
	leave()
	answer.Body.Close()
	eventually(t, "the answer ends", func() bool { s := g.rows.Stats(); return s.Active == 0 && s.Gone == 1 })
	g.client.CloseIdleConnections()
	eventually(t, "all goroutines of the scan end", func() bool { return runtime.NumGoroutine() <= resting })
	if after := gets(); after > last+4 {
		t.Errorf("%d GETs after the client had gone", after-last)
	}
}

func TestSlowClientIsShed(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{Stall: 300 * time.Millisecond})
	g.large(12)
	answer := g.begun(t.Context())
	defer answer.Body.Close()
	eventually(t, "the client is shed", func() bool { s := g.rows.Stats(); return s.Active == 0 && s.Shed == 1 })
	if _, err := io.Copy(io.Discard, answer.Body); err == nil {
		t.Error("what a shed client gets looks whole")
	}
}

// With no slot left requests wait, and are refused with a time to retry when that takes too long.
func TestBusyServerSaysSo(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{Answers: 1, Patience: 100 * time.Millisecond})
	g.large(12)
	ctx, leave := context.WithCancel(t.Context())
	answer := g.begun(ctx)
	busy, text := g.ask("GET", rowsPath("large"), nil, nil)
	if p := problemIn(t, busy, text); p.Status != 503 || busy.Header.Get("Retry-After") == "" {
		t.Errorf("%+v %v", p, busy.Header)
	}
	if ok, _ := g.ask("GET", "/v1/tables", nil, nil); ok.StatusCode != 200 {
		t.Errorf("the list of tables waits too: %d", ok.StatusCode)
	}
	leave()
	answer.Body.Close()
	eventually(t, "the slot is given back", func() bool { return g.rows.Stats().Active == 0 })
	if ok, _ := g.ask("GET", rowsPath("large", "limit", "1"), nil, nil); ok.StatusCode != 200 || g.rows.Stats().Refused != 1 {
		t.Errorf("%d %+v", ok.StatusCode, g.rows.Stats())
	}
}

// A hundred clients at once share few slots, from few addresses: all get everything, and what served them is gone then.
func TestManyClients(t *testing.T) {
	g := newGround(t, arrowhttp.Options{Answers: 4, Patience: time.Minute, MaxMemory: 64 << 20})
	g.table("t", shardOf(0, 500), shardOf(500, 1000))
	g.ask("GET", "/v1/tables", nil, nil)
	resting, files := runtime.NumGoroutine(), openFiles(t)
	const clients = 100
	var all sync.WaitGroup
	var whole, busy atomic.Int64
	for i := range clients {
		all.Go(func() {
			client := clientAt(i % 8)
			defer client.CloseIdleConnections()
			for {
				answer, err := client.Get(g.URL + rowsPath("t", "format", "arrow"))
				if err != nil {
					t.Error(err)
					return
				}
				if answer.StatusCode == http.StatusServiceUnavailable {
					busy.Add(1)
					answer.Body.Close()
					time.Sleep(10 * time.Millisecond)
					continue
				}
				if ids := idsOf(t, answer.Body); len(ids) != 1000 {
					t.Errorf("%d rows", len(ids))
				}
				answer.Body.Close()
				whole.Add(1)
				return
			}
		})
	}
	all.Wait()
	eventually(t, "all answers end", func() bool { s := g.rows.Stats(); return s.Active == 0 && s.Whole == clients })
	if s := g.rows.Stats(); s.Refused != busy.Load() || whole.Load() != clients {
		t.Errorf("%+v; %d were told to come back", s, busy.Load())
	}
	g.client.CloseIdleConnections()
	eventually(t, "goroutines and files are given back", func() bool { return runtime.NumGoroutine() <= resting && openFiles(t) <= files })
}

// clientAt is a client with an address of its own on this machine.
func clientAt(i int) *http.Client {
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i))}}
	return &http.Client{Transport: &http.Transport{DialContext: from.DialContext}}
}

// openFiles counts the descriptors of this process, but for those of the catalog's database, whose connections are pooled.
func openFiles(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here:", err)
	}
	for _, e := range entries {
		if name, _ := os.Readlink("/proc/self/fd/" + e.Name()); !strings.Contains(name, "catalog.db") {
			n++
		}
	}
	return n
}

// A client with many requests fills half of the line, and leaves the other half to others.
func TestLineIsSharedByClients(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{Answers: 1, Patience: time.Minute})
	g.large(12)
	ctx, leave := context.WithCancel(t.Context())
	first := g.begun(ctx)
	var all sync.WaitGroup
	ask := func(address int) int {
		answer, err := clientAt(address).Get(g.URL + rowsPath("large", "limit", "3"))
		if err != nil {
			t.Error(err)
			return 0
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		return answer.StatusCode
	}
	for i, address := range []int{0, 0, 0, 0, 1} {
		all.Go(func() {
			if status := ask(address); status != http.StatusOK {
				t.Errorf("status %d for client %d", status, address)
			}
		})
		eventually(t, "a request waits", func() bool { return g.rows.Stats().Waiting == int64(i+1) })
		if i == 3 {
			if status := ask(address); status != http.StatusServiceUnavailable {
				t.Errorf("status %d for more than half of the line", status)
			}
		}
	}
	leave()
	first.Body.Close()
	all.Wait()
}

// A plan is read while the table is compacted, written to and expired: every row comes once, in whatever state the table is.
func TestLedgerOfTasks(t *testing.T) {
	t.Parallel()
	g := newGround(t, arrowhttp.Options{})
	var shards []string
	for i := range 4 {
		shards = append(shards, shardOf(100*i, 100*i+100))
	}
	table := g.table("t", shards...)
	plan := g.plan("t", "split-size", "1500")
	seen := map[int64]int{}
	for i, task := range plan.Tasks {
		g.change(table, i)
		for _, id := range g.idsOfTask(task) {
			seen[id]++
		}
	}
	if len(seen) != 400 {
		t.Errorf("%d different rows", len(seen))
	}
	for id, n := range seen {
		if n != 1 || id >= 400 {
			t.Errorf("row %d came %d times", id, n)
		}
	}
	if answer, _ := g.ask("GET", rowsPath("t", "snapshot", strconv.FormatInt(plan.SnapshotID, 10)), nil, nil); answer.StatusCode != 404 {
		t.Errorf("the snapshot of the plan is still there: %d", answer.StatusCode)
	}
}

// change changes the table between two tasks: compaction, rows, expiry of all but the newest snapshot.
func (g *ground) change(table *catalog.Table, i int) {
	g.t.Helper()
	ctx := g.t.Context()
	var err error
	switch i % 3 {
	case 0:
		_, err = compaction.Compact(ctx, table, compaction.Policy{}, compaction.Options{})
	case 1:
		g.appendTo(table, shardOf(1000+i, 1001+i))
	case 2:
		var plan *catalog.ExpirePlan
		if plan, err = table.PlanExpire(catalog.ExpireOptions{OlderThan: time.Now().Add(time.Hour)}); err == nil {
			err = plan.Execute(ctx)
		}
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

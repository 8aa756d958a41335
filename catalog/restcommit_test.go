package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
)

// changesOfTables are operations of each kind that commits; done reports whether the table is as the operation leaves it.
var changesOfTables = map[string]struct {
	do   func(ctx context.Context, t *testing.T, tbl *Table) error
	done func(t *testing.T, tbl *Table) bool
}{
	"ingest": {changesOfRows["ingest"].do, func(t *testing.T, tbl *Table) bool { return len(allIDs(t, tbl)) == 25 }},
	"delete": {changesOfRows["delete"].do, func(t *testing.T, tbl *Table) bool { return len(allIDs(t, tbl)) == 19 }},
	"alter": {func(ctx context.Context, t *testing.T, tbl *Table) error {
		return tbl.AddColumn(ctx, "note", typed(t, "string"))
	}, func(t *testing.T, tbl *Table) bool { return len(tbl.Schema().Fields) == 5 }},
	"tag": {func(ctx context.Context, t *testing.T, tbl *Table) error {
		_, err := tbl.CreateTag(ctx, "here", tbl.Head())
		return err
	}, func(t *testing.T, tbl *Table) bool { return len(tbl.Refs()) == 2 }},
	"expire": {func(ctx context.Context, t *testing.T, tbl *Table) error {
		plan, err := tbl.PlanExpire(ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
		if err != nil {
			return err
		}
		return plan.Execute(ctx)
	}, func(t *testing.T, tbl *Table) bool { return len(tbl.History()) == 1 }},
}

func allIDs(t *testing.T, tbl *Table) []int64 {
	ids, _ := scanIDs(t, tbl, ScanOptions{})
	return ids
}

// TestStatusOfCommits gives each status to the commits of each operation: with and without an error body of the catalog, before and after the
// commit is carried out.
func TestStatusOfCommits(t *testing.T) {
	proper := func(status int) string {
		return fmt.Sprintf(`{"error":{"message":"no","type":"SomeException","code":%d}}`, status)
	}
	type response struct {
		status  int
		body    string
		carried bool
	}
	type want struct {
		err error
		// once: the request is sent once.
		once bool
	}
	cases := map[response]want{}
	for _, status := range []int{400, 401, 403, 405, 422, 501} {
		cases[response{status, proper(status), false}] = want{ErrRefused, true}
		// A proxy's page proves nothing: the table decides.
		cases[response{status, "<html>", false}] = want{}
		cases[response{status, "<html>", true}] = want{}
	}
	for _, status := range []int{404, 408, 429, 500, 502, 503, 504} {
		cases[response{status, "<html>", false}] = want{}
		cases[response{status, proper(status), false}] = want{}
		if status != 429 && status != 404 { // these report that nothing was done
			cases[response{status, proper(status), true}] = want{}
			cases[response{status, "", true}] = want{}
		}
	}
	others := []string{"delete", "alter", "tag", "expire"}
	for i, r := range slices.SortedFunc(maps.Keys(cases), func(a, b response) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
		w := cases[r]
		operations := []string{"ingest", others[i%len(others)]}
		if os.Getenv("SHARDCAT_FULL") != "" {
			operations = append(others, "ingest")
		}
		for _, what := range operations {
			change := changesOfTables[what]
			t.Run(fmt.Sprintf("%d carried out %v body %.5q %s", r.status, r.carried, r.body, what), func(t *testing.T) {
				t.Parallel()
				ctx := context.Background()
				g := newGround(t)
				var faults, sent atomic.Int32
				open := g.openFaultyREST(func(w http.ResponseWriter, q *http.Request, real http.Handler) {
					if sent.Add(1); faults.Add(-1) < 0 {
						real.ServeHTTP(w, q)
						return
					}
					if r.carried {
						real.ServeHTTP(httptest.NewRecorder(), q)
					}
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(r.status)
					w.Write([]byte(r.body))
				})
				tbl := g.create(open())
				ingest(t, tbl, IngestOptions{}, rows(0, 10))
				ingest(t, tbl, IngestOptions{}, rows(10, 10))
				before := g.shards(g.open(nil, nil))
				faults.Store(1)
				sent.Store(0)
				err := change.do(ctx, t, g.load(open()))
				if !errors.Is(err, w.err) || (err == nil) != (w.err == nil) || w.once && sent.Load() != 1 {
					t.Errorf("%v after %d requests, want %v", err, sent.Load(), w.err)
				}
				now := g.load(g.open(nil, nil))
				if done := change.done(t, now); done != (err == nil) {
					t.Errorf("done: %v", done)
				}
				if after := g.shards(g.open(nil, nil)); err != nil && !slices.Equal(before, after) {
					t.Errorf("left behind: %v", after)
				}
				if v, err := now.Verify(ctx, VerifyOptions{}); err != nil || len(v.Errors) != 0 {
					t.Errorf("verified: %+v, %v", v, err)
				}
			})
		}
	}
}

// openFaultyREST serves a catalog over HTTP; fault handles the commits to tables.
func (g *ground) openFaultyREST(fault func(w http.ResponseWriter, r *http.Request, real http.Handler)) func() *Catalog {
	mux := (&restServer{ice: g.open(nil, nil).ice}).mux()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/tables/") {
			fault(w, r, mux)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	g.t.Cleanup(server.Close)
	return func() *Catalog {
		c, err := Open(context.Background(), Options{URI: "rest+" + server.URL, Warehouse: "mem://" + g.bucket + "/wh",
			Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}), RetryBudget: 2 * time.Second})
		if err != nil {
			g.t.Fatal(err)
		}
		g.t.Cleanup(func() { c.Close() })
		return c
	}
}

// TestFailedCreationKeepsTheRowsOfOthers: a table that was made without rows, because the catalog takes no first commit, stays if the delivery fails and another
// writer has landed rows in it meanwhile.
func TestFailedCreationKeepsTheRowsOfOthers(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	commits := 0
	refused := func(w http.ResponseWriter, status int) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"refused by a test","type":"RefusedException","code":%d}}`, status)
	}
	open := g.openFaultyREST(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		switch commits++; commits {
		case 1:
			refused(w, http.StatusBadRequest)
			return
		case 2:
			ingest(t, g.load(g.open(nil, nil)), IngestOptions{}, rows(0, 10))
		}
		refused(w, http.StatusForbidden)
	})
	_, _, err := open().IngestNew(ctx, tableName, source(rows(10, 10)), CreateOptions{CreateNamespace: true}, IngestOptions{})
	if !errors.Is(err, ErrRefused) {
		t.Errorf("%v, want ErrRefused", err)
	}
	if ids, _ := scanIDs(t, g.load(g.open(nil, nil)), ScanOptions{Ordered: true}); commits < 2 || !slices.Equal(ids, between(0, 10)) {
		t.Errorf("%d commits, rows %v", commits, ids)
	}
}

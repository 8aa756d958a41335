package arrowhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// heldCommits is a catalog whose first commit waits for ready, and whose commits take a while.
type heldCommits struct {
	icecatalog.Catalog
	once  sync.Once
	ready func()
}

func (c *heldCommits) CommitTable(ctx context.Context, ident table.Identifier, r []table.Requirement, u []table.Update) (table.Metadata, string, error) {
	c.once.Do(c.ready)
	time.Sleep(50 * time.Millisecond)
	return c.Catalog.CommitTable(ctx, ident, r, u)
}

// TestAppendsShareSnapshots: posts that arrive together share a snapshot. Each has its own answer, job and rows; one whose body is wrong fails
// alone, and a job that is sent again is found.
func TestAppendsShareSnapshots(t *testing.T) {
	const posts = 8
	dir := t.TempDir()
	held := &heldCommits{ready: func() {
		for range 10_000 {
			if roots, _ := filepath.Glob(filepath.Join(dir, "vault", "*", "*.amudai.shard")); len(roots) == posts {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Error("the other appends wrote no roots")
	}}
	o := catalog.Options{URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: dir}
	icebergaccess.Wrap(&o, func(c icecatalog.Catalog) icecatalog.Catalog { held.Catalog = c; return held })
	cat, err := catalog.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(arrowhttp.New(cat, arrowhttp.Options{WriteToken: "w"}))
	g := &ground{Server: server, t: t, dir: dir, cat: cat, client: server.Client()}
	t.Cleanup(func() {
		server.Close()
		cat.Close()
	})
	g.table("default.people")
	type outcome struct {
		Snapshot int64 `json:"snapshot_id"`
		Rows     int64
		Before   bool
	}
	post := func(job, token, body string) (int, outcome, string) {
		answer, text := g.ask("POST", "/v1/tables/people/rows"+job, map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/x-ndjson"}, strings.NewReader(body))
		var out outcome
		if answer.StatusCode == http.StatusOK {
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Error(err)
			}
		}
		return answer.StatusCode, out, text
	}
	var group sync.WaitGroup
	snapshots := make([]int64, posts)
	for i := range posts {
		group.Go(func() {
			job := ""
			if i%2 == 0 {
				job = fmt.Sprint("?job-id=job-", i)
			}
			status, out, text := post(job, "w", fmt.Sprintf("{\"id\":%d}\n{\"id\":%d}", 2*i, 2*i+1))
			if snapshots[i] = out.Snapshot; status != http.StatusOK || out.Rows != 2 || out.Before {
				t.Errorf("post %d: %d %s", i, status, text)
			}
		})
	}
	for _, wrong := range []struct {
		token, body string
		status      int
	}{{"w", `{"id":100}` + "\n" + `{"id":`, 400}, {"w", `{"id":"x"}`, 400}, {"no", `{"id":101}`, 401}} {
		group.Go(func() {
			if status, _, text := post("", wrong.token, wrong.body); status != wrong.status {
				t.Errorf("%s: %d %s, want %d", wrong.body, status, text, wrong.status)
			}
		})
	}
	group.Wait()
	if _, out, text := post("?job-id=job-4", "w", `{"id":8}`); !out.Before || out.Snapshot != snapshots[4] {
		t.Errorf("a job that is committed: %s, its snapshot is %d", text, snapshots[4])
	}
	name, _ := catalog.ParseName("people")
	tbl, err := cat.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(snapshots)
	distinct := len(slices.Compact(snapshots))
	if d := tbl.Describe(); d.Snapshots >= posts || d.Snapshots != distinct || d.Records != 2*posts {
		t.Errorf("%d rows in %d snapshots, %d of them named in answers; want %d rows in fewer than %d", d.Records, d.Snapshots, distinct, 2*posts, posts)
	}
	_, text := g.ask("GET", "/v1/tables/people/rows?select=id&format=csv", nil, nil)
	ids := map[string]bool{}
	for _, id := range strings.Fields(text)[1:] {
		ids[id] = true
	}
	if len(ids) != 2*posts {
		t.Errorf("ids %v", ids)
	}
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/commiterr"
)

// TestRefusedBehindAWrongState: a gateway refuses what its server has carried out, and one of the loads that follow returns the state of before, or no
// table. Nothing that the commit refers to is deleted.
func TestRefusedBehindAWrongState(t *testing.T) {
	local := &commiterr.Error{Class: commiterr.Refused, Local: true, Err: errors.New("not sent")}
	later := &commiterr.Error{Class: commiterr.Later, Local: true, Err: errors.New("slow down")}
	for what, change := range changesOfRows {
		for name, answers := range map[string][]error{
			"403": {rest.ErrForbidden}, "400": {rest.ErrBadRequest}, "404": {icecatalog.ErrNoSuchTable}, "409": {table.ErrCommitFailed},
			"404, then nothing is sent":     {icecatalog.ErrNoSuchTable, local},
			"404, then the catalog is away": {icecatalog.ErrNoSuchTable, later},
		} {
			for n := 1; n <= 3; n++ {
				for _, missing := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s/load %d/missing %v", what, name, n, missing), func(t *testing.T) {
						t.Parallel()
						g, tbl, wrapped, other := newAfterCommit(t)
						was, err := other.ice.LoadTable(context.Background(), tableName.identifier())
						if err != nil {
							t.Fatal(err)
						}
						sent := 0
						wrapped.commit = func(table.Metadata, string, error) (table.Metadata, string, error) {
							sent++
							return nil, "", answers[min(sent, len(answers))-1]
						}
						wrapped.load = func(i int, real func() (*table.Table, error)) (*table.Table, error) {
							switch {
							case i != n:
								return real()
							case missing:
								return nil, icecatalog.ErrNoSuchTable
							}
							return was, nil
						}
						err = change.do(context.Background(), t, tbl)
						t.Log(err)
						g.rowsAre(other, change.rows)
					})
				}
			}
		}
	}
}

// wrongREST serves a catalog over HTTP, whose first commit is carried out and refused with a status, and n-th request (and those up to last) after it
// is answered "not found", or with an empty list.
type wrongREST struct {
	mu             sync.Mutex
	mux            http.Handler
	status         int
	first, last, n int
	committed      bool
}

func (s *wrongREST) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wrong := func(status int) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"wrong by a test","type":"NoSuchTableException","code":%d}}`, status)
	}
	commit := r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/tables/")
	if !s.committed {
		if !commit {
			s.mux.ServeHTTP(w, r)
			return
		}
		s.committed = true
		s.mux.ServeHTTP(httptest.NewRecorder(), r)
		wrong(s.status)
		return
	}
	if s.n++; s.n < s.first || s.n > s.last {
		s.mux.ServeHTTP(w, r)
		return
	}
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/tables"):
		answer(w, map[string]any{"identifiers": []string{}})
	case commit:
		wrong(s.status)
	default:
		wrong(http.StatusNotFound)
	}
}

// TestCreationRefusedButCarriedOut: a gateway refuses the commit that makes a table with its first rows, although its server carried it out, and each
// of the following requests in turn, and each two in a row, are answered wrong. The table keeps its files.
func TestCreationRefusedButCarriedOut(t *testing.T) {
	for _, status := range []int{400, 403, 404, 405, 409, 422} {
		for _, withRows := range []bool{true, false} {
			for _, more := range []int{0, 1} {
				for n := 1; ; n++ {
					g, ctx := newGround(t), context.Background()
					sound := g.open(nil, nil)
					s := &wrongREST{status: status, first: n, last: n + more, mux: (&restServer{ice: sound.ice}).mux()}
					server := httptest.NewServer(s)
					c, err := Open(ctx, Options{URI: "rest+" + server.URL, Warehouse: "mem://" + g.bucket + "/wh", RetryBudget: time.Second,
						Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{})})
					if err != nil {
						t.Fatal(err)
					}
					want, src := between(0, 10), source(rows(0, 10))
					if !withRows {
						want, src = nil, source()
					}
					_, _, err = c.IngestNew(ctx, tableName, src, CreateOptions{CreateNamespace: true}, IngestOptions{})
					server.Close()
					c.Close()
					what := fmt.Sprintf("%d, rows %v, wrong answers %d to %d (%v)", status, withRows, n, n+more, err)
					tbl, loadErr := sound.Load(ctx, tableName)
					if loadErr != nil {
						t.Fatalf("%s: %v", what, loadErr)
					}
					if left := objectsBelow(t, sound, tbl.Location()+"/metadata/"); len(left) == 0 {
						t.Fatalf("%s: the metadata file is deleted", what)
					}
					if withRows && len(g.shards(sound)) < 2 {
						t.Fatalf("%s: the shards are deleted", what)
					}
					if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, want) {
						t.Errorf("%s: rows %v", what, ids)
					}
					if s.n < n {
						if err != nil {
							t.Errorf("%s", what)
						}
						break
					}
				}
			}
		}
	}
}

// TestTableOfUnprovenRowsStays: rows of a table that was created for them are committed and refused by a gateway; the table can't be loaded, and then returns
// the state of before. It is not dropped.
func TestTableOfUnprovenRowsStays(t *testing.T) {
	ctx, g := context.Background(), newGround(t)
	wrapped := &afterCommit{}
	c := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog { wrapped.Catalog = ice; return wrapped })
	var was *table.Table
	wrapped.commit = func(meta table.Metadata, at string, err error) (table.Metadata, string, error) {
		for entry := range meta.PreviousFiles() { // the last one is the state of before
			if was, err = table.NewFromLocation(ctx, tableName.identifier(), entry.MetadataFile, c.fs, nil); err != nil {
				t.Error(err)
			}
		}
		return nil, "", rest.ErrForbidden
	}
	wrapped.load = func(n int, _ func() (*table.Table, error)) (*table.Table, error) {
		if n <= maxReloads {
			return nil, rest.ErrForbidden
		}
		return was, nil
	}
	create := CreateOptions{Schema: people(), CreateNamespace: true, Location: "mem://" + g.bucket + "/elsewhere"}
	if _, _, err := c.IngestNew(ctx, tableName, source(rows(0, 10)), create, IngestOptions{}); !mayBeCommitted(err) {
		t.Errorf("%v", err)
	}
	if ids, _ := scanIDs(t, g.load(g.open(nil, nil)), ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 10)) {
		t.Errorf("rows %v", ids)
	}
}

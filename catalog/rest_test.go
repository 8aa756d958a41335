package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
)

// restServer speaks Iceberg's REST protocol in front of an embedded catalog.
type restServer struct {
	ice icecatalog.Catalog
	// lose counts down commits whose answer is lost: done, and answered with status.
	lose   atomic.Int32
	status int
}

func (s *restServer) mux() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/config", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}})
	})
	mux.HandleFunc("GET /v1/namespaces", s.namespaces)
	mux.HandleFunc("POST /v1/namespaces", s.createNamespace)
	mux.HandleFunc("GET /v1/namespaces/{ns}", s.namespace)
	mux.HandleFunc("HEAD /v1/namespaces/{ns}", s.namespace)
	mux.HandleFunc("GET /v1/namespaces/{ns}/tables", s.tables)
	mux.HandleFunc("POST /v1/namespaces/{ns}/tables", s.create)
	mux.HandleFunc("GET /v1/namespaces/{ns}/tables/{table}", s.load)
	mux.HandleFunc("POST /v1/namespaces/{ns}/tables/{table}", s.commit)
	mux.HandleFunc("DELETE /v1/namespaces/{ns}/tables/{table}", s.drop)
	return mux
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	kind := "ServerError"
	switch {
	case errors.Is(err, icecatalog.ErrNoSuchTable):
		status, kind = http.StatusNotFound, "NoSuchTableException"
	case errors.Is(err, icecatalog.ErrNoSuchNamespace):
		status, kind = http.StatusNotFound, "NoSuchNamespaceException"
	case errors.Is(err, icecatalog.ErrTableAlreadyExists), errors.Is(err, icecatalog.ErrNamespaceAlreadyExists):
		status, kind = http.StatusConflict, "AlreadyExistsException"
	case errors.Is(err, table.ErrCommitFailed), strings.Contains(strings.ToLower(err.Error()), "requirement failed"):
		status, kind = http.StatusConflict, "CommitFailedException"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": err.Error(), "type": kind, "code": status}})
}

func (s *restServer) namespaces(w http.ResponseWriter, r *http.Request) {
	found, err := s.ice.ListNamespaces(r.Context(), nil)
	if err != nil {
		refuse(w, err)
		return
	}
	if r.URL.Query().Get("parent") != "" {
		found = nil
	}
	answer(w, map[string]any{"namespaces": found})
}

func (s *restServer) createNamespace(w http.ResponseWriter, r *http.Request) {
	var body struct{ Namespace []string }
	json.NewDecoder(r.Body).Decode(&body)
	if err := s.ice.CreateNamespace(r.Context(), body.Namespace, nil); err != nil {
		refuse(w, err)
		return
	}
	answer(w, map[string]any{"namespace": body.Namespace, "properties": map[string]string{}})
}

func (s *restServer) namespace(w http.ResponseWriter, r *http.Request) {
	exists, err := s.ice.CheckNamespaceExists(r.Context(), []string{r.PathValue("ns")})
	if err == nil && !exists {
		err = icecatalog.ErrNoSuchNamespace
	}
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, map[string]any{"namespace": []string{r.PathValue("ns")}, "properties": map[string]string{}})
}

func (s *restServer) tables(w http.ResponseWriter, r *http.Request) {
	type ident struct {
		Namespace []string `json:"namespace"`
		Name      string   `json:"name"`
	}
	out := []ident{}
	for id, err := range s.ice.ListTables(r.Context(), []string{r.PathValue("ns")}) {
		if err != nil {
			refuse(w, err)
			return
		}
		out = append(out, ident{id[:len(id)-1], id[len(id)-1]})
	}
	answer(w, map[string]any{"identifiers": out})
}

func (s *restServer) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name       string
		Schema     *iceberg.Schema
		Spec       *iceberg.PartitionSpec `json:"partition-spec"`
		Properties iceberg.Properties
		Location   string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, err)
		return
	}
	t, err := s.ice.CreateTable(r.Context(), []string{r.PathValue("ns"), body.Name}, body.Schema,
		icecatalog.WithPartitionSpec(body.Spec), icecatalog.WithProperties(body.Properties), icecatalog.WithLocation(body.Location))
	s.table(w, t, err)
}

func (s *restServer) table(w http.ResponseWriter, t *table.Table, err error) {
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, map[string]any{"metadata-location": t.MetadataLocation(), "metadata": t.Metadata(), "config": map[string]string{}})
}

func (s *restServer) load(w http.ResponseWriter, r *http.Request) {
	t, err := s.ice.LoadTable(r.Context(), []string{r.PathValue("ns"), r.PathValue("table")})
	s.table(w, t, err)
}

func (s *restServer) commit(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Requirements table.Requirements
		Updates      table.Updates
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, err)
		return
	}
	meta, at, err := s.ice.CommitTable(r.Context(), []string{r.PathValue("ns"), r.PathValue("table")}, body.Requirements, body.Updates)
	if s.lose.Add(-1) >= 0 {
		w.WriteHeader(s.status)
		return
	}
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, map[string]any{"metadata-location": at, "metadata": meta})
}

func (s *restServer) drop(w http.ResponseWriter, r *http.Request) {
	if err := s.ice.DropTable(r.Context(), []string{r.PathValue("ns"), r.PathValue("table")}); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// startREST opens a catalog through a REST server on loopback.
func (g *ground) startREST() (*restServer, func() *Catalog) {
	s := &restServer{ice: g.open(nil, nil).ice, status: http.StatusBadGateway}
	server := httptest.NewServer(s.mux())
	g.t.Cleanup(server.Close)
	return s, func() *Catalog {
		c, err := Open(context.Background(), Options{
			URI: "rest+" + server.URL, Warehouse: "mem://" + g.bucket + "/wh", Client: blobio.NewClient(), Metadata: blobio.NewClient(),
		})
		if err != nil {
			g.t.Fatal(err)
		}
		g.t.Cleanup(func() { c.Close() })
		return c
	}
}

// TestREST runs the life of a table over a REST catalog.
func TestREST(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	server, open := g.startREST()
	c := open()
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{ShardRows: 10}, rows(0, 30))
	if _, err := c.Create(ctx, tableName, CreateOptions{Schema: people()}); !errors.Is(err, ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	tbl = g.load(open())
	if ids, stats := scanIDs(t, tbl, ScanOptions{Ordered: true, Where: where(t, "id < 12")}); !slices.Equal(ids, between(0, 12)) || stats.ShardsPrunedBounds != 1 {
		t.Errorf("%v, %+v", ids, stats)
	}
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil || e.Stripes != 1 || !e.Created.Known() {
			t.Errorf("private values over REST: %+v, %v", e.Private, err)
		}
	}
	// The answer is lost: 502 after the commit was done.
	server.lose.Store(1)
	ingest(t, tbl, IngestOptions{JobID: "x"}, rows(30, 5))
	// A writer with an old head is rejected with 409 and rebases.
	stale := g.load(open())
	ingest(t, tbl, IngestOptions{}, rows(35, 5))
	ingest(t, stale, IngestOptions{}, rows(40, 5))
	tbl = g.load(open())
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 45)) {
		t.Errorf("rows %v", ids)
	}
	if names, err := c.Tables(ctx, ""); err != nil || len(names) != 1 {
		t.Errorf("tables %v, %v", names, err)
	}
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(ctx, tableName); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the drop: %v", err)
	}
}

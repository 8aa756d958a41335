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
	// oneLevel: namespaces in others can't be listed. hidden: none are listed.
	oneLevel, hidden atomic.Bool
	// noFirst, if not 0, is the status by which a commit is refused that would make a table.
	noFirst int
	// managed: the server refuses to be given where a table lies, and puts it there.
	managed string
	// purged are the tables that were dropped with their files.
	purged []string
	// hook, if not nil, is called for each request in place of the server.
	hook func(w http.ResponseWriter, r *http.Request, server http.Handler)
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
	mux.HandleFunc("POST /v1/namespaces/{ns}/properties", s.setProperties)
	mux.HandleFunc("POST /v1/namespaces/{ns}/register", s.register)
	mux.HandleFunc("POST /v1/tables/rename", s.rename)
	mux.HandleFunc("GET /v1/namespaces/{ns}/tables", s.tables)
	mux.HandleFunc("POST /v1/namespaces/{ns}/tables", s.create)
	mux.HandleFunc("GET /v1/namespaces/{ns}/tables/{table}", s.load)
	mux.HandleFunc("POST /v1/namespaces/{ns}/tables/{table}", s.commit)
	mux.HandleFunc("DELETE /v1/namespaces/{ns}/tables/{table}", s.drop)
	mux.HandleFunc("DELETE /v1/namespaces/{ns}", s.dropNamespace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.hook != nil {
			s.hook(w, r, mux)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *restServer) dropNamespace(w http.ResponseWriter, r *http.Request) {
	if err := s.ice.DropNamespace(r.Context(), []string{r.PathValue("ns")}); err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
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
	nested := r.URL.Query().Get("parent") != ""
	if nested && s.oneLevel.Load() {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]any{"error": map[string]any{"message": "nested namespaces not supported", "type": "BadRequestException", "code": 400}})
		return
	}
	if nested || s.hidden.Load() {
		found = [][]string{}
	}
	answer(w, map[string]any{"namespaces": found})
}

func (s *restServer) createNamespace(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Namespace  []string
		Properties iceberg.Properties
	}
	json.NewDecoder(r.Body).Decode(&body)
	if err := s.ice.CreateNamespace(r.Context(), body.Namespace, body.Properties); err != nil {
		refuse(w, err)
		return
	}
	answer(w, map[string]any{"namespace": body.Namespace, "properties": map[string]string{}})
}

func (s *restServer) setProperties(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Removals []string
		Updates  iceberg.Properties
	}
	json.NewDecoder(r.Body).Decode(&body)
	done, err := s.ice.UpdateNamespaceProperties(r.Context(), []string{r.PathValue("ns")}, body.Removals, body.Updates)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, done)
}

func (s *restServer) register(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name string
		At   string `json:"metadata-location"`
	}
	json.NewDecoder(r.Body).Decode(&body)
	t, err := s.ice.(registrar).RegisterTable(r.Context(), []string{r.PathValue("ns"), body.Name}, body.At)
	s.table(w, t, err)
}

func (s *restServer) rename(w http.ResponseWriter, r *http.Request) {
	type ident struct {
		Namespace []string
		Name      string
	}
	var body struct{ Source, Destination ident }
	json.NewDecoder(r.Body).Decode(&body)
	_, err := s.ice.RenameTable(r.Context(), append(body.Source.Namespace, body.Source.Name), append(body.Destination.Namespace, body.Destination.Name))
	if err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *restServer) namespace(w http.ResponseWriter, r *http.Request) {
	properties, err := s.ice.LoadNamespaceProperties(r.Context(), []string{r.PathValue("ns")})
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, map[string]any{"namespace": []string{r.PathValue("ns")}, "properties": properties})
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
	if s.managed != "" && body.Location != "" {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, map[string]any{"error": map[string]any{"message": "Cannot specify location for managed table", "type": "BadRequestException", "code": 400}})
		return
	}
	if s.managed != "" {
		body.Location = s.managed + "/" + body.Name
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
	if _, err := s.ice.LoadTable(r.Context(), []string{r.PathValue("ns"), r.PathValue("table")}); err != nil && s.noFirst != 0 {
		w.WriteHeader(s.noFirst)
		answer(w, map[string]any{"error": map[string]any{"message": "no such table", "type": "NoSuchTableException", "code": s.noFirst}})
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
	if r.URL.Query().Get("purgeRequested") == "true" {
		s.purged = append(s.purged, r.PathValue("table"))
	}
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
			URI: "rest+" + server.URL, Warehouse: "mem://" + g.bucket + "/wh", Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}),
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

// TestRESTCreatesTheOtherWay: where the server refuses a commit that makes a table, or to be given where it lies, the table is made
// empty, where the server wants it, and gets its rows then; no table and no object is left if they can't be delivered.
func TestRESTCreatesTheOtherWay(t *testing.T) {
	for _, status := range []int{400, 404, 405, 406, 501} {
		for _, managed := range []bool{false, true} {
			g, ctx := newGround(t), context.Background()
			server, open := g.startREST()
			server.noFirst = status
			if managed {
				server.managed = "mem://" + g.bucket + "/managed"
			}
			c := open()
			tbl, in, err := c.IngestNew(ctx, tableName, source(rows(0, 30)), CreateOptions{CreateNamespace: true}, IngestOptions{ShardRows: 10})
			if err != nil || in.Rows != 30 || len(in.Shards) != 3 {
				t.Fatalf("%d: %+v, %v", status, in, err)
			}
			if managed && tbl.Location() != server.managed+"/"+tableName.Table {
				t.Errorf("the table lies at %s", tbl.Location())
			}
			if ids, _ := scanIDs(t, g.load(open()), ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 30)) {
				t.Errorf("%d: rows %v", status, ids)
			}
			for info, err := range c.Client().List(ctx, c.Vault()+"/") {
				if err != nil || !strings.HasPrefix(info.URL, tbl.VaultFolder()) && !strings.Contains(info.URL, "/_doctor/") {
					t.Errorf("%d: left %s, %v", status, info.URL, err)
				}
			}
			// Without rows, the table is there all the same.
			other := Name{"default", "empty"}
			if _, in, err := c.IngestNew(ctx, other, source(), CreateOptions{}, IngestOptions{}); err != nil || in.Rows != 0 {
				t.Errorf("%d without rows: %+v, %v", status, in, err)
			}
			if _, err := c.Load(ctx, other); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRESTRefusedCreation: a refusal that is none of the form of the request is not gone around.
func TestRESTRefusedCreation(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	server, open := g.startREST()
	server.noFirst = http.StatusForbidden
	c := open()
	_, _, err := c.IngestNew(ctx, tableName, source(rows(0, 30)), CreateOptions{CreateNamespace: true}, IngestOptions{})
	if !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if _, err := c.Load(ctx, tableName); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the refusal: %v", err)
	}
}

// TestPurge: the server deletes the files; a catalog without a server refuses.
func TestPurge(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	server, open := g.startREST()
	c := open()
	g.create(c)
	if err := c.Purge(ctx, tableName); err != nil || !slices.Equal(server.purged, []string{tableName.Table}) {
		t.Errorf("%v, purged %v", err, server.purged)
	}
	own := g.open(nil, nil)
	g.create(own)
	if err := own.Purge(ctx, tableName); !errors.Is(err, ErrInvalid) {
		t.Errorf("without a server: %v", err)
	}
	if err := own.Drop(ctx, tableName); err != nil {
		t.Error(err)
	}
}

// TestLocationOfATable: a table's metadata lies where its maker states, and never among the shards.
func TestLocationOfATable(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	at := "mem://" + g.bucket + "/mine/people"
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), Location: at + "/", CreateNamespace: true})
	if err != nil || tbl.Location() != at {
		t.Fatalf("%v, %v", tbl, err)
	}
	for _, bad := range []string{c.Vault(), c.Vault() + "/x", "mem://" + g.bucket + "/", "nowhere", "mem://" + g.bucket + "/a b"} {
		if _, err := c.Create(ctx, Name{"default", "other"}, CreateOptions{Schema: people(), Location: bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestNamespacesOfOneLevel: a catalog that refuses to list namespaces in others has none of them: its tables are listed, collected and dropped.
func TestNamespacesOfOneLevel(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	server, open := g.startREST()
	server.oneLevel.Store(true)
	c := open()
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	if names, err := c.Tables(ctx, ""); err != nil || !slices.Equal(names, []Name{tableName}) {
		t.Errorf("tables %v, %v", names, err)
	}
	if _, err := tbl.Collect(ctx, CollectOptions{Execute: true}); err != nil {
		t.Error(err)
	}
	if err := c.Drop(ctx, tableName); err != nil {
		t.Error(err)
	}
	if _, err := c.client.Stat(ctx, tbl.VaultFolder()+droppedName); err != nil {
		t.Errorf("the record of the drop: %v", err)
	}
}

// TestListThatLacksNamespaces: nothing is deleted on the word of a list of namespaces that lacks one which is there.
func TestListThatLacksNamespaces(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	server, open := g.startREST()
	c := open()
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	server.hidden.Store(true)
	if _, err := tbl.Collect(ctx, CollectOptions{Execute: true}); err == nil || !strings.Contains(err.Error(), "lacks "+tableName.Namespace) {
		t.Errorf("%v, want a refusal that names the namespace", err)
	}
	server.hidden.Store(false)
	if _, err := tbl.Collect(ctx, CollectOptions{Execute: true}); err != nil {
		t.Error(err)
	}
}

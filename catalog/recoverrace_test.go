package catalog

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// onceAt does something before, or after, the n-th request that has a method and an end of its path.
func onceAt(n int, method, end string, do func(w http.ResponseWriter, r *http.Request, server http.Handler)) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.Method == method && strings.HasSuffix(r.URL.Path, end) {
			if n--; n == 0 {
				do(w, r, server)
				return
			}
		}
		server.ServeHTTP(w, r)
	}
}

// TestRecoverMakesNoTwin: a table that is renamed, or recovered by somebody else, while a recovery looks for it does not get a second name in an older state.
func TestRecoverMakesNoTwin(t *testing.T) {
	ctx := context.Background()
	missingPause = time.Millisecond
	defer func() { missingPause = time.Second }()
	moved := Name{"default", "moved"}
	at := func(n int, method, end string, do func(s *restServer, first string)) func(*restServer, string) {
		return func(s *restServer, first string) {
			s.hook = onceAt(n, method, end, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
				do(s, first)
				server.ServeHTTP(w, r)
			})
		}
	}
	rename := func(s *restServer, _ string) {
		if _, err := s.ice.RenameTable(ctx, tableName.identifier(), moved.identifier()); err != nil {
			t.Error(err)
		}
	}
	recover_ := func(s *restServer, first string) {
		if _, err := s.ice.(registrar).RegisterTable(ctx, moved.identifier(), first); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		dropped, all bool
		play         func(s *restServer, first string)
		left         []Name
	}{
		"renamed between the list and the load":          {false, false, at(1, http.MethodGet, "/tables/people", rename), []Name{moved}},
		"recovered elsewhere before it is registered":    {true, false, at(1, http.MethodPost, "/register", recover_), []Name{moved}},
		"recovered elsewhere, both of all":               {true, true, at(1, http.MethodPost, "/register", recover_), []Name{moved}},
		"recovered elsewhere before it is withdrawn":     {true, false, at(2, http.MethodGet, "/namespaces/default/tables", recover_), []Name{moved}},
		"renamed after it was registered, which is fine": {true, false, at(2, http.MethodGet, "/namespaces/default/tables", rename), []Name{moved}},
	} {
		g := newGround(t)
		server, open := g.startREST()
		catalog := open()
		tbl := g.create(catalog)
		ingest(t, tbl, IngestOptions{}, rows(0, 10))
		first := tbl.MetadataLocation()
		ingest(t, tbl, IngestOptions{}, rows(10, 10))
		want := between(0, 20)
		if c.dropped {
			if err := catalog.Drop(ctx, tableName); err != nil {
				t.Fatal(err)
			}
			if first = tbl.MetadataLocation(); c.all {
				if err := catalog.client.Delete(ctx, tbl.VaultFolder()+droppedName, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.play(server, first)
		var err error
		if c.all {
			_, err = catalog.RecoverAll(ctx, false)
		} else {
			_, err = catalog.Recover(ctx, first, RecoverOptions{As: tableName})
		}
		server.hook = nil
		if fine := strings.HasSuffix(name, "fine"); fine != (err == nil) || !fine && !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: %v", name, err)
		}
		left, err := catalog.Tables(ctx, "")
		if err != nil || !slices.Equal(left, c.left) {
			t.Fatalf("%s: left %v, %v", name, left, err)
		}
		back, err := open().Load(ctx, moved)
		if err != nil {
			t.Fatal(err)
		}
		if ids, _ := scanIDs(t, back, ScanOptions{Ordered: true}); !slices.Equal(ids, want) {
			t.Errorf("%s: rows %v", name, ids)
		}
	}
}

// TestWithdrawnTwins: a twin that somebody has committed to, or that stood in the catalog before, stays.
func TestWithdrawnTwins(t *testing.T) {
	ctx := context.Background()
	twin := Name{"default", "twin"}
	for name, c := range map[string]struct {
		committed, replaced bool
		stays               bool
	}{"alone": {false, false, false}, "committed to": {true, false, true}, "replaced": {false, true, true}} {
		g := newGround(t)
		catalog := g.open(nil, nil)
		tbl := g.create(catalog)
		ingest(t, tbl, IngestOptions{}, rows(0, 10))
		r := &recovered{name: twin, uuid: tbl.UUID(), at: tbl.MetadataLocation(), replaced: c.replaced}
		if _, err := catalog.registrar.RegisterTable(ctx, twin.identifier(), r.at); err != nil {
			t.Fatal(err)
		}
		if c.committed {
			other, err := catalog.Load(ctx, twin)
			if err != nil {
				t.Fatal(err)
			}
			ingest(t, other, IngestOptions{}, rows(10, 10))
		}
		all, err := catalog.registeredNow(ctx)
		if err != nil {
			t.Fatal(err)
		}
		err = catalog.withdrawTwin(ctx, r, all)
		if !errors.Is(err, ErrUnsafe) || strings.Contains(err.Error(), "stays in the catalog") != c.stays {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := catalog.ice.LoadTable(ctx, twin.identifier()); (err == nil) != c.stays {
			t.Errorf("%s: %v, should stay: %v", name, err, c.stays)
		}
		if ids, _ := scanIDs(t, g.load(g.open(nil, nil)), ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 10)) {
			t.Errorf("%s: rows %v", name, ids)
		}
	}
	g := newGround(t)
	catalog := g.open(nil, nil)
	tbl := g.create(catalog)
	first := tbl.MetadataLocation()
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	if err := catalog.sql.DropAt(ctx, tableName.identifier(), first); !errors.Is(err, table.ErrCommitFailed) {
		t.Errorf("dropped at an older state: %v", err)
	}
}

// TestRefusalsOfWorkThatIsDone: the catalog does what it is told, and the response is a refusal.
func TestRefusalsOfWorkThatIsDone(t *testing.T) {
	ctx := context.Background()
	done := func(n int, method, end string, err error) func(http.ResponseWriter, *http.Request, http.Handler) {
		return onceAt(n, method, end, func(w http.ResponseWriter, r *http.Request, server http.Handler) {
			server.ServeHTTP(httptest.NewRecorder(), r)
			refuse(w, err)
		})
	}
	g := newGround(t)
	server, open := g.startREST()
	c := open()
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	for _, refusal := range []error{table.ErrCommitFailed, icecatalog.ErrTableAlreadyExists, icecatalog.ErrNoSuchNamespace} {
		if err := c.Drop(ctx, tableName); err != nil {
			t.Fatal(err)
		}
		server.hook = done(1, http.MethodPost, "/register", refusal)
		_, err := c.Undrop(ctx, tableName)
		if server.hook = nil; err != nil {
			t.Errorf("undrop, %v: %v", refusal, err)
		}
	}
	if _, err := c.Recover(ctx, tbl.MetadataLocation(), RecoverOptions{As: tableName}); !errors.Is(err, ErrExists) {
		t.Errorf("recovered beside itself: %v", err)
	}
	for _, refusal := range []error{table.ErrCommitFailed, icecatalog.ErrNoSuchTable} {
		if err := c.CreateNamespace(ctx, "extra"); err != nil {
			t.Fatal(err)
		}
		server.hook = done(1, http.MethodDelete, "/namespaces/extra", refusal)
		err := c.DropNamespace(ctx, "extra")
		server.hook = nil
		if lost := errors.Is(refusal, table.ErrCommitFailed); lost != (err == nil) || !lost && !errors.Is(err, ErrNotFound) {
			t.Errorf("drop of a namespace, %v: %v", refusal, err)
		}
		if there, err := c.Namespaces(ctx); err != nil || slices.Contains(there, "extra") {
			t.Errorf("%v, %v", there, err)
		}
	}
	if err := c.CreateNamespace(ctx, "extra"); err != nil {
		t.Fatal(err)
	}
	server.hook = onceAt(1, http.MethodDelete, "/namespaces/extra", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { refuse(w, table.ErrCommitFailed) })
	if err := c.DropNamespace(ctx, "extra"); !errors.Is(err, ErrConflict) {
		t.Errorf("a namespace that stays: %v", err)
	}
	// The rename is done, and the table can't be loaded after it.
	renamed := Name{"default", "renamed"}
	server.hook = func(w http.ResponseWriter, r *http.Request, mux http.Handler) {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/namespaces/default/tables/") {
			if _, err := server.ice.LoadTable(ctx, renamed.identifier()); err == nil {
				w.WriteHeader(http.StatusForbidden)
				answer(w, map[string]any{"error": map[string]any{"message": "no", "type": "ForbiddenException", "code": 403}})
				return
			}
		}
		mux.ServeHTTP(w, r)
	}
	if _, err := c.Rename(ctx, tableName, renamed); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("renamed: %v", err)
	}
	server.hook = nil
	// Where the server chose the location, a table of that name may be this one or that of another client.
	server.managed = "mem://" + g.bucket + "/managed"
	for n, refusal := range []error{icecatalog.ErrNoSuchNamespace, errors.New("broken by a test")} {
		name := Name{"default", []string{"a", "b"}[n]}
		server.hook = done(2, http.MethodPost, "/namespaces/default/tables", refusal)
		if _, err := c.Create(ctx, name, CreateOptions{Schema: people()}); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("create, %v: %v", refusal, err)
		}
	}
}

// TestIdentityOfAListedNamespace: a namespace that the catalog lists and does not load is loaded again; its UUIDs are not left out.
func TestIdentityOfAListedNamespace(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	server, open := g.startREST()
	c := open()
	g.create(c)
	id := c.identityFor(ctx, "default")
	refused := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { refuse(w, icecatalog.ErrNoSuchNamespace) }
	server.hook = onceAt(1, http.MethodGet, "/namespaces/default", refused)
	if ids, err := c.readIdentities(ctx); err != nil || !slices.Equal(ids, []string{id}) {
		t.Errorf("%v, %v; want %s", ids, err, id)
	}
	server.hook = func(w http.ResponseWriter, r *http.Request, mux http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/namespaces/default") {
			refused(w, r, mux)
			return
		}
		mux.ServeHTTP(w, r)
	}
	if ids, err := c.readIdentities(ctx); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, %v", ids, err)
	}
}

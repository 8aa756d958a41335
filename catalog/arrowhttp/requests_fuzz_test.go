package arrowhttp_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
)

// FuzzRequests: whatever the path, the query and the body of a request are, the response is what was requested or a problem of the request: never a fault of
// the server.
func FuzzRequests(f *testing.F) {
	cat, err := shardcat.Open(f.Context(), filepath.Join(f.TempDir(), "c"), shardcat.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { cat.Close() })
	name := catalog.Name{Namespace: "default", Table: "t"}
	if _, err := cat.Create(f.Context(), name, catalog.CreateOptions{Arrow: people, CreateNamespace: true}); err != nil {
		f.Fatal(err)
	}
	server := arrowhttp.New(cat, arrowhttp.Options{})
	for _, seed := range [][3]string{
		{"GET", "tables", "namespace=default"}, {"GET", "tables", "namespace=a.b%00&namespace=x"}, {"GET", "tables/default.t", "time-unit=ns"},
		{"GET", "tables/default.t/plan", "split-size=1&where=id+%3D+1&select=id"}, {"GET", "tables/default.t/plan", "split-size=-9223372036854775808"},
		{"GET", "tables/default.t/plan", "as-of=9999-12-31T23:59:59.9999999Z&ref=main"}, {"GET", "tables/default.t/rows", "limit=18446744073709551616"},
		{"GET", "tables/default.t/rows", "task=x&format=csv"}, {"POST", "tables/default.t/task", "format=ndjson&compression=zstd"},
		{"POST", "tables/default.t/rows", "job-id=%2e%2e"}, {"POST", "tables/default.t/jobs/j/runs", "part=%2Fetc"}, {"POST", "tables/default.t/jobs/j/commit", ""},
		{"DELETE", "tables/default.t/jobs/..", ""}, {"GET", "tables/%2e%2e/rows", ""}, {"GET", "openapi.json", ""}, {"PUT", "tables", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], "{}")
	}
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		at, err := url.Parse("http://127.0.0.1/v1/" + path)
		if err != nil || strings.ContainsAny(method, " \t\r\n") || method == "" {
			return
		}
		at.RawQuery = query
		r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/", strings.NewReader(body))
		if err != nil {
			return
		}
		r.URL, r.RequestURI = at, at.RequestURI()
		r.Header.Set("Content-Type", "application/x-ndjson")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s: %d %s", method, at, w.Code, w.Body)
		}
	})
}

package catalog

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRedactURI: no secret of a catalog's URI reaches a message, in whatever form it was given.
func TestRedactURI(t *testing.T) {
	for uri, want := range map[string]string{
		"postgres://u:X@h/db?sslpassword=X":   "postgres://h/db",
		"postgres:user=u password=X dbname=d": "",
		"postgres:password='a X'":             "",
		"postgres:PGPASSWORD=X":               "",
		"rest+https://h/p?token=X#X":          "rest+https://h/p",
	} {
		got := redactURI(uri)
		if strings.Contains(got, "X") || want != "" && got != want {
			t.Errorf("%s: %s, want %q", uri, got, want)
		}
	}
}

// TestTokensStayWithTheCatalog: a REST catalog that redirects elsewhere is an error, and the other host is not asked.
func TestTokensStayWithTheCatalog(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked for %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer stranger.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, stranger.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	t.Setenv("SHARDCAT_REST_TOKEN", "secret")
	_, _, _, _, err := openREST(t.Context(), Options{URI: "rest+" + server.URL}, nil)
	if err == nil || !strings.Contains(err.Error(), "redirects to another host") {
		t.Errorf("%v, want a refused redirect", err)
	}
}

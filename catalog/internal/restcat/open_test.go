package restcat

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
	_, err := Open(t.Context(), Options{URI: "rest+" + server.URL})
	if err == nil || !strings.Contains(err.Error(), "redirects to another host") {
		t.Errorf("%v, want a refused redirect", err)
	}
}

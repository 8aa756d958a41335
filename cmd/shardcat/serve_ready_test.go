package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestServeReady: the health check succeeds for a service that is ready only.
func TestServeReady(t *testing.T) {
	ready := func(listen string) (int, string) {
		var out, errs strings.Builder
		a := newApp(strings.NewReader(""), &out, &errs)
		return a.finish(t.Context(), a.execute(t.Context(), []string{"serve", "--ready", "--listen", listen})), errs.String()
	}
	for _, c := range []struct {
		status int
		body   string
		code   int
		want   string
	}{
		{200, "ok", 0, ""},
		{503, "the catalog is not open", 1, "not ready: 503 Service Unavailable: the catalog is not open"},
		{404, "", 1, "not ready: 404"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				t.Errorf("%s is requested", r.URL.Path)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		code, errs := ready(server.Listener.Addr().String())
		server.Close()
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%d: code %d, %q", c.status, code, errs)
		}
	}
	if code, errs := ready("127.0.0.1:1"); code != 1 || !strings.Contains(errs, "127.0.0.1:1: no response") {
		t.Errorf("nobody listens: code %d, %q", code, errs)
	}
	if code, _ := ready("8099"); code != 2 {
		t.Errorf("without a host: code %d", code)
	}
}

func TestLocalAddress(t *testing.T) {
	for listen, want := range map[string]string{
		"0.0.0.0:8099": "127.0.0.1:8099", ":8099": "127.0.0.1:8099", "[::]:8099": "[::1]:8099",
		"127.0.0.1:9": "127.0.0.1:9", "10.1.2.3:80": "10.1.2.3:80", "localhost:80": "localhost:80",
	} {
		if got, err := localAddress(listen); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", listen, got, err, want)
		}
	}
}

package httptransport

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestRedirectsStayOnTheHost: a redirect on the same host is followed, one to another host is refused before
// that host hears of it.
func TestRedirectsStayOnTheHost(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was asked for %s with %q", r.URL, r.Header.Get("X-Token"))
	}))
	defer stranger.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/near":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/far":
			http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
		default:
			io.WriteString(w, "here")
		}
	}))
	defer server.Close()
	client := &http.Client{Transport: &Transport{}}
	get := func(path string) (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Token", "secret")
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	if got, err := get("/near"); got != "here" || err != nil {
		t.Errorf("on the same host: %q, %v", got, err)
	}
	if _, err := get("/far"); !errors.Is(err, ErrRedirect) {
		t.Errorf("to another host: %v, want %v", err, ErrRedirect)
	}
}

// TestOnce: the second request of a context is refused, whoever makes it.
func TestOnce(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	client := &http.Client{Transport: &Transport{}}
	ctx := Once(t.Context())
	for i := range 3 {
		req, err := http.NewRequestWithContext(ctx, "PUT", server.URL, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if (i == 0) != (err == nil) || i > 0 && !errors.Is(err, ErrSecondRequest) {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := TokenClient(http.DefaultTransport).Do(req)
	if err != nil {
		t.Fatalf("a request for a token was counted: %v", err)
	}
	resp.Body.Close()
}

// TestWatch: each request is reported, with its kind; one that goes by another transport is reported once.
func TestWatch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	var seen []Kind
	ctx := Watch(t.Context(), func(k Kind) { seen = append(seen, k) })
	ask := func(client *http.Client, method, path string) error {
		req, err := http.NewRequestWithContext(ctx, method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	ours := Client(http.DefaultTransport)
	for _, client := range []*http.Client{ours, http.DefaultClient} {
		err := Request(ctx, List, func() error {
			return errors.Join(ask(client, "GET", "/b?list-type=2"), ask(client, "PUT", "/b/k"))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := []Kind{List, Put, List}; !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
}

func TestKindsInThreeProtocols(t *testing.T) {
	for _, tc := range []struct {
		method, target string
		want           Kind
	}{
		{"GET", "/b/k", Get}, {"HEAD", "/b/k", Stat}, {"GET", "/b?list-type=2&prefix=p", List},
		{"PUT", "/b/k", Put}, {"POST", "/b/k?uploads=", Put}, {"DELETE", "/b/k", Delete},
		{"GET", "/acct/c?restype=container&comp=list", List}, {"GET", "/acct/c/k", Get},
		{"GET", "/storage/v1/b/b/o?prefix=p", List}, {"GET", "/storage/v1/b/b/o/k?alt=media", Get},
		{"GET", "/storage/v1/b/b/o/k?alt=json", Stat}, {"POST", "/upload/storage/v1/b/b/o", Put},
	} {
		if got := KindOf(httptest.NewRequest(tc.method, tc.target, nil)); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.method, tc.target, got, tc.want)
		}
	}
}

package notify

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestTell(t *testing.T) {
	var mu sync.Mutex
	var got, kind string
	code := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got, kind = string(body), r.Method+" "+r.Header.Get("Content-Type")
		w.WriteHeader(code)
	}))
	defer server.Close()
	dir := t.TempDir()
	program := filepath.Join(dir, "page")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncat > "+dir+"/said\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	n := &Notifier{URL: server.URL + "/secret", Program: program}
	if err := n.Tell(context.Background(), map[string]string{"table": "t"}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	posted, how := got, kind
	code = http.StatusTeapot
	mu.Unlock()
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if want := "{\"table\":\"t\"}\n"; err != nil || posted != want || string(said) != want || how != "POST application/json" {
		t.Errorf("posted %q (%s), said %q, %v", posted, how, said, err)
	}
	// One way that fails does not keep the other from being tried, and no error names the URL.
	n.Program = filepath.Join(dir, "missing")
	if err := n.Tell(context.Background(), 1); err == nil || !strings.Contains(err.Error(), "418") || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%v", err)
	}
	server.Close() // no handler runs any more
	if got != "1\n" {
		t.Errorf("posted %q", got)
	}
	if err := n.Tell(context.Background(), 1); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	if err := new(Notifier).Tell(context.Background(), 1); err != nil {
		t.Error(err)
	}
}

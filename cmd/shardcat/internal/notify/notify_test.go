package notify

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTell(t *testing.T) {
	var got, kind string
	code := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
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
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if want := "{\"table\":\"t\"}\n"; err != nil || got != want || string(said) != want || kind != "POST application/json" {
		t.Errorf("posted %q (%s), said %q, %v", got, kind, said, err)
	}
	// One way that fails does not keep the other from being tried, and no error names the URL.
	code = http.StatusTeapot
	n.Program = filepath.Join(dir, "missing")
	if err := n.Tell(context.Background(), 1); err == nil || got != "1\n" || !strings.Contains(err.Error(), "418") || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%q, %v", got, err)
	}
	server.Close()
	if err := n.Tell(context.Background(), 1); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	if err := new(Notifier).Tell(context.Background(), 1); err != nil {
		t.Error(err)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// safeBuffer is a buffer for concurrent use.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// logged reads the log of an ended service: each line is one JSON object.
func (s *safeBuffer) logged(t *testing.T) (lines []map[string]any) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.b.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("a line of the log that is not JSON: %s", line)
		}
		for _, key := range []string{"time", "level", "msg"} {
			if fields[key] == nil {
				t.Errorf("a line of the log without %s: %s", key, line)
			}
		}
		lines = append(lines, fields)
	}
	return lines
}

// TestServeWaitsForTheCatalog: a catalog that can't be reached is waited for. The process lives and is not ready; it reports that once, and ends at
// a signal. The first line of the log reports what runs, the last one that it ended.
func TestServeWaitsForTheCatalog(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	var log safeBuffer
	done := make(chan int, 1)
	go func() {
		a := newApp(strings.NewReader(""), w, &log)
		done <- a.finish(ctx, a.execute(ctx, []string{"--catalog", "postgres://u:secret@" + nobody + "/db", "--warehouse", filepath.Join(dir, "wh"),
			"--retry-budget", "1ms", "serve", "--listen", "127.0.0.1:0", "--json"}))
	}()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var at struct{ URL string }
	if err := json.Unmarshal(line, &at); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"healthz": 200, "readyz": 503, "": 503, "v1/tables": 503} {
		answer, err := http.Get(at.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("/%s answers %d, want %d", path, answer.StatusCode, want)
		}
	}
	stop()
	if code := <-done; code != exitDone {
		t.Errorf("ended with %d", code)
	}
	lines := log.logged(t)
	waiting := 0
	for _, l := range lines {
		if l["msg"] == "the catalog is unreachable; waiting" {
			waiting++
		}
	}
	first, last := lines[0], lines[len(lines)-1]
	if first["msg"] != "serving" || first["version"] == "" || first["address"] == nil || !strings.HasPrefix(first["catalog"].(string), "postgres://"+nobody) || strings.Contains(first["catalog"].(string), "secret") {
		t.Errorf("first line %v", first)
	}
	if last["msg"] != "ended" || last["reason"] == nil || waiting != 1 {
		t.Errorf("last line %v, %d lines about the wait", last, waiting)
	}
}

// TestServeOnce: one round for cron, and a log of JSON.
func TestServeOnce(t *testing.T) {
	dir := t.TempDir()
	at := []string{"--catalog", "sqlite:" + filepath.Join(dir, "catalog.db"), "--warehouse", filepath.Join(dir, "warehouse"), "--progress", "never"}
	for range 3 {
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(`{"a":1}`), &out, &errs)
		if err := a.execute(t.Context(), append(at, "ingest", "t", "-", "--create", "--format", "ndjson")); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		a.finish(t.Context(), nil)
	}
	var log safeBuffer
	var out bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &log)
	if code := a.finish(t.Context(), a.execute(t.Context(), append(at, "serve", "--once"))); code != exitDone {
		t.Fatalf("ended with %d", code)
	}
	compacted := false
	for _, l := range log.logged(t) {
		compacted = compacted || l["msg"] == "compacted" && l["shards"] == 1.0
	}
	if !compacted {
		t.Error("the table was not compacted")
	}
	for _, bad := range [][]string{{"--collect-min-age", "1h"}, {"--collect-min-age", "x"}, {"--collect-delete-delay", "x"}, {"--log-format", "xml"}, {"--log-level", "loud"}} {
		var errs bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &errs)
		if code := a.finish(t.Context(), a.execute(t.Context(), append(append(at, "serve", "--once"), bad...))); code != exitUsage {
			t.Errorf("%v ends with %d: %s", bad, code, errs.String())
		}
	}
}

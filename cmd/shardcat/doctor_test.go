package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/storecheck"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// emptyCatalog is a REST catalog without tables that wants a token and knows all warehouses but one; warehouses gives those that were requested
// since the last call.
func emptyCatalog(t *testing.T) (uri string, warehouses func() []string) {
	var mu sync.Mutex
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		refuse := func(status int, kind string) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "as the catalog says", "type": kind, "code": status}})
		}
		asked := r.URL.Query().Get("warehouse")
		at := r.URL.Path[max(0, strings.Index(r.URL.Path, "/v1/")):] // below any path
		switch {
		case r.Header.Get("Authorization") != "Bearer good":
			refuse(http.StatusUnauthorized, "NotAuthorizedException")
		case at == "/v1/config":
			mu.Lock()
			all = append(all, asked)
			mu.Unlock()
			if asked == "pond" {
				refuse(http.StatusNotFound, "NoSuchWarehouseException")
				return
			}
			_, _ = w.Write([]byte(`{"defaults":{},"overrides":{}}`))
		case at == "/v1/namespaces":
			_, _ = w.Write([]byte(`{"namespaces":[]}`))
		default:
			refuse(http.StatusNotFound, "NoSuchTableException")
		}
	}))
	t.Cleanup(server.Close)
	return "rest+" + server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		asked := all
		all = nil
		return asked
	}
}

// TestDoctorBeforeTheFirstTable: a store alone, a catalog alone, and both, where nothing is there yet.
func TestDoctorBeforeTheFirstTable(t *testing.T) {
	s := blobfake.NewS3(t, "")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_CONFIG_FILE": "/none",
		"AWS_SHARED_CREDENTIALS_FILE": "/none", "SHARDCAT_REST_TOKEN": "good"} {
		t.Setenv(name, value)
	}
	rest, warehouses := emptyCatalog(t)
	store := "s3://b/wh?endpoint=" + s.URL
	for _, test := range []struct {
		name     string
		args     []string
		token    string
		code     int
		reports  int
		line     string
		tellsOf  string // the warehouse in the catalog's configuration
		requests bool
	}{
		{"nothing", nil, "", exitDone, 2, "does not exist yet: the first table creates it", "", false},
		{"a folder that is missing", []string{"--catalog", "sqlite:none/c.db", "--warehouse", "none/wh"}, "", exitDone, 2, "does not exist yet", "", false},
		{"a store alone", []string{"--warehouse", store}, "", exitDone, 1, "a key is created once", "", false},
		{"a file alone", []string{"--catalog", "sqlite:c.db"}, "", exitDone, 1, "does not exist yet", "", false},
		{"a catalog alone", []string{"--catalog", rest}, "", exitDone, 1, "no table yet", "", true},
		{"a catalog and its name", []string{"--catalog", rest, "--warehouse", "lake"}, "", exitDone, 1, "--vault", "lake", true},
		{"a catalog, its name and a vault", []string{"--catalog", rest, "--warehouse", "lake", "--vault", store}, "", exitDone, 2, "no table yet", "lake", true},
		{"another name", []string{"--catalog", rest, "--warehouse", "pond"}, "", exitFailed, 1, "--warehouse", "pond", true},
		{"another token", []string{"--catalog", rest}, "bad", exitFailed, 1, "SHARDCAT_REST_TOKEN", "", false},
		{"nobody there", []string{"--catalog", "rest+http://127.0.0.1:1", "--retry-budget", "0s"}, "", exitFailed, 1, "check address", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if test.token != "" {
				t.Setenv("SHARDCAT_REST_TOKEN", test.token)
			}
			warehouses()
			code, out, stderr := runOn(t, append([]string{"doctor"}, test.args...)...)
			if code != test.code || !strings.Contains(out, test.line) {
				t.Fatalf("exit code %d, want %d and a line with %q: %s%s", code, test.code, test.line, out, stderr)
			}
			asked := warehouses()
			if (len(asked) > 0) != test.requests || test.requests && asked[0] != test.tellsOf {
				t.Errorf("the catalog was asked for the warehouses %q, want %q", asked, test.tellsOf)
			}
			if _, err := os.Stat("lake"); err == nil {
				t.Error("a folder was made of the warehouse's name")
			}
			_, out, _ = runOn(t, append([]string{"doctor", "--json"}, test.args...)...)
			var reports []storecheck.Report
			if err := json.Unmarshal([]byte(out), &reports); err != nil || len(reports) != test.reports {
				t.Errorf("%d reports, %v; want %d: %s", len(reports), err, test.reports, out)
			}
		})
	}
}

// TestDoctorLoadsTables: those that are there.
func TestDoctorLoadsTables(t *testing.T) {
	dir := t.TempDir()
	at := []string{"--catalog", "sqlite:" + filepath.Join(dir, "c.db"), "--warehouse", filepath.Join(dir, "wh")}
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("id\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runOn(t, append(at, "ingest", "t", filepath.Join(dir, "a.csv"), "--create")...); code != exitDone {
		t.Fatal(stderr)
	}
	if code, out, _ := runOn(t, append(at, "doctor")...); code != exitDone || !strings.Contains(out, "1 table, 1 loaded") {
		t.Errorf("exit code %d: %s", code, out)
	}
	metadata, err := filepath.Glob(filepath.Join(dir, "wh", "default", "t-*", "metadata", "*.json"))
	if err != nil || len(metadata) == 0 {
		t.Fatal(metadata, err)
	}
	for _, file := range metadata {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, _ := runOn(t, append(at, "doctor")...); code != exitDone || !strings.Contains(out, "1 of 1 table can't be loaded") {
		t.Errorf("without the metadata: exit code %d: %s", code, out)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestAllTablesByTheirOwnKeys: commands over all tables of a REST catalog that hands out keys for one table each, in one bucket. The
// metadata of each table is reached by its own keys, the vault by those of the environment.
func TestAllTablesByTheirOwnKeys(t *testing.T) {
	s := blobfake.NewS3(t, "")
	dir := t.TempDir()
	source := filepath.Join(dir, "a.csv")
	if err := os.WriteFile(source, []byte("id\n1\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	vault := "s3://b/vault?endpoint=" + s.URL
	local := []string{"--catalog", "sqlite:" + filepath.Join(dir, "c.db"), "--warehouse", "s3://b/wh?endpoint=" + s.URL, "--vault", vault}
	for _, name := range []string{"a", "b", "a", "b"} {
		if code, _, errs := runOn(t, append(local, "ingest", name, source, "--create")...); code != exitDone {
			t.Fatal(errs)
		}
	}
	inner, err := catalog.Open(t.Context(), catalog.Options{URI: local[1], Warehouse: local[3], Vault: vault})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	answers, folders := map[string][]byte{}, map[string]string{}
	for _, name := range []string{"a", "b"} {
		tbl, err := inner.Load(t.Context(), catalog.Name{Namespace: "default", Table: name})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(tbl.Location())
		if err != nil {
			t.Fatal(err)
		}
		folders["KEY"+strings.ToUpper(name)] = strings.Trim(u.Path, "/") + "/"
		answers[name], err = json.Marshal(map[string]any{"metadata-location": tbl.MetadataLocation(), "metadata": icebergaccess.MetadataOf(tbl), "config": map[string]string{},
			"storage-credentials": []any{map[string]any{"prefix": tbl.Location(), "config": map[string]string{"s3.access-key-id": "KEY" + strings.ToUpper(name),
				"s3.secret-access-key": "x", "s3.endpoint": s.URL, "s3.path-style-access": "true", "s3.region": "eu-west-3"}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	folders["AKIDEXAMPLE"] = "vault/"
	rest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch at := strings.TrimPrefix(r.URL.Path, "/v1/"); at {
		case "config":
			fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
		case "namespaces":
			fmt.Fprint(w, `{"namespaces":[["default"]]}`)
		case "namespaces/default/tables":
			fmt.Fprint(w, `{"identifiers":[{"namespace":["default"],"name":"a"},{"namespace":["default"],"name":"b"}]}`)
		case "namespaces/default/tables/a", "namespaces/default/tables/b":
			w.Write(answers[at[len(at)-1:]])
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer rest.Close()
	for _, key := range s.Keys() { // the tables are those of the REST catalog from now on
		if o, _ := s.Object(key); strings.HasSuffix(key, "/_owner.json") {
			s.Put(key, bytes.ReplaceAll(o.Body, []byte(local[1]), []byte("rest+"+rest.URL)))
		}
	}
	var mu sync.Mutex
	used, refused := map[string]int{}, []string(nil)
	s.Before(func(w http.ResponseWriter, r *http.Request, kind string, _ int) bool {
		mu.Lock()
		defer mu.Unlock()
		_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		key, _, _ = strings.Cut(key, "/")
		if at := strings.TrimPrefix(r.URL.Path, "/b/") + r.URL.Query().Get("prefix"); folders[key] == "" || !strings.HasPrefix(at, folders[key]) {
			refused = append(refused, kind+" "+at+" by "+key)
			s.Refuse(w, http.StatusForbidden, "AccessDenied", "")
			return true
		}
		used[key]++
		return false
	})
	before := s.Keys()
	for _, command := range [][]string{
		{"gc", "--all"}, {"gc", "--all", "--execute", "--min-age", "0h", "--unsafe-min-age", "--delete-delay", "0h"},
		{"compact", "--all", "--dry-run"}, {"verify", "a"}, {"verify", "b"},
	} {
		clear(used)
		code, out, errs := runOn(t, append([]string{"--catalog", "rest+" + rest.URL, "--warehouse", "lake", "--vault", vault}, command...)...)
		mu.Lock()
		if code != exitDone || len(refused) > 0 {
			t.Errorf("%v: exit code %d, refused %q: %s%s", command, code, refused, out, errs)
		}
		if command[0] == "gc" && (used["KEYA"] == 0 || used["KEYB"] == 0 || used["AKIDEXAMPLE"] == 0) {
			t.Errorf("%v: keys used %v", command, used)
		}
		refused = nil
		mu.Unlock()
	}
	for _, key := range before { // all of it is live
		if _, ok := s.Object(key); !ok {
			t.Errorf("%s was deleted", key)
		}
	}
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
)

// tableMetadata has one snapshot whose manifest list lies in s3://lake.
const tableMetadata = `{"format-version":2,"table-uuid":"6f0c1b8e-9d2e-4a63-8a3c-8a1f3a4c0001","location":"s3://lake/t","last-sequence-number":1,
"last-updated-ms":1,"last-column-id":1,"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":false,"type":"long"}]}],
"current-schema-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"default-spec-id":0,"last-partition-id":999,
"sort-orders":[{"order-id":0,"fields":[]}],"default-sort-order-id":0,"properties":{},"current-snapshot-id":7,
"snapshots":[{"snapshot-id":7,"sequence-number":1,"timestamp-ms":1,"summary":{"operation":"append"},"manifest-list":"s3://lake/t/list.avro","schema-id":0}],
"snapshot-log":[],"metadata-log":[],"refs":{"main":{"snapshot-id":7,"type":"branch"}}}`

// TestVendedKeys: metadata is read with the keys that the catalog hands out, and with new ones when they are about to end;
// the keys of the environment go nowhere.
func TestVendedKeys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "OWNKEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "own")
	t.Setenv("AWS_REGION", "eu-central-1")
	var mu sync.Mutex
	var signed []string
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), "/")
		signed = append(signed, key+" "+r.Header.Get("X-Amz-Security-Token"))
		http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
	}))
	defer store.Close()
	loads := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/tables/t") {
			fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
			return
		}
		if r.Header.Get("X-Iceberg-Access-Delegation") != "vended-credentials" {
			t.Error("no credentials were asked for")
		}
		loads++
		ends := time.Now().Add(time.Duration(loads-1) * time.Hour) // the first are about to end
		fmt.Fprintf(w, `{"metadata-location":"s3://lake/t/v1.metadata.json","metadata":%s,"config":{},"storage-credentials":[
			{"prefix":"s3://other","config":{"s3.access-key-id":"WRONG","s3.secret-access-key":"x"}},
			{"prefix":"s3://lake","config":{"s3.access-key-id":"KEY%d","s3.secret-access-key":"x","s3.session-token":"token%d",
			"s3.session-token-expires-at-ms":"%d","s3.endpoint":%q,"s3.path-style-access":"true","client.region":"eu-west-3"}}]}`,
			tableMetadata, loads, loads, ends.UnixMilli(), store.URL)
	}))
	defer server.Close()
	ctx := context.Background()
	c, err := Open(ctx, Options{URI: "rest+" + server.URL, Warehouse: "lake", Vault: "mem://vended/vault"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Load(ctx, Name{"default", "t"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, err := range tbl.Entries(ctx, At{}) {
			if !errors.Is(err, blobio.ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if loads != 2 || len(signed) < 2 {
		t.Errorf("%d loads, requests by %q", loads, signed)
	}
	for _, s := range signed {
		if s != "KEY2 token2" {
			t.Errorf("a request is signed by %q", s)
		}
	}
}

// Credentials of a kind that is not used are named, once, and never printed.
func TestVendedKeysOfOthersAreNamed(t *testing.T) {
	for key, location := range map[string]string{
		"adls.sas-token.acct.dfs.core.windows.net": "abfss://lake@acct.dfs.core.windows.net", "gcs.oauth2.token": "gs://lake",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/tables/t") {
				fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
				return
			}
			fmt.Fprintf(w, `{"metadata-location":"%s/t/v1.metadata.json","metadata":%s,"config":{},"storage-credentials":[{"prefix":%q,"config":{%q:"SECRET"}}]}`,
				location, strings.ReplaceAll(tableMetadata, "s3://lake", location), location, key)
		}))
		var said strings.Builder
		ctx := context.Background()
		c, err := Open(ctx, Options{
			URI: "rest+" + server.URL, Warehouse: "lake", Vault: "mem://vended/vault", Log: slog.New(slog.NewTextHandler(&said, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := c.Load(ctx, Name{"default", "t"}); err != nil {
				t.Fatal(err)
			}
		}
		text := said.String()
		name := strings.TrimSuffix(strings.SplitAfterN(key, "token", 2)[0], ".")
		if strings.Count(text, "credentials="+name) != 1 || !strings.Contains(text, location) || strings.Contains(text, "SECRET") {
			t.Errorf("%s: %s", key, text)
		}
		c.Close()
		server.Close()
	}
}

// TestRESTSettings: what a URI may set reaches the server, and secrets are refused there.
func TestRESTSettings(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "OWNKEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "own")
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/issue") {
			if err := r.ParseForm(); err != nil {
				t.Error(err)
			}
			seen = append(seen, fmt.Sprintf("%s of %s for %s", r.Form.Get("scope"), r.Form.Get("client_id"), r.Form.Get("audience")))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"issued","token_type":"bearer","expires_in":3600}`)
			return
		}
		seen = append(seen, r.URL.Path+" "+strings.SplitN(r.Header.Get("Authorization"), ", ", 2)[0])
		fmt.Fprint(w, `{"defaults":{},"overrides":{},"namespaces":[]}`)
	}))
	defer server.Close()
	ask := func(settings string) string {
		t.Helper()
		seen = nil
		c, err := Open(context.Background(), Options{URI: "rest+" + server.URL + settings, Warehouse: "lake", Vault: "mem://settings/vault"})
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		if _, err := c.Namespaces(context.Background()); err != nil {
			t.Fatal(err)
		}
		return strings.Join(seen, "; ")
	}
	today := time.Now().UTC().Format("20060102")
	got := ask("?rest.sigv4-enabled=true&rest.signing-region=eu-west-3&rest.signing-name=glue&prefix=catalogs/a")
	if !strings.Contains(got, "AWS4-HMAC-SHA256 Credential=OWNKEY/"+today+"/eu-west-3/glue/aws4_request") || !strings.Contains(got, "/v1/catalogs/a/namespaces") {
		t.Errorf("signed: %s", got)
	}
	t.Setenv("SHARDCAT_REST_CREDENTIAL", "me:secret")
	if got := ask("?oauth2-server-uri=" + server.URL + "/issue&scope=tables&audience=lake"); !strings.Contains(got, "tables of me for lake") || !strings.Contains(got, "namespaces Bearer issued") {
		t.Errorf("OAuth2: %s", got)
	}
	for settings, want := range map[string]string{
		"?token=secret": `setting "token" is not known`, "?scope=a&scope=b": "twice", "?rest.sigv4-enabled=maybe": "true or false",
		"?oauth2-server-uri=nowhere": "no http(s) URL", "?a=%zz": "NAME=VALUE",
	} {
		if got := ask(settings); !strings.Contains(got, want) || strings.Contains(got, "=secret") {
			t.Errorf("%s: %s", settings, got)
		}
	}
}

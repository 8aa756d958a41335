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
	_ "github.com/shardcat/shardcat/blobio/azblob"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
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
	var loads int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/tables/t") {
			fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
			return
		}
		if r.Header.Get("X-Iceberg-Access-Delegation") != "vended-credentials" {
			t.Error("no credentials were asked for")
		}
		mu.Lock()
		defer mu.Unlock()
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

// vendor is a REST catalog with tables a and b in one bucket, whose keys reach their own folder only, and that bucket.
type vendor struct {
	t     *testing.T
	mu    sync.Mutex
	loads map[string]int
	// answer is what comes with a table: config, storage-credentials and what else a response has.
	answer func(v *vendor, name string, load int) string
	scheme string
	store  *httptest.Server
	server *httptest.Server
	// allowed decides whether a request that is signed by a key may reach a path.
	allowed func(key, path string) bool
	// requests are what came, by key.
	requests map[string][]string
	refused  []string
}

func newVendor(t *testing.T, scheme string, answer func(v *vendor, name string, load int) string, allowed func(key, path string) bool) *vendor {
	v := &vendor{t: t, loads: map[string]int{}, answer: answer, scheme: scheme, allowed: allowed, requests: map[string][]string{}}
	v.store = httptest.NewServer(http.HandlerFunc(v.object))
	v.server = httptest.NewServer(http.HandlerFunc(v.table))
	t.Cleanup(v.store.Close)
	t.Cleanup(v.server.Close)
	return v
}

// keyOf finds by what a request is authorized, on any of the three clouds.
func keyOf(r *http.Request) string {
	auth := r.Header.Get("Authorization")
	if sig := r.URL.Query().Get("sig"); sig != "" {
		return sig
	}
	if token, ok := strings.CutPrefix(auth, "Bearer "); ok {
		return token
	}
	key, _, _ := strings.Cut(strings.TrimPrefix(auth, "AWS4-HMAC-SHA256 Credential="), "/")
	return key
}

func (v *vendor) object(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key, at := keyOf(r), r.URL.Path+r.URL.Query().Get("prefix")
	if !v.allowed(key, at) {
		v.refused = append(v.refused, key+" "+at)
		w.Header().Set("X-Ms-Error-Code", "AuthorizationFailure")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>AccessDenied</Code></Error>")
		return
	}
	v.requests[key] = append(v.requests[key], at)
	w.Header().Set("X-Ms-Error-Code", "BlobNotFound")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
}

func (v *vendor) table(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if !strings.Contains(r.URL.Path, "/tables/") {
		fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
		return
	}
	v.mu.Lock()
	v.loads[name]++
	load := v.loads[name]
	v.mu.Unlock()
	metadata := strings.ReplaceAll(tableMetadata, "s3://lake/t", v.location(name))
	metadata = strings.ReplaceAll(metadata, "4c0001", "4c000"+map[string]string{"a": "a", "b": "b"}[name])
	fmt.Fprintf(w, `{"metadata-location":"%s/metadata/v1.metadata.json","metadata":%s,%s}`, v.location(name), metadata, v.answer(v, name, load))
}

func (v *vendor) location(name string) string { return v.scheme + "/managed/" + name }

// open opens the catalog; the vault lies in the same bucket.
func (v *vendor) open(o Options) *Catalog {
	v.t.Helper()
	o.URI = "rest+" + v.server.URL
	if o.Warehouse == "" {
		o.Warehouse = "lake"
	}
	if o.Vault == "" {
		o.Vault = "mem://vended/vault"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Client = blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 1}})
	o.Metadata = blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 1}})
	c, err := Open(context.Background(), o)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { c.Close(); o.Client.Close(); o.Metadata.Close() })
	return c
}

// read reads the list of manifests of a table, which the store does not have.
func (v *vendor) read(c *Catalog, name string) error {
	tbl, err := c.Load(context.Background(), Name{"default", name})
	if err != nil {
		return err
	}
	for _, err := range tbl.Entries(context.Background(), At{}) {
		return err
	}
	return nil
}

// s3Keys are keys of S3 as a catalog hands them out.
func s3Keys(v *vendor, key, more string) string {
	return fmt.Sprintf(`{"s3.access-key-id":%q,"s3.secret-access-key":"x","s3.session-token":"T","s3.endpoint":%q,"s3.path-style-access":"true","s3.region":"eu-west-3"%s}`,
		key, v.store.URL, more)
}

// ownFolder lets keys A and B reach the folders of their tables only, and no one else anything.
func ownFolder(key, path string) bool {
	name, _, _ := strings.Cut(strings.ToLower(key), "-")
	return name != "" && strings.Contains(path, "managed/"+name+"/")
}

// TestVendedKeysBelongToALocation: two tables of one bucket are each read by their own keys, in every form in which catalogs hand keys out,
// on all three clouds.
func TestVendedKeysBelongToALocation(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "OWN")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "own")
	hour := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	end := `,"s3.session-token-expires-at-ms":"` + hour + `"`
	list := func(prefix, keys string) string {
		return fmt.Sprintf(`"config":{},"storage-credentials":[{"prefix":%q,"config":%s}]`, prefix, keys)
	}
	for name, tc := range map[string]struct {
		scheme string
		answer func(v *vendor, name string, _ int) string
	}{
		"S3, config": {"s3://lake", func(v *vendor, n string, _ int) string { return `"config":` + s3Keys(v, strings.ToUpper(n), end) }},
		"S3, list": {"s3://lake", func(v *vendor, n string, _ int) string {
			return list(v.location(n), s3Keys(v, strings.ToUpper(n), end))
		}},
		"S3, list with a slash": {"s3://lake", func(v *vendor, n string, _ int) string {
			return list(v.location(n)+"/", s3Keys(v, strings.ToUpper(n), end))
		}},
		"S3, keys without an end": {"s3://lake", func(v *vendor, n string, _ int) string { return `"config":` + s3Keys(v, strings.ToUpper(n), "") }},
		"S3, a scheme as prefix":  {"s3://lake", func(v *vendor, n string, _ int) string { return list("s3", s3Keys(v, strings.ToUpper(n), end)) }},
		"S3, a bucket as prefix":  {"s3://lake", func(v *vendor, n string, _ int) string { return list("s3://lake", s3Keys(v, strings.ToUpper(n), end)) }},
		"s3a locations": {"s3a://lake", func(v *vendor, n string, _ int) string {
			return list(v.location(n), s3Keys(v, strings.ToUpper(n), end))
		}},
		"s3a locations, s3 prefix": {"s3a://lake", func(v *vendor, n string, _ int) string {
			return list("s3://lake/managed/"+n, s3Keys(v, strings.ToUpper(n), end))
		}},
		"s3 locations, s3a prefix": {"s3://lake", func(v *vendor, n string, _ int) string {
			return list("s3a://lake/managed/"+n, s3Keys(v, strings.ToUpper(n), end))
		}},
		"longer prefixes win": {"s3://lake", func(v *vendor, n string, _ int) string {
			return fmt.Sprintf(`"config":%s,"storage-credentials":[{"prefix":"s3://lake/managed","config":%s},{"prefix":%q,"config":%s}]`,
				s3Keys(v, "WRONG", ""), s3Keys(v, "WRONG", ""), v.location(n), s3Keys(v, strings.ToUpper(n), end))
		}},
		"GCS": {"gs://lake", func(v *vendor, n string, _ int) string {
			return list(v.location(n), fmt.Sprintf(`{"gcs.oauth2.token":%q,"gcs.oauth2.token-expires-at":%q,"gcs.service.host":%q}`, strings.ToUpper(n), hour, v.store.URL))
		}},
		"Azure": {"abfss://lake@acct.dfs.core.windows.net", func(v *vendor, n string, _ int) string {
			return list(v.location(n), fmt.Sprintf(`{"adls.sas-token.acct.dfs.core.windows.net":"?sv=1&sig=%s","adls.sas-token-expires-at-ms.acct.dfs.core.windows.net":%q}`, strings.ToUpper(n), hour))
		}},
		"Azure, by the account's name": {"abfss://lake@acct.dfs.core.windows.net", func(v *vendor, n string, _ int) string {
			return fmt.Sprintf(`"config":{"adls.sas-token.acct":"sv=1&sig=%s"}`, strings.ToUpper(n))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVendor(t, tc.scheme, tc.answer, ownFolder)
			t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=acct;BlobEndpoint="+v.store.URL)
			c := v.open(Options{})
			for _, table := range []string{"a", "b", "a"} {
				if err := v.read(c, table); !errors.Is(err, blobio.ErrNotFound) {
					t.Errorf("table %s: %v", table, err)
				}
			}
			if len(v.refused) > 0 || len(v.requests["A"]) == 0 || len(v.requests["B"]) == 0 {
				t.Errorf("requests %v, refused %v", v.requests, v.refused)
			}
		})
	}
}

// TestVendedKeysRenewed: keys that end without having reported it are renewed when the store refuses them, and the read succeeds; keys that stay
// refused are requested once in a while only.
func TestVendedKeysRenewed(t *testing.T) {
	valid := "A-1"
	v := newVendor(t, "s3://lake", func(v *vendor, _ string, load int) string {
		return `"config":` + s3Keys(v, fmt.Sprintf("A-%d", load), "")
	},
		func(key, path string) bool { return key == valid })
	var later time.Duration
	c := v.open(Options{Now: func() time.Time { return time.Now().Add(later) }})
	if err := v.read(c, "a"); !errors.Is(err, blobio.ErrNotFound) {
		t.Fatal(err)
	}
	tbl, err := c.Load(context.Background(), Name{"default", "a"}) // by A-2, which the store does not take
	if err != nil {
		t.Fatal(err)
	}
	valid = "A-3"
	entries := func() error {
		for _, err := range tbl.Entries(context.Background(), At{}) {
			return err
		}
		return nil
	}
	if err := entries(); !errors.Is(err, blobio.ErrDenied) || v.loads["a"] != 2 {
		t.Errorf("keys that are five seconds old at most: %v after %d loads", err, v.loads["a"])
	}
	later = 5 * time.Second
	if err := entries(); !errors.Is(err, blobio.ErrNotFound) || v.loads["a"] != 3 {
		t.Errorf("keys that were refused: %v after %d loads", err, v.loads["a"])
	}
}

// TestVendedKeysForTheVault: shards are reached by the environment's keys where the store takes them, else by the table's.
func TestVendedKeysForTheVault(t *testing.T) {
	for name, tc := range map[string]struct{ environment, prefix, want string }{
		"own keys":                       {"OWN", "s3://lake", "OWN"},
		"own keys that are refused":      {"BAD", "s3://lake", "A"},
		"no keys":                        {"", "s3://lake", "A"},
		"no keys, those of the location": {"", "s3://lake/managed/a", "A"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			t.Setenv("AWS_CONFIG_FILE", "/nowhere")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
			t.Setenv("AWS_ACCESS_KEY_ID", tc.environment)
			t.Setenv("AWS_SECRET_ACCESS_KEY", tc.environment)
			v := newVendor(t, "s3://lake", func(v *vendor, _ string, _ int) string {
				return fmt.Sprintf(`"config":{},"storage-credentials":[{"prefix":%q,"config":%s}]`, tc.prefix, s3Keys(v, "A", ""))
			}, func(key, path string) bool { return key == "OWN" && strings.Contains(path, "vault/") || key == "A" })
			c := v.open(Options{Vault: "s3://lake/vault?region=eu-west-3&endpoint=" + v.store.URL})
			tbl, err := c.Load(context.Background(), Name{"default", "a"})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := c.client.Stat(context.Background(), tbl.VaultFolder()+"_owner.json"); !errors.Is(err, blobio.ErrNotFound) {
					t.Error(err)
				}
			}
			if len(v.requests[tc.want]) != 2 {
				t.Errorf("requests %v, refused %v; want them by %s", v.requests, v.refused, tc.want)
			}
		})
	}
}

// TestVaultClosedToAllKeys: the error names what the store reported to the environment's keys and to those that were handed out.
func TestVaultClosedToAllKeys(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nowhere")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	v := newVendor(t, "s3://lake", func(v *vendor, _ string, _ int) string {
		return fmt.Sprintf(`"config":%s`, s3Keys(v, "A", ""))
	}, func(_, path string) bool { return !strings.Contains(path, "vault/") })
	c := v.open(Options{Vault: "s3://lake/vault?region=eu-west-3&endpoint=" + v.store.URL})
	tbl, err := c.Load(context.Background(), Name{"default", "a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.client.Stat(context.Background(), tbl.VaultFolder()+"_owner.json")
	if blobio.Class(err) != blobio.ErrDenied {
		t.Fatalf("%v, want ErrDenied", err)
	}
	for _, want := range []string{"no usable AWS credentials", "the credentials vended for " + tbl.VaultFolder() + ":", "403"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want it to hold %q", err, want)
		}
	}
}

// TestRemoteSigningIsNamed: a catalog that signs requests itself is named once, and the environment's keys are used.
func TestRemoteSigningIsNamed(t *testing.T) {
	var said strings.Builder
	v := newVendor(t, "s3://lake", func(v *vendor, _ string, _ int) string {
		return `"config":{"s3.remote-signing-enabled":"true","s3.signer.uri":"http://127.0.0.1:1"}`
	}, func(string, string) bool { return true })
	c := v.open(Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
	for range 2 {
		if _, err := c.Load(context.Background(), Name{"default", "a"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := said.String(); strings.Count(got, "shardcat does not support remote signing") != 1 {
		t.Errorf("said %q", got)
	}
}

// TestRESTSettings: what a URI may set reaches the server, and secrets are refused there.
func TestRESTSettings(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "OWNKEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "own")
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
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
		mu.Lock()
		seen = nil
		mu.Unlock()
		c, err := Open(context.Background(), Options{URI: "rest+" + server.URL + settings, Warehouse: "lake", Vault: "mem://settings/vault"})
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		if _, err := c.Namespaces(context.Background()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
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
		"?token=secret": `unknown setting "token"`, "?scope=a&scope=b": "twice", "?rest.sigv4-enabled=maybe": "true or false",
		"?oauth2-server-uri=nowhere": "not a http(s) URL", "?a=%zz": "NAME=VALUE",
	} {
		if got := ask(settings); !strings.Contains(got, want) || strings.Contains(got, "=secret") {
			t.Errorf("%s: %s", settings, got)
		}
	}
}

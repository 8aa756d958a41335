package gateway

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/gateway/view"
	"github.com/shardcat/shardcat/internal/access"
)

// emptyHash is the SHA-256 of nothing.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func get(t *testing.T, method, address, token string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return do(t, r)
}

func do(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// loaded is what loading a table gives.
type loaded struct {
	Location string `json:"metadata-location"`
	Metadata struct {
		Location  string
		Snapshots []struct {
			ID   int64  `json:"snapshot-id"`
			List string `json:"manifest-list"`
		}
		Properties map[string]string
	}
	Config      map[string]string
	Credentials []struct {
		Prefix string
		Config map[string]string
	} `json:"storage-credentials"`
}

func loadTable(t *testing.T, server, table, query string) *loaded {
	t.Helper()
	res, body := get(t, "GET", server+"/iceberg/v1/namespaces/default/tables/"+table+query, readToken)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", table, res.StatusCode, body)
	}
	l := new(loaded)
	if err := json.Unmarshal([]byte(body), l); err != nil {
		t.Fatal(err)
	}
	return l
}

// request is a request for an object, signed by the credentials of a table.
func (l *loaded) request(t *testing.T, method, server, key, query string, at time.Time, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server+"/"+Bucket+"/"+key+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Header.Set("X-Amz-Content-Sha256", emptyHash)
	if err := v4.NewSigner().SignHTTP(context.Background(), l.credentials(), r, emptyHash, "s3", region, at, unescaped); err != nil {
		t.Fatal(err)
	}
	return r
}

func unescaped(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }

func (l *loaded) credentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: l.Config["s3.access-key-id"], SecretAccessKey: l.Config["s3.secret-access-key"], SessionToken: l.Config["s3.session-token"]}
}

func keyOf(t *testing.T, location string) string {
	t.Helper()
	key, ok := strings.CutPrefix(location, "s3://"+Bucket+"/")
	if !ok {
		t.Fatalf("%s is not in the bucket", location)
	}
	return key
}

func TestAccess(t *testing.T) {
	c := openCatalog(t)
	tbl := createFlights(t, c, "flat")
	appendFlights(t, tbl, 0, 10, "")
	createFlights(t, c, "other")
	server := served(t, c).URL
	flat, other := loadTable(t, server, "flat", ""), loadTable(t, server, "other", "")
	key := keyOf(t, flat.Metadata.Snapshots[0].List)
	now := c.Now()
	presigned := func(l *loaded, expires string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), "GET", server+"/"+Bucket+"/"+key+"?X-Amz-Expires="+expires, nil)
		if err != nil {
			t.Fatal(err)
		}
		uri, _, err := v4.NewSigner().PresignHTTP(t.Context(), l.credentials(), r, noPayload, "s3", region, now, unescaped)
		if err != nil {
			t.Fatal(err)
		}
		if r, err = http.NewRequestWithContext(t.Context(), "GET", uri, nil); err != nil {
			t.Fatal(err)
		}
		return r
	}
	changed := func(r *http.Request, change func(*http.Request)) *http.Request { change(r); return r }
	unsigned, err := http.NewRequestWithContext(t.Context(), "GET", server+"/"+Bucket+"/"+key, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		r      *http.Request
		status int
		code   string
	}{
		"signed":             {flat.request(t, "GET", server, key, "", now), 200, ""},
		"head":               {flat.request(t, "HEAD", server, key, "", now), 200, ""},
		"range":              {flat.request(t, "GET", server, key, "", now, "Range", "bytes=0-3"), 206, "Obj\x01"},
		"range outside":      {flat.request(t, "GET", server, key, "", now, "Range", "bytes=10000000-"), 416, "InvalidRange"},
		"presigned":          {presigned(flat, "60"), 200, ""},
		"presigned for long": {presigned(flat, "9999999"), 400, "AuthorizationHeaderMalformed"},
		"presigned, changed": {changed(presigned(flat, "60"), func(r *http.Request) {
			r.URL.Path = strings.Replace(r.URL.Path, ".avro", ".avrO", 1)
		}), 403, "SignatureDoesNotMatch"},
		"unsigned":        {unsigned, 403, "AccessDenied"},
		"another table's": {other.request(t, "GET", server, key, "", now), 403, "AccessDenied"},
		"old":             {flat.request(t, "GET", server, key, "", now.Add(-time.Hour)), 403, "RequestTimeTooSkewed"},
		"early":           {flat.request(t, "GET", server, key, "", now.Add(time.Hour)), 403, "RequestTimeTooSkewed"},
		"changed":         {changed(flat.request(t, "GET", server, key, "", now), func(r *http.Request) { r.URL.RawQuery = "x-id=GetObject" }), 403, "SignatureDoesNotMatch"},
		"session": {changed(flat.request(t, "GET", server, key, "", now), func(r *http.Request) {
			r.Header.Set("X-Amz-Security-Token", "x")
		}), 403, "SignatureDoesNotMatch"},
		"put":          {flat.request(t, "PUT", server, key, "", now), 403, "AccessDenied"},
		"delete":       {flat.request(t, "DELETE", server, key, "", now), 403, "AccessDenied"},
		"post":         {flat.request(t, "POST", server, key, "?uploads=", now), 403, "AccessDenied"},
		"acl":          {flat.request(t, "GET", server, key, "?acl=", now), 403, "AccessDenied"},
		"missing":      {flat.request(t, "GET", server, key+"x", "", now), 404, "NoSuchKey"},
		"outside":      {flat.request(t, "GET", server, keyOf(t, flat.Metadata.Location)+"/data/"+view.Layout+"/_x/AAAA/ZmlsZTovLy9ldGMvcGFzc3dk.parquet", "", now), 404, "NoSuchKey"},
		"bucket":       {flat.request(t, "GET", server, "", "", now), 403, "AccessDenied"},
		"list":         {flat.request(t, "GET", server, "", "?list-type=2&prefix="+url.QueryEscape(key), now), 200, "<KeyCount>1</KeyCount>"},
		"list folder":  {flat.request(t, "GET", server, "", "?list-type=2&prefix="+url.QueryEscape(keyOf(t, flat.Metadata.Location)+"/data/"), now), 200, "<KeyCount>0</KeyCount>"},
		"list another": {other.request(t, "GET", server, "", "?list-type=2&prefix="+url.QueryEscape(key), now), 403, "AccessDenied"},
		"list all":     {flat.request(t, "GET", server, "", "?list-type=2", now), 403, "AccessDenied"},
	} {
		res, body := do(t, test.r)
		if res.StatusCode != test.status || !strings.Contains(body, test.code) {
			t.Errorf("%s: %d %.200s, want %d %s", name, res.StatusCode, body, test.status, test.code)
		}
	}
}

func TestCatalogRoutes(t *testing.T) {
	c := openCatalog(t)
	tbl := createFlights(t, c, "flat")
	appendFlights(t, tbl, 0, 10, "")
	appendFlights(t, tbl, 10, 10, "")
	createFlights(t, c, "second")
	for _, name := range []string{"a", "a.b"} {
		if err := c.CreateNamespace(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	server := served(t, c).URL
	before := tbl.MetadataLocation()
	const ns = "/iceberg/v1/namespaces"
	for _, test := range []struct {
		method, path, token string
		status              int
		text                string
	}{
		{"GET", "/iceberg/v1/config", readToken, 200, `"GET /v1/{prefix}/namespaces"`},
		{"GET", "/iceberg/v1/config", "", 401, "NotAuthorizedException"},
		{"GET", "/iceberg/v1/config", "wrong", 401, "NotAuthorizedException"},
		{"GET", ns, readToken, 200, `{"namespaces":[["a"],["default"]]}`},
		{"GET", ns + "?parent=a", readToken, 200, `{"namespaces":[["a","b"]]}`},
		{"GET", ns + "?parent=none", readToken, 404, "NoSuchNamespaceException"},
		{"GET", ns + "?pageSize=1&pageToken=", readToken, 200, `"next-page-token":`},
		{"GET", ns + "/a%1Fb", readToken, 200, `{"namespace":["a","b"],"properties":{}}`},
		{"HEAD", ns + "/a%1Fb", readToken, 204, ""},
		{"HEAD", ns + "/none", readToken, 404, ""},
		{"GET", ns + "/none", readToken, 404, "NoSuchNamespaceException"},
		{"GET", ns + "/default/tables", readToken, 200, `"name":"second"`},
		{"GET", ns + "/default/tables?pageSize=1", readToken, 200, `{"identifiers":[{"namespace":["default"],"name":"flat"}],"next-page-token":"ZmxhdA"}`},
		{"GET", ns + "/default/tables?pageSize=1&pageToken=ZmxhdA", readToken, 200, `{"identifiers":[{"namespace":["default"],"name":"second"}]}`},
		{"GET", ns + "/default/tables?pageSize=0", readToken, 400, "BadRequestException"},
		{"GET", ns + "/none/tables", readToken, 404, "NoSuchNamespaceException"},
		{"HEAD", ns + "/default/tables/flat", readToken, 204, ""},
		{"HEAD", ns + "/default/tables/none", readToken, 404, ""},
		{"GET", ns + "/default/tables/none", readToken, 404, "NoSuchTableException"},
		{"GET", ns + "/default/tables/flat?snapshots=some", readToken, 400, "BadRequestException"},
		{"GET", ns + "/default/tables/flat/credentials", readToken, 200, "storage-credentials"},
		{"GET", ns + "/default/views", readToken, 200, `{"identifiers":[]}`},
		{"GET", ns + "/default/views/v", readToken, 404, "NoSuchViewException"},
		{"POST", ns, readToken, 406, "UnsupportedOperationException"},
		{"DELETE", ns + "/default", readToken, 403, "ForbiddenException"},
		{"POST", ns + "/default/properties", readToken, 406, "UnsupportedOperationException"},
		{"POST", ns + "/default/tables", readToken, 403, "ForbiddenException"},
		{"POST", ns + "/default/tables/flat", readToken, 403, "ForbiddenException"},
		{"DELETE", ns + "/default/tables/flat?purgeRequested=true", readToken, 403, "ForbiddenException"},
		{"POST", ns + "/default/register", readToken, 403, "ForbiddenException"},
		{"POST", "/iceberg/v1/tables/rename", readToken, 406, "UnsupportedOperationException"},
		{"POST", "/iceberg/v1/transactions/commit", readToken, 403, "ForbiddenException"},
		{"POST", ns + "/default/tables/flat/metrics", readToken, 204, ""},
		{"POST", ns + "/default/tables", "", 401, "NotAuthorizedException"},
		{"GET", "/iceberg/v1/unknown", readToken, 404, "NotFoundException"},
	} {
		res, body := get(t, test.method, server+test.path, test.token)
		if res.StatusCode != test.status || !strings.Contains(body, test.text) {
			t.Errorf("%s %s: %d %.300s, want %d %s", test.method, test.path, res.StatusCode, body, test.status, test.text)
		}
	}
	if all, refs := loadTable(t, server, "flat", ""), loadTable(t, server, "flat", "?snapshots=refs"); len(all.Metadata.Snapshots) != 2 ||
		len(refs.Metadata.Snapshots) != 1 || refs.Metadata.Snapshots[0].ID != tbl.Head() {
		t.Errorf("%d snapshots, %d with refs", len(all.Metadata.Snapshots), len(refs.Metadata.Snapshots))
	}
	res, _ := get(t, "GET", server+ns+"/default/tables/flat", readToken)
	if again, _ := get(t, "GET", server+ns+"/default/tables/flat", readToken, "If-None-Match", res.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("the same table: %d", again.StatusCode)
	}
	if after, err := c.Load(t.Context(), tbl.Name()); err != nil || after.MetadataLocation() != before {
		t.Errorf("the table has changed: %v", err)
	}
}

func TestTokens(t *testing.T) {
	c := openCatalog(t)
	server := served(t, c).URL
	token := func(form url.Values) (int, string) {
		res, err := http.PostForm(server+"/iceberg/v1/oauth/tokens", form)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var out struct {
			Token string `json:"access_token"`
		}
		if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, out.Token
	}
	client := url.Values{"grant_type": {"client_credentials"}, "client_id": {"me"}, "client_secret": {readToken}}
	status, first := token(client)
	if status != http.StatusOK {
		t.Fatal(status)
	}
	status, second := token(url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {first}})
	if status != http.StatusOK {
		t.Fatal(status)
	}
	for _, given := range []string{first, second} {
		if res, body := get(t, "GET", server+"/iceberg/v1/config", given); res.StatusCode != http.StatusOK {
			t.Errorf("%d %s", res.StatusCode, body)
		}
	}
	if res, _ := get(t, "GET", server+"/iceberg/v1/config", first[:len(first)-1]); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a shortened token: %d", res.StatusCode)
	}
	for name, form := range map[string]url.Values{
		"wrong secret": {"grant_type": {"client_credentials"}, "client_secret": {"x"}},
		"no secret":    {"grant_type": {"client_credentials"}},
		"wrong token":  {"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {"scg1.AAAAAAAAAAA.AAAA"}},
	} {
		if status, _ := token(form); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	now := time.Unix(1_700_000_000, 0)
	k := newKeys(access.Tokens{Read: "a"}, func() time.Time { return now })
	valid, _ := k.token()
	s3, err := k.credentials("76643c69-4eda-400c-9296-b87268cc24fd")
	if err != nil {
		t.Fatal(err)
	}
	if again, ok := newKeys(access.Tokens{Read: "a"}, k.now).credentialsOf(s3.accessKey); !ok || *again != *s3 || !k.validToken(valid) {
		t.Error("another replica does not know what this one gave")
	}
	if newKeys(access.Tokens{Read: "b"}, k.now).validToken(valid) {
		t.Error("a token of another secret is valid")
	}
	now = now.Add(validFor)
	if k.validToken(valid) || now.Before(s3.expires) {
		t.Error("tokens and credentials last for longer than an hour")
	}
}

// TestReplicas reads every object of a table from two servers that know nothing of each other: the bytes are the same, in pieces as well.
func TestReplicas(t *testing.T) {
	c := openCatalog(t)
	tbl := createFlights(t, c, "flat", "truncate(30, small)")
	appendFlights(t, tbl, 0, 250, "")
	deleteFlights(t, tbl, "id >= 20 and id < 130")
	one, two := served(t, c).URL, served(t, c).URL
	l := loadTable(t, one, "flat", "")
	fetch := func(server, location string, header ...string) string {
		res, body := do(t, l.request(t, "GET", server, keyOf(t, location), "", c.Now(), header...))
		if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusPartialContent {
			t.Fatalf("%s: %d %s", location, res.StatusCode, body)
		}
		return body
	}
	kinds := map[string]int{}
	for _, at := range l.objects(t, func(location string) string { return fetch(one, location) }) {
		kinds[strings.Split(keyOf(t, at), "/")[1]]++
		a, b := fetch(one, at), fetch(two, at)
		if a != b {
			t.Errorf("%s differs", at)
		}
		if n := len(a) / 2; fetch(two, at, "Range", "bytes=0-"+strconv.Itoa(n-1))+fetch(one, at, "Range", "bytes="+strconv.Itoa(n)+"-") != a {
			t.Errorf("%s differs in pieces", at)
		}
	}
	if kinds["data"] < 4 || kinds["deletes"] < 4 || kinds["metadata"] < 4 {
		t.Errorf("too few objects: %v", kinds)
	}
}

// objects are the locations of all objects of a loaded table: its metadata file, and what its snapshots name.
func (l *loaded) objects(t *testing.T, fetch func(location string) string) (found []string) {
	t.Helper()
	locations := []string{l.Location}
	for _, s := range l.Metadata.Snapshots {
		locations = append(locations, s.List)
	}
	for len(locations) > 0 {
		at := locations[0]
		locations = locations[1:]
		if slices.Contains(found, at) {
			continue
		}
		found = append(found, at)
		if strings.HasSuffix(at, ".avro") {
			locations = append(locations, namedIn(fetch(at))...)
		}
	}
	return found
}

// namedIn are the locations that a manifest list or a manifest names.
func namedIn(avro string) (locations []string) {
	for _, part := range strings.Split(avro, "s3://")[1:] {
		end := strings.IndexAny(part, "\x00\x02\x0e\n")
		if !strings.HasPrefix(part, Bucket) {
			continue
		}
		for _, ending := range []string{".avro", ".parquet"} {
			if i := strings.Index(part, ending); i > 0 && (end < 0 || i < end+len(ending)) {
				locations = append(locations, "s3://"+part[:i+len(ending)])
				break
			}
		}
	}
	return locations
}

func TestShed(t *testing.T) {
	c := openCatalog(t)
	appendFlights(t, createFlights(t, c, "flat"), 0, 10, "")
	l := loadTable(t, served(t, c).URL, "flat", "")
	busy := New(c, Options{Tokens: access.Tokens{Read: readToken}, Open: Shards(1<<20, 1<<28), CacheBytes: 1 << 20, Log: slog.New(slog.DiscardHandler), Turn: func(*http.Request) (func(), int64, error) { return nil, 0, arrowhttp.ErrBusy }})
	mux := http.NewServeMux()
	busy.Register(mux)
	h := httptest.NewServer(mux)
	defer h.Close()
	res, body := do(t, l.request(t, "GET", h.URL, keyOf(t, l.Location), "", c.Now()))
	if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "SlowDown") || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if res, body := get(t, "GET", h.URL+"/iceberg/v1/namespaces/default/tables/flat", readToken); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "SlowDownException") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

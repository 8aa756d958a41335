package catalog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// awsSignature computes the signature of a request as AWS documents it (Signature Version 4), from what arrived.
func awsSignature(r *http.Request, secret string) (given, want string, err error) {
	fields := map[string]string{}
	for _, part := range strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 {
		return "", "", fmt.Errorf("Authorization: %s", r.Header.Get("Authorization"))
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", "", err
	}
	payload := hex.EncodeToString(hash(body))
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != payload {
		return "", "", fmt.Errorf("x-amz-content-sha256 is %s, the body's is %s", got, payload)
	}
	names := strings.Split(fields["SignedHeaders"], ";")
	if !slices.IsSorted(names) || !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-date") {
		return "", "", fmt.Errorf("signed headers: %v", names)
	}
	var headers strings.Builder
	for _, name := range names {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(len(body))
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.Join(strings.Fields(value), " "))
	}
	// Of all services but S3, the path is encoded twice: as it is sent, and once more.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	canonical := strings.Join([]string{r.Method, awsEscape(path, "/"), awsQuery(r.URL.RawQuery), headers.String(), fields["SignedHeaders"], payload}, "\n")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), strings.Join(scope[1:], "/"), hex.EncodeToString(hash([]byte(canonical)))}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range scope[1:] {
		key = mac(key, part)
	}
	return fields["Signature"], hex.EncodeToString(mac(key, text)), nil
}

func hash(b []byte) []byte { h := sha256.Sum256(b); return h[:] }

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// awsEscape encodes everything but unreserved characters and those that are let through.
func awsEscape(s, let string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~"+let, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func awsQuery(raw string) string {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return raw
	}
	var pairs []string
	for name, all := range values {
		for _, v := range all {
			pairs = append(pairs, awsEscape(name, "")+"="+awsEscape(v, ""))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// TestSignedRequests: AWS's Iceberg endpoints accept the signatures of every kind of request, with the prefixes that Glue and S3 Tables tell,
// nested namespaces, custom headers and session tokens.
func TestSignedRequests(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "OWNKEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "own/secret")
	t.Setenv("AWS_SESSION_TOKEN", "session==")
	t.Setenv("SHARDCAT_REST_TOKEN", "unused")
	for name, tc := range map[string]struct{ warehouse, service, config, prefix string }{
		"Glue": {"123456789012:s3tablescatalog/bucket", "glue", `{"overrides":{"prefix":"catalogs/123456789012:s3tablescatalog:bucket","rest.signing-name":"glue"}}`,
			"/iceberg/v1/catalogs/123456789012:s3tablescatalog:bucket/"},
		"S3 Tables": {"arn:aws:s3tables:eu-west-1:123456789012:bucket/mine", "s3tables", `{"defaults":{},"overrides":{"prefix":"arn%3Aaws%3As3tables%3Aeu-west-1%3A123456789012%3Abucket%2Fmine"}}`,
			"/iceberg/v1/arn%3Aaws%3As3tables%3Aeu-west-1%3A123456789012%3Abucket%2Fmine/"},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t)
			l.config = tc.config
			l.answer = func(w http.ResponseWriter, r *http.Request) bool {
				given, want, err := awsSignature(r, "own/secret")
				if err != nil || given != want || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/"+tc.service+"/aws4_request") {
					t.Errorf("%s %s: signature %s, want %s, %v: %s", r.Method, r.RequestURI, given, want, err, r.Header.Get("Authorization"))
				}
				if !strings.HasSuffix(r.URL.Path, "/config") && !strings.HasPrefix(r.RequestURI, tc.prefix) {
					t.Errorf("requested %s, want it below %s", r.RequestURI, tc.prefix)
				}
				if r.Header.Get("X-Amz-Security-Token") != "session==" || r.Header.Get("X-Iceberg-Access-Delegation") != "none" {
					t.Errorf("headers %v", r.Header)
				}
				if r.Method == http.MethodPost {
					fmt.Fprint(w, `{"namespace":["a","b"],"properties":{}}`)
				}
				return r.Method == http.MethodPost
			}
			c, err := Open(t.Context(), Options{
				URI:       "rest+" + l.URL + "/iceberg?rest.sigv4-enabled=true&rest.signing-region=eu-west-1&rest.signing-name=" + tc.service + "&header.X-Iceberg-Access-Delegation=none",
				Warehouse: tc.warehouse, Vault: "mem://signed/vault", Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Namespaces(t.Context()); err != nil {
				t.Error(err)
			}
			if err := c.ice.CreateNamespace(t.Context(), []string{"a", "b"}, nil); err != nil {
				t.Error(err)
			}
			if _, err := c.ice.LoadNamespaceProperties(t.Context(), []string{"a", "b"}); err != nil {
				t.Error(err)
			}
			if err := c.ice.DropTable(t.Context(), []string{"a", "b", "t"}); err != nil {
				t.Error(err)
			}
			if len(l.requests) < 5 || l.requests[0].URL.Query().Get("warehouse") != tc.warehouse {
				t.Errorf("%d requests, the first for %s", len(l.requests), l.requests[0].URL)
			}
		})
	}
}

package catalog

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog/internal/caturi"
	"github.com/shardcat/shardcat/catalog/internal/restsettings"
)

// listener is a REST catalog without tables that notes what it is sent.
type listener struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	// config is the answer to /v1/config, and answer, if not nil, may answer anything first.
	config string
	answer func(w http.ResponseWriter, r *http.Request) bool
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	kept := r.Clone(context.Background())
	kept.Body = io.NopCloser(strings.NewReader(string(body)))
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	l.mu.Lock()
	l.requests = append(l.requests, kept)
	answer, config := l.answer, l.config
	l.mu.Unlock()
	switch {
	case answer != nil && answer(w, r):
	case strings.HasSuffix(r.URL.Path, "/tokens"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"issued","token_type":"bearer","expires_in":3600}`)
	case strings.HasSuffix(r.URL.Path, "/config"):
		if config == "" {
			config = `{"defaults":{},"overrides":{}}`
		}
		io.WriteString(w, config)
	default:
		fmt.Fprint(w, `{"namespaces":[]}`)
	}
}

func listen(t *testing.T) *listener {
	l := &listener{}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

// ask lists the namespaces of a catalog.
func ask(o Options) error {
	if o.Warehouse == "" {
		o.Warehouse, o.Vault = "lake", "mem://asked/vault"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Namespaces(context.Background())
	return err
}

// form is what was posted to the token endpoint.
func (l *listener) form(t *testing.T) func(string) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.requests {
		if strings.HasSuffix(r.URL.Path, "tokens") {
			if err := r.ParseForm(); err != nil {
				t.Fatal(err)
			}
			return r.PostForm.Get
		}
	}
	t.Fatal("no token was requested")
	return nil
}

func (l *listener) last() *http.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests[len(l.requests)-1]
}

func mustAsk(t *testing.T, o Options) {
	t.Helper()
	if err := ask(o); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSettingsOfCatalogsPage runs each line of the tables of settings in docs/guides/catalogs.md.
func TestSettingsOfCatalogsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/guides/catalogs.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	section := ""
	for _, line := range strings.Split(string(page), "\n") {
		if strings.HasPrefix(line, "## ") {
			section = line
		}
		if m := regexp.MustCompile("^\\| `([^`]+)` \\|").FindStringSubmatch(line); m != nil && regexp.MustCompile("Settings|Variables|Timeouts").MatchString(section) {
			lines = append(lines, m[1])
		}
	}
	checks := settingChecks()
	for _, line := range lines {
		check, ok := checks[line]
		if !ok {
			t.Errorf("docs/guides/catalogs.md has %s, which nothing runs", line)
			continue
		}
		t.Run(line, check)
	}
	for name := range checks {
		if !slices.Contains(lines, name) {
			t.Errorf("docs/guides/catalogs.md does not have %s", name)
		}
	}
	for _, name := range restsettings.Names {
		if !slices.Contains(lines, name) {
			t.Errorf("docs/guides/catalogs.md does not have the setting %s", name)
		}
	}
}

// tokenSetting checks a setting that reaches the token endpoint.
func tokenSetting(setting, parameter string) func(*testing.T) {
	return func(t *testing.T) {
		t.Setenv("SHARDCAT_REST_CREDENTIAL", "me:secret")
		l := listen(t)
		mustAsk(t, Options{URI: "rest+" + l.URL + "?" + setting + "=special"})
		want(t, l.form(t)(parameter), "special")
	}
}

// signed checks what is signed for.
func signed(settings, scope string) func(*testing.T) {
	return func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "OWNKEY")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "own")
		t.Setenv("AWS_REGION", "eu-south-1")
		l := listen(t)
		mustAsk(t, Options{URI: "rest+" + l.URL + "?rest.sigv4-enabled=true" + settings})
		if got := l.last().Header.Get("Authorization"); !strings.Contains(got, scope) {
			t.Errorf("signed by %s, want %s", got, scope)
		}
	}
}

func settingChecks() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"prefix": func(t *testing.T) {
			l := listen(t)
			mustAsk(t, Options{URI: "rest+" + l.URL + "/api?prefix=catalogs/a"})
			want(t, l.last().URL.Path, "/api/v1/catalogs/a/namespaces")
		},
		"oauth2-server-uri": func(t *testing.T) {
			t.Setenv("SHARDCAT_REST_CREDENTIAL", "me:secret")
			l, login := listen(t), listen(t)
			mustAsk(t, Options{URI: "rest+" + l.URL + "?oauth2-server-uri=" + login.URL + "/tokens"})
			want(t, login.form(t)("client_id"), "me")
			want(t, l.last().Header.Get("Authorization"), "Bearer issued")
			want(t, fmt.Sprint(len(login.requests)), "1")
		},
		"scope":    tokenSetting("scope", "scope"),
		"audience": tokenSetting("audience", "audience"),
		"resource": tokenSetting("resource", "resource"),
		"token-exchange-enabled": func(t *testing.T) {
			t.Setenv("SHARDCAT_REST_TOKEN", "mine")
			l := listen(t)
			mustAsk(t, Options{URI: "rest+" + l.URL + "?token-exchange-enabled=true"})
			want(t, l.form(t)("subject_token")+" "+l.form(t)("subject_token_type"), "mine urn:ietf:params:oauth:token-type:access_token")
			want(t, l.last().Header.Get("Authorization"), "Bearer issued")
		},
		"subject-token-type": func(t *testing.T) {
			t.Setenv("SHARDCAT_REST_TOKEN", "mine")
			tokenSetting("token-exchange-enabled=true&subject-token-type", "subject_token_type")(t)
		},
		"rest.sigv4-enabled":  signed("", "Credential=OWNKEY/"+time.Now().UTC().Format("20060102")+"/eu-south-1/execute-api/aws4_request"),
		"rest.signing-region": signed("&rest.signing-region=eu-west-3", "/eu-west-3/execute-api/"),
		"rest.signing-name":   signed("&rest.signing-name=glue", "/eu-south-1/glue/"),
		"header.NAME": func(t *testing.T) {
			l := listen(t)
			mustAsk(t, Options{URI: "rest+" + l.URL + "?header.X-Realm=blue"})
			want(t, l.last().Header.Get("X-Realm"), "blue")
			if err := ask(Options{URI: "rest+" + l.URL + "?header.Authorization=Basic+x"}); err == nil || !strings.Contains(err.Error(), "SHARDCAT_REST_HEADERS") {
				t.Errorf("a secret: %v", err)
			}
		},
		"ca-file": func(t *testing.T) {
			l, ca := listenTLS(t, nil)
			if err := ask(Options{URI: "rest+" + l.URL, RetryBudget: -1}); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("without it: %v", err)
			}
			mustAsk(t, Options{URI: "rest+" + l.URL + "?ca-file=" + ca})
		},
		"cert-file":                clientCertificate(false),
		"key-file":                 clientCertificate(true),
		"SHARDCAT_REST_TOKEN":      bearer(func(t *testing.T) { t.Setenv("SHARDCAT_REST_TOKEN", "given") }, "given"),
		"SHARDCAT_REST_CREDENTIAL": bearer(func(t *testing.T) { t.Setenv("SHARDCAT_REST_CREDENTIAL", "me:secret") }, "issued"),
		"SHARDCAT_REST_TOKEN_FILE": bearer(func(t *testing.T) { t.Setenv("SHARDCAT_REST_TOKEN_FILE", tempFile(t, "filed\n")) }, "filed"),
		"SHARDCAT_REST_HEADERS": func(t *testing.T) {
			t.Setenv("SHARDCAT_REST_HEADERS", "Authorization: Basic abc\nX-Key: a:b\n")
			l := listen(t)
			mustAsk(t, Options{URI: "rest+" + l.URL})
			want(t, l.last().Header.Get("Authorization")+" "+l.last().Header.Get("X-Key"), "Basic abc a:b")
			for _, bad := range []string{"no colon", "Host: other", "a b: c"} {
				t.Setenv("SHARDCAT_REST_HEADERS", bad)
				if err := ask(Options{URI: "rest+" + l.URL}); err == nil || !strings.Contains(err.Error(), "SHARDCAT_REST_HEADERS") {
					t.Errorf("%q: %v", bad, err)
				}
			}
		},
		"AWS_CA_BUNDLE": func(t *testing.T) {
			l, ca := listenTLS(t, nil)
			t.Setenv("AWS_CA_BUNDLE", ca)
			mustAsk(t, Options{URI: "rest+" + l.URL})
		},
		"SSL_CERT_FILE": func(t *testing.T) {
			l, ca := listenTLS(t, nil)
			inChild(t, "rest+"+l.URL, "", "SSL_CERT_FILE="+ca)
		},
		"HTTP_PROXY": func(t *testing.T) {
			proxy := listen(t)
			inChild(t, "rest+http://catalog.invalid/c", "", "HTTP_PROXY="+proxy.URL)
			want(t, proxy.last().URL.Host+proxy.last().URL.Path, "catalog.invalid/c/v1/namespaces")
		},
		"HTTPS_PROXY": func(t *testing.T) {
			proxy := listen(t)
			// Nothing of this process comes between this and the child's request, so the lock orders them.
			proxy.mu.Lock()
			proxy.answer = func(w http.ResponseWriter, r *http.Request) bool {
				http.Error(w, "no", http.StatusForbidden)
				return true
			}
			proxy.mu.Unlock()
			inChild(t, "rest+https://catalog.invalid/c", "Forbidden", "HTTPS_PROXY="+proxy.URL)
			want(t, proxy.last().Method+" "+proxy.last().Host, "CONNECT catalog.invalid:443")
		},
		"NO_PROXY": func(t *testing.T) {
			proxy := listen(t)
			inChild(t, "rest+http://catalog.invalid/c", "catalog.invalid", "HTTP_PROXY="+proxy.URL, "NO_PROXY=.invalid")
			want(t, fmt.Sprint(len(proxy.requests)), "0")
		},
		"--catalog-timeout": func(t *testing.T) {
			l := listen(t)
			release := make(chan struct{})
			l.answer = func(http.ResponseWriter, *http.Request) bool { <-release; return false }
			err := ask(Options{URI: "rest+" + l.URL, RequestTimeout: 50 * time.Millisecond, RetryBudget: -1})
			close(release)
			if err == nil || !strings.Contains(err.Error(), "no response in time: 50ms (see --catalog-timeout)") {
				t.Error(err)
			}
		},
		"--retry-budget": func(t *testing.T) {
			l, busy := listen(t), 2
			l.answer = func(w http.ResponseWriter, r *http.Request) bool {
				if busy--; busy >= 0 {
					w.WriteHeader(http.StatusBadGateway)
				}
				return busy >= 0
			}
			mustAsk(t, Options{URI: "rest+" + l.URL})
			busy = 1
			if err := ask(Options{URI: "rest+" + l.URL, RetryBudget: -1}); err == nil {
				t.Error("tried again without a budget")
			}
		},
	}
}

func bearer(set func(*testing.T), token string) func(*testing.T) {
	return func(t *testing.T) {
		set(t)
		l := listen(t)
		mustAsk(t, Options{URI: "rest+" + l.URL})
		want(t, l.last().Header.Get("Authorization"), "Bearer "+token)
		issued := 0
		for _, r := range l.requests {
			if strings.HasSuffix(r.URL.Path, "tokens") {
				issued++
			}
		}
		if issued > 1 {
			t.Errorf("%d tokens were requested", issued)
		}
	}
}

func tempFile(t *testing.T, text string) string {
	at := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

// listenTLS is a listener with a certificate of its own, whose file it returns.
func listenTLS(t *testing.T, clients *x509.CertPool) (*listener, string) {
	l := &listener{}
	l.Server = httptest.NewUnstartedServer(l)
	l.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	l.StartTLS()
	t.Cleanup(l.Close)
	if clients != nil {
		l.TLS.ClientCAs, l.TLS.ClientAuth = clients, 4 // tls.RequireAndVerifyClientCert
	}
	return l, tempFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.Certificate().Raw})))
}

// clientCertificate checks that the server is shown the certificate, whose key is in a file of its own or in the same.
func clientCertificate(separate bool) func(*testing.T) {
	return func(t *testing.T) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
			BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		clients := x509.NewCertPool()
		clients.AddCert(cert)
		l, ca := listenTLS(t, clients)
		certText := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
		keyText := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
		if err := ask(Options{URI: "rest+" + l.URL + "?ca-file=" + ca, RetryBudget: -1}); err == nil {
			t.Error("let in without a certificate")
		}
		settings := "&cert-file=" + tempFile(t, certText+keyText)
		if separate {
			settings = "&cert-file=" + tempFile(t, certText) + "&key-file=" + tempFile(t, keyText)
		}
		mustAsk(t, Options{URI: "rest+" + l.URL + "?ca-file=" + ca + settings})
		if certs := l.last().TLS.PeerCertificates; len(certs) == 0 || certs[0].Subject.CommonName != "client" {
			t.Errorf("shown %v", certs)
		}
	}
}

// childURI is the variable by which a process of its own lists the namespaces of a catalog: some variables are read once per process.
const childURI = "SHARDCAT_TEST_CHILD_URI"

// inChild lists the namespaces of a catalog in another process; fault is what its error must say, "" for none.
func inChild(t *testing.T, uri, fault string, environment ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildAsks$", "-test.count=1")
	cmd.Env = append(append(os.Environ(), childURI+"="+uri), environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := string(out); fault == "" && !strings.Contains(got, "asked: <nil>") || !strings.Contains(got, fault) {
		t.Errorf("%s; want %q", got, fault)
	}
}

// TestChildAsks is the other process of inChild.
func TestChildAsks(t *testing.T) {
	uri := os.Getenv(childURI)
	if uri == "" {
		t.Skip("runs as a child of TestSettingsOfCatalogsPage")
	}
	fmt.Println("asked:", ask(Options{URI: uri, RetryBudget: -1}))
}

// TestNamesOfWarehouses: what is a name that only the server knows, and what is sent to the server.
func TestNamesOfWarehouses(t *testing.T) {
	for warehouse, told := range map[string]string{
		"lake": "lake", "123456789012": "123456789012", "123456789012:s3tablescatalog/bucket": "123456789012:s3tablescatalog/bucket",
		"arn:aws:s3tables:eu-west-1:123456789012:bucket/mine": "arn:aws:s3tables:eu-west-1:123456789012:bucket/mine",
		"bl://projects/p/catalogs/c":                          "bl://projects/p/catalogs/c", "project/lake": "project/lake",
		"00000000-0000-0000-0000-000000000000/lake": "00000000-0000-0000-0000-000000000000/lake",
		"mem://named/wh": "mem://named/wh", "mem://named/wh/": "mem://named/wh/",
	} {
		l := listen(t)
		mustAsk(t, Options{URI: "rest+" + l.URL, Warehouse: warehouse, Vault: "mem://named/vault"})
		want(t, l.requests[0].URL.Query().Get("warehouse"), told)
	}
	for warehouse, told := range map[string]string{
		"s3://b/tables?region=eu-west-1&endpoint=http://h": "s3://b/tables", "s3a://b/t": "s3a://b/t", "abfss://c@a.dfs.core.windows.net/t": "abfss://c@a.dfs.core.windows.net/t",
		"gs://b": "gs://b", "/data/tables": "file:///data/tables", "./tables": "file:///data/tables",
	} {
		if got := caturi.WarehouseForServer(warehouse, "file:///data/tables"); got != told || caturi.IsWarehouseName(warehouse) {
			t.Errorf("%s: the server is told %s, want %s", warehouse, got, told)
		}
	}
	err := ask(Options{URI: "rest+http://127.0.0.1:1", Warehouse: "a/b"})
	if err == nil || !strings.Contains(err.Error(), "--vault; write a local folder as ./a/b") {
		t.Error(err)
	}
}

// TestUserAgent: requests name the program.
func TestUserAgent(t *testing.T) {
	l := listen(t)
	mustAsk(t, Options{URI: "rest+" + l.URL})
	if got := l.last().Header.Get("User-Agent"); !regexp.MustCompile(`^shardcat/\S+ GoIceberg/`).MatchString(got) {
		t.Errorf("User-Agent: %s", got)
	}
	mustAsk(t, Options{URI: "rest+" + l.URL, Agent: "mine/1"})
	if got := l.last().Header.Get("User-Agent"); !strings.HasPrefix(got, "mine/1 GoIceberg/") {
		t.Errorf("User-Agent: %s", got)
	}
}

package resthttp

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// issuer is a catalog with a token endpoint.
type issuer struct {
	mu     sync.Mutex
	life   time.Duration // reported of tokens, nothing if 0
	refuse func(token string) int
	busy   int // how many requests for tokens are responded to by 503
	forms  []url.Values
	used   []string
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/tokens") {
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		i.forms = append(i.forms, r.PostForm)
		if i.busy--; i.busy >= 0 {
			return status(503)(r)
		}
		if r.PostForm.Get("client_secret") == "wrong" {
			return body(401, `{"error":"invalid_client","error_description":"Client authentication failed"}`)(r)
		}
		life := ""
		if i.life > 0 {
			life = fmt.Sprintf(`,"expires_in":%d`, int(i.life.Seconds()))
		}
		return body(200, fmt.Sprintf(`{"access_token":"T%d","token_type":"bearer"%s}`, len(i.forms), life))(r)
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	i.used = append(i.used, token)
	if i.refuse != nil {
		if code := i.refuse(token); code != 0 {
			return body(code, `{"error":{"message":"The token has expired"}}`)(r)
		}
	}
	return status(200)(r)
}

func (i *issuer) transport(t *testing.T, s *Tokens) *Transport {
	if s.Server == nil {
		s.Server = catalogURL(t, "http://login/tokens")
	}
	return &Transport{Base: i, Catalog: catalogURL(t, "http://catalog"), Tokens: s}
}

// TestOneTokenServesAll: many requests at a time make one request for a token, until it is about to end.
func TestOneTokenServesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		tr := i.transport(t, &Tokens{Credential: "id:se:cret", Scope: "catalog", Audience: "lake"})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if resp, err := send(t, tr, "GET", "/v1/x"); err != nil || resp.StatusCode != 200 {
					t.Error(resp, err)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Hour - renewBefore - time.Second)
		send(t, tr, "GET", "/v1/x")
		if len(i.forms) != 1 {
			t.Errorf("%d requests for a token", len(i.forms))
		}
		if got, want := i.forms[0].Encode(), "audience=lake&client_id=id&client_secret=se%3Acret&grant_type=client_credentials&scope=catalog"; got != want {
			t.Errorf("requested by %s, want %s", got, want)
		}
		time.Sleep(2 * time.Second)
		send(t, tr, "GET", "/v1/x")
		if len(i.forms) != 2 || i.used[len(i.used)-1] != "T2" {
			t.Errorf("%d requests for a token, used %q", len(i.forms), i.used)
		}
	})
}

// TestRefusedToken: a token that is refused before its end is renewed once per request, whatever the request does; a
// refusal that stays is the response.
func TestRefusedToken(t *testing.T) {
	for _, code := range []int{401, 419, 403} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			synctest.Test(t, func(t *testing.T) {
				i := &issuer{refuse: func(token string) int {
					if token == "T1" {
						return code
					}
					return 0
				}}
				if resp, err := send(t, i.transport(t, &Tokens{Credential: "a:b"}), method, "/v1/x"); err != nil || resp.StatusCode != 200 {
					t.Errorf("%d on %s: %v, %v", code, method, resp, err)
				}
				i = &issuer{refuse: func(string) int { return code }}
				resp, err := send(t, i.transport(t, &Tokens{Credential: "a:b"}), method, "/v1/x")
				if err != nil || resp.StatusCode != code || len(i.forms) != 2 || len(i.used) != 2 {
					t.Errorf("%d on %s that stays: %v, %v, %d tokens, %d requests", code, method, resp, err, len(i.forms), len(i.used))
				}
			})
		}
	}
	i := &issuer{refuse: func(string) int { return 401 }}
	if resp, err := send(t, i.transport(t, &Tokens{Token: "given"}), "GET", "/v1/x"); err != nil || resp.StatusCode != 401 || len(i.used) != 1 || i.used[0] != "given" {
		t.Errorf("a token that was given: %v, %v, used %q", resp, err, i.used)
	}
}

// TestTokenEndpoint: it is retried like a read, and its refusal is named without the secret.
func TestTokenEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{busy: 2}
		if resp, err := send(t, i.transport(t, &Tokens{Credential: "a:b"}), "GET", "/v1/x"); err != nil || resp.StatusCode != 200 || len(i.forms) != 3 {
			t.Errorf("%v, %v after %d requests", resp, err, len(i.forms))
		}
		i = &issuer{}
		_, err := send(t, i.transport(t, &Tokens{Credential: "me:wrong"}), "GET", "/v1/x")
		if err == nil || !strings.Contains(err.Error(), "http://login/tokens: 401: invalid_client: Client authentication failed") || strings.Contains(err.Error(), "wrong") || len(i.used) > 0 {
			t.Errorf("%v; requests by %q", err, i.used)
		}
	})
}

// TestTokenFile: the file is read again where its token was refused, and each minute.
func TestTokenFile(t *testing.T) {
	at := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{refuse: func(token string) int {
			if token == "old" {
				return 401
			}
			return 0
		}}
		tr := i.transport(t, &Tokens{File: at})
		send(t, tr, "GET", "/v1/x")
		write("two")
		send(t, tr, "GET", "/v1/x")
		time.Sleep(fileAge)
		send(t, tr, "GET", "/v1/x")
		if got := strings.Join(i.used, " "); got != "one one two" {
			t.Errorf("used %s", got)
		}
		for text, want := range map[string]string{"": ": no token", " \n": ": no token", "a b": "more than one word", strings.Repeat("x", maxToken+1): "more than"} {
			write(text)
			if _, err := send(t, i.transport(t, &Tokens{File: at}), "GET", "/v1/x"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.10q: %v, want %s", text, err, want)
			}
		}
	})
}

// TestTokenExchange: the environment's token is changed for one of the catalog.
func TestTokenExchange(t *testing.T) {
	i := &issuer{}
	tr := i.transport(t, &Tokens{Token: "mine", Exchange: true, SubjectType: "urn:ietf:params:oauth:token-type:jwt", Credential: "id:secret", Scope: "lake"})
	if resp, err := send(t, tr, "GET", "/v1/x"); err != nil || resp.StatusCode != 200 || i.used[0] != "T1" {
		t.Fatal(resp, err, i.used)
	}
	want := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {"mine"},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"}, "requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
		"client_id": {"id"}, "client_secret": {"secret"}, "scope": {"lake"}}
	if got := i.forms[0].Encode(); got != want.Encode() {
		t.Errorf("requested by %s\nwant %s", got, want.Encode())
	}
}

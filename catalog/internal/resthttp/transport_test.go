package resthttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script responds to the n-th request by its n-th step, and to all later ones by the last.
type script struct {
	t     *testing.T
	steps []func(*http.Request) (*http.Response, error)
	seen  []*http.Request
	times []time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	step := s.steps[min(len(s.seen), len(s.steps)-1)]
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Error(err)
		}
		r.Header.Set("Test-Body", string(body))
	}
	s.seen, s.times = append(s.seen, r), append(s.times, time.Now())
	return step(r)
}

func status(code int, headers ...string) func(*http.Request) (*http.Response, error) {
	return body(code, "{}", headers...)
}

func body(code int, text string, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{Status: fmt.Sprint(code), StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
}

func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// hangs accepts a request and responds after d.
func hangs(d time.Duration) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(d):
			return status(200)(r)
		}
	}
}

var (
	reset   = &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	refused = &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	unknown = &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
)

func catalogURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func send(t *testing.T, tr *Transport, method, path string) (*http.Response, error) {
	t.Helper()
	var payload io.Reader
	if method == http.MethodPost {
		payload = strings.NewReader("payload")
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://catalog"+path, payload)
	if err != nil {
		t.Fatal(err)
	}
	return tr.RoundTrip(r)
}

type steps = []func(*http.Request) (*http.Response, error)

// TestRetries: what is sent again, how often, and for how long.
func TestRetries(t *testing.T) {
	for name, tc := range map[string]struct {
		method   string
		steps    steps
		requests int
		status   int // 0 for an error
		took     [2]time.Duration
	}{
		"read after a 503":                       {"GET", steps{status(503), status(200)}, 2, 200, [2]time.Duration{busyWait / 2, 2 * busyWait}},
		"read after a 502 and a reset":           {"GET", steps{status(502), fails(reset), status(200)}, 3, 200, [2]time.Duration{0, time.Second}},
		"read after a body cut short":            {"GET", steps{fails(io.ErrUnexpectedEOF), status(200)}, 2, 200, [2]time.Duration{0, time.Second}},
		"HEAD after 504":                         {"HEAD", steps{status(504), status(404)}, 2, 404, [2]time.Duration{0, time.Second}},
		"Retry-After is obeyed":                  {"GET", steps{status(503, "Retry-After", "7"), status(200)}, 2, 200, [2]time.Duration{7 * time.Second, 8 * time.Second}},
		"Retry-After beyond the budget":          {"GET", steps{status(503, "Retry-After", "3600"), status(200)}, 1, 503, [2]time.Duration{0, 0}},
		"a 500 that stays":                       {"GET", steps{status(500)}, maxServerErrors, 500, [2]time.Duration{0, 20 * time.Second}},
		"a refusal":                              {"GET", steps{status(403)}, 1, 403, [2]time.Duration{0, 0}},
		"a missing table":                        {"GET", steps{status(404)}, 1, 404, [2]time.Duration{0, 0}},
		"an outage shorter than the budget":      {"GET", outage(100*time.Second, fails(refused)), -1, 200, [2]time.Duration{100 * time.Second, 111 * time.Second}},
		"an outage of PostgreSQL's 503":          {"GET", outage(100*time.Second, status(503)), -1, 200, [2]time.Duration{100 * time.Second, 112 * time.Second}},
		"an outage longer than the budget":       {"GET", steps{fails(refused)}, -1, 0, [2]time.Duration{105 * time.Second, DefaultBudget}},
		"a host that does not exist":             {"GET", steps{fails(unknown)}, maxUnresolved, 0, [2]time.Duration{0, 5 * time.Second}},
		"a server that never responds":           {"GET", steps{hangs(time.Hour)}, maxTimeouts, 0, [2]time.Duration{50 * time.Second, 55 * time.Second}},
		"one response that is late":              {"GET", steps{hangs(time.Hour), status(200)}, 2, 200, [2]time.Duration{25 * time.Second, 26 * time.Second}},
		"a commit of 35 s":                       {"POST", steps{hangs(35 * time.Second)}, 1, 200, [2]time.Duration{35 * time.Second, 35 * time.Second}},
		"a commit that is never responded to":    {"POST", steps{hangs(time.Hour)}, 1, 0, [2]time.Duration{DefaultWriteTimeout, DefaultWriteTimeout}},
		"a commit after a 503 is the caller's":   {"POST", steps{status(503), status(200)}, 1, 503, [2]time.Duration{0, 0}},
		"a commit after a reset is the caller's": {"POST", steps{fails(reset), status(200)}, 1, 0, [2]time.Duration{0, 0}},
		"a commit that was not let in":           {"POST", steps{status(429, "Retry-After", "2"), status(200)}, 2, 200, [2]time.Duration{2 * time.Second, 3 * time.Second}},
		"a commit without a connection":          {"POST", steps{fails(refused), status(200)}, 2, 200, [2]time.Duration{0, time.Second}},
		"a drop after a 502 is the caller's":     {"DELETE", steps{status(502), status(204)}, 1, 502, [2]time.Duration{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, begin := &script{t: t, steps: tc.steps}, time.Now()
				resp, err := send(t, &Transport{Base: s, Catalog: catalogURL(t, "http://catalog/c")}, tc.method, "/c/v1/x")
				if got := time.Since(begin); got < tc.took[0] || got > tc.took[1] {
					t.Errorf("took %s, want %s to %s", got, tc.took[0], tc.took[1])
				}
				if tc.requests >= 0 && len(s.seen) != tc.requests {
					t.Errorf("%d requests, want %d", len(s.seen), tc.requests)
				}
				if (err != nil) != (tc.status == 0) || err == nil && resp.StatusCode != tc.status {
					t.Errorf("%v, %v; want status %d", resp, err, tc.status)
				}
				for _, r := range s.seen {
					if tc.method == "POST" && r.Header.Get("Test-Body") != "payload" {
						t.Errorf("sent body %q", r.Header.Get("Test-Body"))
					}
				}
			})
		})
	}
}

// outage fails as step does until d has passed since the first request.
func outage(d time.Duration, step func(*http.Request) (*http.Response, error)) steps {
	var begin time.Time
	return steps{func(r *http.Request) (*http.Response, error) {
		if begin.IsZero() {
			begin = time.Now()
		}
		if time.Since(begin) < d {
			return step(r)
		}
		return status(200)(r)
	}}
}

// TestSettingsOfRetries: a timeout and a budget of the user's take the place of the defaults.
func TestSettingsOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &script{t: t, steps: steps{hangs(time.Hour)}}
		if _, err := send(t, &Transport{Base: s, Catalog: catalogURL(t, "http://catalog"), Timeout: 3 * time.Second, Budget: -1}, "POST", "/v1/x"); !errors.Is(err, ErrTimeout) {
			t.Error(err)
		}
		if got := time.Since(begin); got != 3*time.Second {
			t.Errorf("the request took %s", got)
		}
		s = &script{t: t, steps: steps{fails(refused)}}
		begin = time.Now()
		if _, err := send(t, &Transport{Base: s, Catalog: catalogURL(t, "http://catalog"), Budget: 10 * time.Second}, "GET", "/v1/x"); !errors.Is(err, refused) {
			t.Error(err)
		}
		if got := time.Since(begin); got > 10*time.Second || got < 2*time.Second {
			t.Errorf("retried for %s", got)
		}
	})
}

// TestRetryAfterHoldsBackAll: after a commit that was answered 503 with Retry-After, the read that looks for its outcome
// waits as long as the server asked.
func TestRetryAfterHoldsBackAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, steps: steps{status(503, "Retry-After", "5"), status(200)}}
		tr := &Transport{Base: s, Catalog: catalogURL(t, "http://catalog")}
		if resp, err := send(t, tr, "POST", "/v1/x"); err != nil || resp.StatusCode != 503 {
			t.Fatal(resp, err)
		}
		if _, err := send(t, tr, "GET", "/v1/x"); err != nil {
			t.Fatal(err)
		}
		if got := s.times[1].Sub(s.times[0]); got != 5*time.Second {
			t.Errorf("the next request came after %s", got)
		}
	})
}

// TestOutageIsReportedOnce: an outage that many requests meet is one report and one recovery; a hiccup is none.
func TestOutageIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended int
		s := &script{t: t, steps: append(steps{status(502), status(200)}, outage(20*time.Second, fails(refused))...)}
		tr := &Transport{Base: s, Catalog: catalogURL(t, "http://catalog"),
			Waiting: func(error, time.Time) { begun++ }, Recovered: func(time.Duration) { ended++ }}
		if _, err := send(t, tr, "GET", "/v1/x"); err != nil || begun != 0 {
			t.Errorf("a hiccup: %v, %d reports", err, begun)
		}
		for range 3 {
			if _, err := send(t, tr, "GET", "/v1/x"); err != nil {
				t.Error(err)
			}
		}
		if begun != 1 || ended != 1 {
			t.Errorf("%d reports of an outage, %d of its end", begun, ended)
		}
	})
}

// endless is a body without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	if e.read > 16<<20 {
		return 0, errors.New("the body is read on")
	}
	return len(p), nil
}
func (e *endless) Close() error { return nil }

// TestEndlessErrorBodies: of the body of an error no more than its limit is read.
func TestEndlessErrorBodies(t *testing.T) {
	for _, code := range []int{301, 400, 401, 404, 409, 500} {
		e := &endless{}
		s := &script{t: t, steps: steps{func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: code, Header: http.Header{}, Body: e, Request: r}, nil
		}}}
		resp, err := send(t, &Transport{Base: s, Catalog: catalogURL(t, "http://catalog"), Budget: -1}, "GET", "/v1/x")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || len(text) > maxErrorBody || e.read > 2*maxErrorBody+1024 {
			t.Errorf("%d: %d bytes, %d read, %v", code, len(text), e.read, err)
		}
	}
}

// TestConfigSendsNothingElsewhere: what a server's configuration may say, and what is refused or dropped.
func TestConfigSendsNothingElsewhere(t *testing.T) {
	for config, want := range map[string]string{
		`{"defaults":{"prefix":"p"},"overrides":{"uri":"http://catalog/other"},"endpoints":["GET /v1/x"]}`: `"http://catalog/other"`,
		`{"defaults":null,"overrides":{"uri":"http://CATALOG:80/"}}`:                                       `"http://CATALOG:80/"`,
		`{"overrides":{"uri":"https://catalog/x"}}`:                                                        `"https://catalog/x"`,
		`{"overrides":{"uri":"http://evil/"}}`:                                                             "",
		`{"defaults":{"uri":"http://evil/"}}`:                                                              "",
		`{"overrides":{"uri":"http://catalog:81/"}}`:                                                       "",
		`{"overrides":{"uri":"http://catalog@evil/"}}`:                                                     "",
		`{"overrides":{"uri":"http://catalog.evil/"}}`:                                                     "",
		`{"overrides":{"uri":"//evil/"}}`:                                                                  "",
		`{"overrides":{"uri":"ftp://catalog/"}}`:                                                           "",
		`{"overrides":{"token":"DROP","credential":"DROP","scope":"DROP","oauth2-server-uri":"DROP","rest.authorization-url":"DROP",
			"rest.sigv4-enabled":"DROP","rest.signing-name":"DROP","header.Authorization":"DROP","prefix":"kept"},"defaults":{"token":"DROP"}}`: `"kept"`,
	} {
		s := &script{t: t, steps: steps{body(200, config)}}
		resp, err := send(t, &Transport{Base: s, Catalog: catalogURL(t, "http://catalog")}, "GET", "/v1/config")
		if want == "" {
			if !errors.Is(err, ErrOtherHost) {
				t.Errorf("%s: %v", config, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		text := string(peek(resp))
		if !strings.Contains(text, want) || strings.Contains(text, "DROP") || strings.Contains(config, "endpoints") && !strings.Contains(text, "GET /v1/x") {
			t.Errorf("%s becomes %s", config, text)
		}
	}
	s := &script{t: t, steps: steps{status(200)}}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://evil/v1/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Transport{Base: s, Catalog: catalogURL(t, "http://catalog")}).RoundTrip(r); !errors.Is(err, ErrOtherHost) || len(s.seen) > 0 {
		t.Errorf("a request to another host: %v, %d sent", err, len(s.seen))
	}
}

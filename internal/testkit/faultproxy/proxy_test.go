package faultproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// content is the object of the store that the tests break.
const content = "0123456789"

// store answers content to a GET and counts the PUTs it did.
func store(t *testing.T) (p *Proxy, puts *atomic.Int32) {
	puts = new(atomic.Int32)
	var lists atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			io.Copy(io.Discard, r.Body)
			puts.Add(1)
			w.Header().Set("Location", "http://"+r.Host+"/next")
		case r.URL.Query().Has("list-type"):
			fmt.Fprint(w, lists.Add(1))
		default:
			io.WriteString(w, content)
		}
	}))
	t.Cleanup(server.Close)
	p, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, puts
}

// ask makes one request on a connection of its own, so that net/http repeats none of them by itself.
func ask(t *testing.T, p *Proxy, method, target string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequest(method, p.URL()+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

func TestFaultsOfReads(t *testing.T) {
	for _, tc := range []struct {
		fault  string
		status int
		body   string
		err    error // nil: none
	}{
		{"", 200, content, nil},
		{"cut 0", 200, "", io.ErrUnexpectedEOF},
		{"cut 4", 200, "0123", io.ErrUnexpectedEOF},
		{"cut -1", 200, "012345678", io.ErrUnexpectedEOF},
		{"flip 0", 200, "1123456789", nil},
		{"flip -1", 200, "0123456788", nil},
		{"slow 1ms", 200, content, nil},
		{"stall 1ms", 200, content, nil},
		{"drop", 0, "", io.EOF},
		{"lost", 0, "", io.EOF},
		{"lost 500", 500, "<Error><Code>InternalError</Code><Message>made by the fault proxy</Message></Error>", nil},
		{"fail 503", 503, "<Error><Code>SlowDown</Code><Message>made by the fault proxy</Message></Error>", nil},
		{"fail 403 Mine", 403, "<Error><Code>Mine</Code><Message>made by the fault proxy</Message></Error>", nil},
	} {
		p, _ := store(t)
		if tc.fault != "" {
			if err := p.Set("get 1: " + tc.fault); err != nil {
				t.Fatal(err)
			}
		}
		status, body, err := ask(t, p, http.MethodGet, "/b/k")
		if status != tc.status || body != tc.body || !errors.Is(err, tc.err) {
			t.Errorf("%s: %d %q %v; want %d %q %v", tc.fault, status, body, err, tc.status, tc.body, tc.err)
		}
		if _, body, err := ask(t, p, http.MethodGet, "/b/k"); body != content || err != nil {
			t.Errorf("%s: the next request gets %q, %v", tc.fault, body, err)
		}
	}
}

func TestFaultsOfWrites(t *testing.T) {
	for fault, want := range map[string]int32{"drop": 0, "fail 503": 0, "lost": 1, "lost 503": 1, "twice": 2, "stall 1ms": 1} {
		p, puts := store(t)
		if err := p.Set("put 1: " + fault); err != nil {
			t.Fatal(err)
		}
		ask(t, p, http.MethodPut, "/b/k")
		if puts.Load() != want {
			t.Errorf("%s: the store did the work %d times, want %d", fault, puts.Load(), want)
		}
	}
}

func TestStaleList(t *testing.T) {
	p, _ := store(t)
	ask(t, p, http.MethodGet, "/b?list-type=2")
	if err := p.Set("list 2: stale"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		_, body, _ := ask(t, p, http.MethodGet, "/b?list-type=2")
		got = append(got, body)
	}
	if fmt.Sprint(got) != "[2 2 4]" {
		t.Errorf("lists %v, want the first one of the script again in the middle", got)
	}
}

func TestCallRunsBeforeTheRequest(t *testing.T) {
	p, _ := store(t)
	called := 0
	p.Call("between", func() { called++ })
	if err := p.Set("list 2: call between"); err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		ask(t, p, http.MethodGet, "/b?list-type=2")
		if called != min(want, 1) {
			t.Errorf("called %d times after list %d", called, want+1)
		}
	}
}

func TestRetryAfterIsSent(t *testing.T) {
	p, _ := store(t)
	if err := p.Set("any *: fail 503 SlowDown after 1500ms"); err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q, want 2 seconds", got)
	}
}

func TestRefusedConnections(t *testing.T) {
	p, _ := store(t)
	before := p.URL()
	if err := p.Refuse(true); err != nil {
		t.Fatal(err)
	}
	_, _, err := ask(t, p, http.MethodGet, "/b/k")
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		t.Errorf("%v, want a connection that does not come about", err)
	}
	if err := p.Refuse(false); err != nil {
		t.Fatal(err)
	}
	if _, body, err := ask(t, p, http.MethodGet, "/b/k"); body != content || err != nil || p.URL() != before {
		t.Errorf("afterwards %q, %v at %s; want the object at %s", body, err, p.URL(), before)
	}
}

func TestLocationStaysInTheProxy(t *testing.T) {
	p, _ := store(t)
	req, err := http.NewRequest(http.MethodPut, p.URL()+"/b/k", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = strings.TrimPrefix(p.upstream, "http://")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Header.Get("Location"); got != p.URL()+"/next" {
		t.Errorf("Location %s leads past the proxy", got)
	}
}

func TestWalkEndsWithAnUntouchedRun(t *testing.T) {
	p, puts := store(t)
	broken, err := p.Walk("lost", func(int) error {
		for range 3 {
			if _, _, err := ask(t, p, http.MethodPut, "/b/k"); err != nil {
				return nil // a run may end early
			}
		}
		return nil
	})
	if err != nil || broken != 3 || puts.Load() != 1+2+3+3 {
		t.Errorf("%d requests broken, %d done, %v; want 3, 9, nil", broken, puts.Load(), err)
	}
	wrong := errors.New("rows differ")
	if _, err := p.Walk("drop", func(int) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("%v, want the run's error", err)
	}
}

func TestStallEndsWithItsClient(t *testing.T) {
	p, _ := store(t)
	if err := p.Set("any *: stall 1h"); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 50 * time.Millisecond}
	if _, err := client.Get(p.URL()); err == nil {
		t.Error("a stalled request was answered")
	}
}

// Package faultproxy stands between a client and an object store on loopback and breaks what a network and a
// store break, by a script in the language of package fault: answers that get lost after the work was done, requests
// that arrive twice, bodies that end too early, flipped bits, storms of refusals, stale lists. Connections that are
// refused: Proxy.Refuse. A name that does not resolve: Unresolvable.
package faultproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/shardcat/shardcat/internal/httptransport"
	"github.com/shardcat/shardcat/internal/testkit/fault"
)

// Unresolvable is an endpoint whose name is in no DNS, by RFC 6761.
const Unresolvable = "http://no-such-store.invalid"

// Proxy is a server on loopback that hands requests on to a store. All methods may be called concurrently.
type Proxy struct {
	upstream string // scheme://host of the store
	address  string // host:port of the proxy
	client   *http.Client

	// Play is the script: Call, Requests; see Set.
	fault.Play

	mu     sync.Mutex
	server *http.Server
	socket net.Listener
	lists  map[string]*answer // the first answer to each list since the script began
}

// answer is a store's, held in memory.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// New starts a proxy in front of the store at upstream ("http://127.0.0.1:7070"). Close stops it.
func New(upstream string) (*Proxy, error) {
	u, err := url.Parse(upstream)
	if err != nil || u.Host == "" {
		return nil, errors.New("upstream is not of the form http://HOST:PORT")
	}
	p := &Proxy{upstream: u.Scheme + "://" + u.Host, lists: map[string]*answer{},
		Play: fault.Play{Cannot: []string{"hide", "garble", "truncate"}},
		client: &http.Client{
			Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
	return p, p.listen("127.0.0.1:0")
}

// Set begins a script. Lists of before are forgotten: a test may have deleted and written again since what they name, with other ETags.
func (p *Proxy) Set(text string) error {
	p.mu.Lock()
	clear(p.lists)
	p.mu.Unlock()
	return p.Play.Set(text)
}

func (p *Proxy) listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address = listener.Addr().String()
	p.server, p.socket = &http.Server{Handler: p}, listener
	go p.server.Serve(listener) // ends with Close, which reports it
	return nil
}

// URL is the proxy's, in place of the store's.
func (p *Proxy) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "http://" + p.address
}

// Close stops the proxy and breaks its connections.
func (p *Proxy) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client.CloseIdleConnections()
	p.socket.Close() // the server may not know of it yet, and closes it a second time otherwise
	err := p.server.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Refuse makes the proxy refuse connections, as a store that is down does, until it is called with false.
func (p *Proxy) Refuse(yes bool) error {
	if yes {
		return p.Close()
	}
	return p.listen(strings.TrimPrefix(p.URL(), "http://"))
}

// Walk breaks the first request of a run, then the second of another run, and so on, until a run ends that made fewer
// requests than the number of the one to break. Walk returns how many requests were broken.
func (p *Proxy) Walk(what string, run func(n int) error) (broken int, err error) {
	broken, err = fault.Walk(func(n int) (int, error) {
		if err := p.Set(fmt.Sprintf("any %d: %s", n, what)); err != nil {
			return 0, err
		}
		err := run(n)
		return p.Requests("any"), err
	})
	if err != nil {
		return broken, fmt.Errorf("%s: %w", what, err)
	}
	return broken, p.Set("")
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := httptransport.KindOf(r)
	broken := p.Next(string(kind), r.URL.Path)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	if !p.before(w, r, broken, body) {
		return
	}
	got, err := p.forward(r, body)
	if err != nil {
		http.Error(w, "faultproxy: the store is unreachable", http.StatusBadGateway)
		return
	}
	if kind == httptransport.List {
		got = p.remember(r, got, broken.What == "stale")
	}
	p.after(w, r, broken, got)
}

// before does what breaks a request on its way to the store; false if it ends there.
func (p *Proxy) before(w http.ResponseWriter, r *http.Request, broken *fault.Rule, body []byte) bool {
	switch broken.What {
	case "fail":
		writeAnswer(w, r, refusal(r, broken))
		return false
	case "drop":
		panic(http.ErrAbortHandler)
	case "twice":
		if _, err := p.forward(r, body); err != nil {
			panic(http.ErrAbortHandler)
		}
	case "stall":
		select {
		case <-time.After(broken.Wait):
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	case "call":
		p.Run(broken)
	}
	return true
}

// after does what breaks an answer on its way back.
func (p *Proxy) after(w http.ResponseWriter, r *http.Request, broken *fault.Rule, got *answer) {
	switch broken.What {
	case "lost":
		if broken.Status == 0 {
			panic(http.ErrAbortHandler)
		}
		got = refusal(r, broken)
	case "flip":
		if at := broken.At(len(got.body)); at < len(got.body) {
			got.body = bytes.Clone(got.body)
			got.body[at] ^= 1
		}
	case "cut":
		writeCut(w, got, broken.At(len(got.body)))
		return
	case "slow":
		writeSlowly(w, r, got, broken.Wait)
		return
	}
	writeAnswer(w, r, got)
}

// forward makes the request to the store. Signatures cover the host the client requested, so it stays.
func (p *Proxy) forward(r *http.Request, body []byte) (*answer, error) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.upstream+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header, req.Host, req.ContentLength = r.Header.Clone(), r.Host, int64(len(body))
	res, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	got := &answer{status: res.StatusCode, header: res.Header}
	if got.body, err = io.ReadAll(res.Body); err != nil {
		return nil, fmt.Errorf("the store's own answer broke: %w", err)
	}
	// An upload's next address must not lead past the proxy.
	if to := got.header.Get("Location"); strings.HasPrefix(to, p.upstream) {
		got.header.Set("Location", p.URL()+strings.TrimPrefix(to, p.upstream))
	}
	return got, nil
}

// remember keeps the first answer to a list, and gives it again where the list shall be stale.
func (p *Proxy) remember(r *http.Request, got *answer, stale bool) *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, known := p.lists[r.URL.RequestURI()]
	if !known {
		p.lists[r.URL.RequestURI()] = got
	}
	if known && stale {
		return first
	}
	return got
}
